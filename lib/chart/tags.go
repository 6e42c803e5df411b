package chart

import "math"

// drawTags writes the highest and the lowest price in sight at their bars, if there is
// room.
func (l *layout) drawTags() {
	if l.Panes[0].Rect.height() < tagsFrom*l.s || l.n < 2 {
		return
	}
	high, low := -1, -1
	for i := range l.n {
		if h := l.candles.h[i]; finite(h) && (high < 0 || h > l.candles.h[high]) {
			high = i
		}
		if w := l.candles.l[i]; finite(w) && (low < 0 || w < l.candles.l[low]) {
			low = i
		}
	}
	if high >= 0 && low >= 0 && l.candles.h[high] == l.candles.l[low] {
		return // a flat price
	}
	if high >= 0 {
		l.tag(high, l.candles.h[high], "H ", -4*l.s)
	}
	if low >= 0 {
		l.tag(low, l.candles.l[low], "L ", (4+capHeight)*l.s)
	}
}

// tag writes a price above or below the end of a bar, or else beside it.
func (l *layout) tag(bar int, price float64, name string, below int) {
	p := &l.Panes[0]
	text := name + p.notation.text(price)
	w := l.measure(text, Small, l.s)
	y, x := p.axis.row(price), l.xs[bar]
	edge := float64(4 * l.s)
	middle := min(max(x-w/2, edge), float64(l.axisX)-w-edge)
	gap := float64(8 * l.s)
	for _, at := range [...]struct {
		x        float64
		baseline int
	}{{middle, y + below}, {x + gap, y + below/2}, {x - gap - w, y + below/2}} {
		if l.placeText(Label{X: math.Floor(at.x + 0.5), Width: w, Baseline: at.baseline, Text: text, Face: Small, Color: l.theme.text}, 0) {
			return
		}
	}
}

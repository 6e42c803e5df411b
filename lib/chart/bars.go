package chart

import (
	"math"
	"slices"

	"candela/lib/chart/raster"
	"candela/lib/ta"
)

// hasVolume reports whether any bar has volume.
func (l *layout) hasVolume() bool {
	return slices.ContainsFunc(l.spec.Bars.V, func(v float64) bool { return v > 0 && finite(v) })
}

// drawVolume places the volume at the foot of the price pane.
func (l *layout) drawVolume() {
	p := &l.Panes[0]
	most := 0.0
	for k := range l.Columns.N {
		most = max(most, l.volumeOf(k))
	}
	if most == 0 {
		return
	}
	opacity := l.theme.volume
	if l.Columns.Body <= 2 {
		opacity = volumeThin
	}
	up, down := l.theme.up.Alpha(opacity), l.theme.down.Alpha(opacity)
	height := float64(volumeShare * float64(p.Rect.height()))
	for k := range l.Columns.N {
		v := l.volumeOf(k)
		if v <= 0 {
			continue
		}
		rows := max(1, int(math.Floor(float64(v/most*height)+0.5)))
		x := l.bodyLeft(k)
		color := down
		if from, to := l.Columns.bars(k); l.spec.Bars.C[to-1] >= l.spec.Bars.O[from] {
			color = up
		}
		l.Volume = append(l.Volume, Box{Rect{x, p.Rect.Y1 - rows, x + l.Columns.Body, p.Rect.Y1}, 0, color})
	}
}

// volumeOf returns the volume of column k; NaN counts as 0.
func (l *layout) volumeOf(k int) float64 {
	from, to := l.Columns.bars(k)
	sum := 0.0
	for _, v := range l.spec.Bars.V[from:to] {
		if v > 0 && v <= 1e300 {
			sum += v
		}
	}
	return min(sum, 1e300)
}

// bodyLeft returns the left pixel of column k's body.
func (l *layout) bodyLeft(k int) int {
	return l.Columns.wickLeft(k) - (l.Columns.Body-l.Columns.Wick)/2
}

// drawCandles places the candles, merging the bars of a column: first open, last
// close, the extremes between.
func (l *layout) drawCandles() {
	a := &l.Panes[0].axis
	for k := range l.Columns.N {
		open, high, low, shut, ok := l.merge(k)
		if !ok {
			continue
		}
		x := l.bodyLeft(k)
		wick := l.Columns.wickLeft(k)
		c := Candle{
			Wick:  Rect{wick, a.row(high), wick + l.Columns.Wick, max(a.row(low), a.row(high)+1)},
			Body:  Rect{x, a.row(max(open, shut)), x + l.Columns.Body, 0},
			Color: l.candleColor(k, shut >= open),
		}
		c.Body.Y1 = max(a.row(min(open, shut)), c.Body.Y0+l.bodyMin())
		c.Hollow = l.spec.Forming && k == l.Columns.N-1 && l.Columns.Body >= 3*l.s
		l.Candles = append(l.Candles, c)
	}
}

// bodyMin is the height of a body whose open and close are the same.
func (l *layout) bodyMin() int {
	if l.Columns.Wick == 1 {
		return 1
	}
	return l.s
}

// merge returns the bars of column k as one. A bar with a price that is not a
// number is left out; ok is false when none remains.
func (l *layout) merge(k int) (open, high, low, shut float64, ok bool) {
	from, to := l.Columns.bars(k)
	high, low = math.Inf(-1), math.Inf(1)
	c := &l.candles
	for i := from; i < to; i++ {
		o, h, w, s := c.o[i], c.h[i], c.l[i], c.c[i]
		if !finite(o) || !finite(h) || !finite(w) || !finite(s) {
			continue
		}
		if !ok {
			open, ok = o, true
		}
		shut = s
		high, low = max(high, o, h, w, s), min(low, o, h, w, s)
	}
	return open, high, low, shut, ok
}

// drawHistograms places the bars of panels.
func (l *layout) drawHistograms() {
	for v := range l.each {
		for k := range v.Hist {
			h := &v.Hist[k]
			if h.Style == ta.State {
				l.stateStrip(v.pane, h)
				continue
			}
			if h.Paint != nil {
				l.paintHist(v.pane, h)
				continue
			}
			l.histogram(v.pane, h)
		}
	}
}

func (l *layout) histogram(pane int, h *ta.Hist) {
	a := &l.Panes[pane].axis
	n := min(len(h.Values), l.n)
	base := h.Base
	if !finite(base) {
		base = 0
	}
	zero := a.row(base)
	prev := math.NaN()
	for k := range l.Columns.N {
		from, to := l.Columns.bars(k)
		if from >= n {
			break
		}
		v := farthest(h.Values[from:min(to, n)], base)
		if !finite(v) {
			prev = v
			continue
		}
		x, y := l.bodyLeft(k), a.row(v)
		r := Rect{x, min(y, zero), x + l.Columns.Body, max(y, zero)}
		if r.Y0 == r.Y1 { // always something to see, on the side it belongs to
			if v >= base {
				r.Y0--
			} else {
				r.Y1++
			}
		}
		l.Volume = append(l.Volume, Box{r, pane, l.histColor(h.Style, v, prev, base)})
		prev = v
	}
}

// farthest returns the value farthest from base.
func farthest(values []float64, base float64) float64 {
	best := math.NaN()
	for _, v := range values {
		if finite(v) && !(math.Abs(v-base) <= math.Abs(best-base)) {
			best = v
		}
	}
	return best
}

// histColor is the colour of a bar: weak when it has moved back to the base.
func (l *layout) histColor(style ta.HistStyle, v, prev, base float64) raster.Color {
	t := l.theme
	switch style {
	case ta.Plain:
		return t.muted.Alpha(0.55)
	case ta.Momentum:
		switch {
		case v >= base && v < prev:
			return t.histUpWeak
		case v < base && v > prev:
			return t.histDownWeak
		}
	case ta.Signed, ta.State:
	}
	if v >= base {
		return t.histUp
	}
	return t.histDown
}

// stateStrip places a strip of fixed height whose colour is the state.
func (l *layout) stateStrip(pane int, h *ta.Hist) {
	p := &l.Panes[pane]
	height := 5 * l.s
	bottom := p.Rect.Y1 - l.s
	if finite(h.Base) {
		bottom = min(max(p.axis.row(h.Base), p.Rect.Y0+height), bottom)
	}
	n := min(len(h.Values), l.n)
	for k := range l.Columns.N {
		_, to := l.Columns.bars(k)
		if to > n {
			break
		}
		v := h.Values[to-1]
		if !finite(v) {
			continue
		}
		color := l.theme.border
		switch {
		case v > 0:
			color = l.theme.up
		case v < 0:
			color = l.theme.down
		}
		// Whole columns, so that the strip has no gaps.
		x0 := int(math.Floor(l.Columns.Left + float64(float64(k)*l.Columns.Step)))
		x1 := int(math.Floor(l.Columns.Left + float64(float64(k+1)*l.Columns.Step)))
		l.Volume = append(l.Volume, Box{Rect{x0, bottom - height, max(x1, x0+1), bottom}, pane, color})
	}
}

package chart

import (
	"cmp"
	"math"
	"slices"

	"candela/lib/chart/raster"
)

// labelPlace is where a label may stand: its left edge and its baseline.
type labelPlace struct {
	x        float64
	baseline int
}

// labelDrawing writes the text of a drawing, if it has one, at the first of the places that hides no
// candle, or the nearest such one above or below, else where nothing is written. A small picture may
// have none.
func (l *layout) labelDrawing(d *Drawing, places ...labelPlace) {
	if d.Text == "" {
		return
	}
	color, pitch := l.drawnColor(d), drawnPitch*l.s
	rows := l.Panes[0].Rect.height() / pitch
	for _, clear := range [...]bool{true, false} {
		for k := range rows {
			for _, at := range places {
				if l.labelAt(d.Text, color, labelPlace{at.x, at.baseline - k*pitch}, clear) ||
					k > 0 && l.labelAt(d.Text, color, labelPlace{at.x, at.baseline + k*pitch}, clear) {
					return
				}
			}
			if clear && k == mostClear {
				break // further away it would not be read with its drawing
			}
		}
	}
}

// mostClear is how many rows away a label of a drawing goes to hide no candle.
const mostClear = 2

// nameRetracement writes the name of a level of a retracement at its left, or as near to that as there
// is room: levels that are close to each other have their names side by side.
func (l *layout) nameRetracement(text string, color raster.Color, left, y int) {
	step := l.measure(text, Small, l.s) + float64(12*l.s)
	first := float64(left + 4*l.s)
	for _, clear := range [...]bool{true, false} {
		for x := first; x < float64(l.axisX)-step+float64(12*l.s); x += step {
			if l.labelAt(text, color, labelPlace{x, y - 4*l.s}, clear) {
				return
			}
		}
	}
	for x := first - step; x > 0; x -= step { // to the left of the level
		if l.labelAt(text, color, labelPlace{x, y + capHeight*l.s/2}, false) {
			return
		}
	}
}

// labelAt writes a text, moved sideways into the pane, if nothing is written there; with open, only where
// there are no candles either.
func (l *layout) labelAt(text string, color raster.Color, at labelPlace, open bool) bool {
	margin := float64(4 * l.s)
	text = l.fit(text, Small, float64(l.axisX)-2*margin)
	w := l.measure(text, Small, l.s)
	x := math.Floor(max(min(at.x, float64(l.axisX)-margin-w), margin))
	label := Label{X: x, Width: w, Baseline: at.baseline, Text: text, Face: Small, Color: l.theme.readable(color)}
	if open && l.hidesCandles(l.textBox(&label)) {
		return false
	}
	return l.placeText(label, 0)
}

// hidesCandles reports whether a rectangle lies on a candle.
func (l *layout) hidesCandles(r Rect) bool {
	from, _ := slices.BinarySearchFunc(l.Candles, r.X0, func(c Candle, x int) int { return cmp.Compare(c.Body.X1, x) })
	for _, c := range l.Candles[from:] {
		if c.Body.X0 >= r.X1 {
			return false
		}
		if c.Wick.overlaps(r) || c.Body.overlaps(r) {
			return true
		}
	}
	return false
}

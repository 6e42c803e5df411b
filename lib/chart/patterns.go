package chart

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"candela/lib/chart/raster"
	"candela/lib/ta/candle"
)

// A candle pattern is a dot beyond the end of its bar. The name stands beyond the dot
// where it covers neither bars nor other texts: patterns of more candles first, then
// newer ones, and one name for a bar and side.

// candleLook is how a candle pattern is named.
type candleLook struct {
	name    string
	candles int
	plain   bool // without a direction
}

// candleLooks has the labels of candle patterns.
//
//nolint:gochecknoglobals // a table, built once and never written
var candleLooks = sync.OnceValue(func() map[string]look {
	all := map[string]look{}
	for p := range candle.Count {
		pattern := &candleLook{name: p.Title(), candles: p.Candles(), plain: p.Plain() != ""}
		if pattern.plain {
			all[p.Name()] = look{pattern: pattern, minor: true}
			continue
		}
		for _, label := range []string{p.Name(), p.Name() + "_confirmed"} {
			all[label+"_bull"] = look{pattern: pattern, up: true}
			all[label+"_bear"] = look{pattern: pattern}
		}
	}
	return all
})

// Candle patterns, in logical pixels.
const (
	patternOffset = 5 // from the bar to the dot
	patternGap    = 5 // from the dot to the text
)

// candleName is a placed dot whose name is still to come.
type candleName struct {
	pane, x int
	y       float64 // of the dot
	look    look
	color   raster.Color
}

// candleMark places the dot of a candle pattern: under the bar for a bullish one, over
// it for others.
func (l *layout) candleMark(pane, x int, value float64, k look) {
	s, direction, color := float64(l.s), -1.0, l.sideColor(k.up)
	if k.up {
		direction = 1
	}
	if k.pattern.plain {
		color = l.theme.muted
	}
	y := l.anchor(pane, x, value, k.up) + float64(direction*patternOffset*s)
	l.patterns = append(l.patterns, candleName{pane: pane, x: x, y: y, look: k, color: color})
	l.dot(pane, l.xs[x], y, 2, 3, color)
}

// nameCandles writes the names of candle patterns where there is room.
func (l *layout) nameCandles() {
	slices.SortStableFunc(l.patterns, func(a, b candleName) int {
		return cmp.Or(b.look.pattern.candles-a.look.pattern.candles, b.x-a.x)
	})
	type place struct {
		x  int
		up bool
	}
	named := map[place]bool{}
	for i := range l.patterns {
		p := &l.patterns[i]
		at := place{p.x, p.look.up}
		if !named[at] && l.texts < maxText && l.nameCandle(p) {
			named[at] = true
			l.texts++
		}
	}
}

// nameCandle writes one name and reports whether there was room.
func (l *layout) nameCandle(p *candleName) bool {
	w := l.measure(p.look.pattern.name, SmallBold, l.s)
	baseline := int(math.Round(p.y)) - patternGap*l.s
	if p.look.up {
		baseline = int(math.Round(p.y)) + (patternGap+capHeight)*l.s
	}
	t := Label{
		X: math.Floor(l.xs[p.x] - w/2 + 0.5), Width: w, Baseline: baseline, Text: p.look.pattern.name,
		Face: SmallBold, Color: l.theme.readable(p.color),
	}
	return !l.overBars(l.textBox(&t)) && l.placeText(t, p.pane)
}

// overBars reports whether a box over the price covers a part of a bar.
func (l *layout) overBars(box Rect) bool {
	a, half := &l.Panes[0].axis, l.Columns.Step/2
	from, _ := slices.BinarySearch(l.xs, float64(box.X0)-half)
	for i := from; i < l.n && l.xs[i] <= float64(box.X1)+half; i++ {
		_, high, low, _, ok := l.merge(l.Columns.column(i))
		if ok && a.y(high) < float64(box.Y1) && a.y(low) > float64(box.Y0) {
			return true
		}
	}
	return false
}

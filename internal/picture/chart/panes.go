package chart

import (
	"math"

	"candela/internal/analysis/indicator"
)

// stackPanes cuts the plot into panes and gives each result one.
func (l *layout) stackPanes() {
	overlays, panels := 0, 0
	for _, r := range l.spec.Results {
		switch {
		case r.Result == nil:
		case r.Result.Overlay:
			overlays++
		default:
			panels++
		}
	}
	plot := l.Height - timeAxisHeight*l.s
	each := 0
	if panels > 0 {
		each = int(min(float64(panelShare*float64(plot)), panelsShare*float64(plot)/float64(panels)))
		each = max(each, smallestPanel*l.s)
		if most := max(1, int(float64(plot)*0.55)/each); panels > most {
			l.dropped, panels = panels-most, most
		}
	}
	price := plot - panels*each
	l.addPane(Rect{0, 0, 0, price})
	for i := range panels {
		top := price + i*each
		l.addPane(Rect{0, top + l.s, 0, top + each})
	}
	next := 1
	for _, r := range l.spec.Results {
		switch {
		case r.Result == nil:
		case r.Result.Overlay:
			l.shown = append(l.shown, shown{Result: r.Result, value: newSpan()})
		case next <= panels:
			l.shown = append(l.shown, shown{Result: r.Result, pane: next, value: newSpan()})
			next++
		}
	}
	most := min(legendRows, int((float64(price)*0.4-float64(16*l.s))/float64(rowHeight*l.s))-1)
	l.rows = min(overlays, max(most, 0))
	if overlays > l.rows {
		l.hidden = overlays - max(l.rows-1, 0)
	}
}

// addPane appends a pane, keeping the memory of one that was there before.
func (l *layout) addPane(r Rect) {
	if k := len(l.Panes); k < cap(l.Panes) {
		l.Panes = l.Panes[:k+1]
		l.Panes[k] = Pane{Rect: r, Ticks: l.Panes[k].Ticks[:0]}
		return
	}
	l.Panes = append(l.Panes, Pane{Rect: r})
}

// scalePanes finds the range of each pane and the values to mark on it.
func (l *layout) scalePanes() {
	l.scalePrice()
	for v := range l.each {
		if v.pane > 0 {
			l.scalePanel(v)
		}
	}
}

func (l *layout) scalePrice() {
	p := &l.Panes[0]
	r, logarithmic := l.priceRange()
	p.notation = priceNotation(tail(l.spec.Bars.O), tail(l.spec.Bars.H), tail(l.spec.Bars.L), tail(l.spec.Bars.C))
	height := float64(p.Rect.height())
	top := max(float64(priceTop*height), float64((16+(1+l.rows)*rowHeight)*l.s))
	top = min(top, float64(0.45*height))
	bottom := float64(priceBottom * height)
	if !l.hasVolume() {
		bottom = float64(priceTop * height)
	}
	p.axis = newAxis(r.lo, r.hi, float64(p.Rect.Y0)+top, float64(p.Rect.Y1)-bottom, logarithmic)
	whole := p.whole()
	l.values, p.ticked = tickValues(l.values[:0], &whole, float64(priceTickGap*l.s))
	l.markTicks(p)
}

// whole returns the axis of a pane including its margins, so that there are ticks
// beside the volume too.
func (p *Pane) whole() axis {
	a := p.axis
	a.top, a.bottom = float64(p.Rect.Y0), float64(p.Rect.Y1)
	a.hi, a.lo = a.value(a.top), a.value(a.bottom)
	return a
}

// tail is the number of bars searched for decimals.
func tail(column []float64) []float64 { return column[max(0, len(column)-500):] }

// priceRange returns the values the price pane must show, and whether they can
// stand on a logarithmic axis.
func (l *layout) priceRange() (span, bool) {
	r := newSpan()
	for _, column := range [...][]float64{l.candles.o, l.candles.h, l.candles.l, l.candles.c} {
		r.addAll(column)
	}
	logarithmic := l.spec.Log && r.lo > 0 && !r.empty()
	l.linear = l.spec.Log && !logarithmic
	floor := math.Inf(-1)
	if logarithmic {
		floor = r.lo / 16 // a band near zero would compress everything at the top
	}
	for v := range l.each {
		if v.pane == 0 {
			o := resultRange(v.Result)
			v.value = o
			if !o.empty() {
				r.add(max(o.lo, floor))
				r.add(max(o.hi, floor))
			}
		}
	}
	reach := float64(levelReach * (r.hi - r.lo))
	lo, hi := r.lo-reach, r.hi+reach
	for _, v := range l.spec.Levels {
		if v.Price >= lo && v.Price <= hi && v.Price > floor {
			r.add(v.Price)
		}
	}
	return r, logarithmic
}

// resultRange returns the span of everything a result draws at a value.
func resultRange(r *indicator.Result) span {
	all := newSpan()
	for i := range r.Lines {
		if r.Lines[i].Style != indicator.Hidden {
			all.addAll(r.Lines[i].Values)
		}
	}
	for i := range r.Hist {
		all.add(r.Hist[i].Base)
		if r.Hist[i].Style != indicator.State {
			all.addAll(r.Hist[i].Values)
		}
	}
	for i := range r.Fills {
		if r.Fills[i].Style == indicator.Channel && len(r.Lines) > 0 {
			continue // its edges are lines, or a floor far below them
		}
		all.addAll(r.Fills[i].Y1)
		all.addAll(r.Fills[i].Y2)
	}
	for _, h := range r.HLines {
		all.add(h.Y)
	}
	for _, h := range r.HBars {
		all.add(h.Y - h.Height/2)
		all.add(h.Y + h.Height/2)
	}
	return all
}

func (l *layout) scalePanel(v *shown) {
	p := &l.Panes[v.pane]
	r := resultRange(v.Result)
	for _, s := range v.Signals {
		r.add(s.Y)
	}
	for _, d := range v.DivLines {
		r.add(d.Y1)
		r.add(d.Y2)
	}
	p.notation = valueNotation(r)
	if v.YRange != nil && (r.empty() || len(v.HLines) > 1 || r.hi-r.lo >= float64(minUsedRange*(v.YRange[1]-v.YRange[0]))) {
		r.add(v.YRange[0])
		r.add(v.YRange[1])
	}
	v.value = r
	height := float64(p.Rect.height())
	top := min(float64((9+rowHeight)*l.s), float64(0.35*height))
	bottom := min(float64(9*l.s), float64(0.12*height))
	p.axis = newAxis(r.lo, r.hi, float64(p.Rect.Y0)+top, float64(p.Rect.Y1)-bottom, false)
	if l.levelTicks(v, p) || r.empty() {
		return // without values there is nothing to measure
	}
	a := p.axis
	if v.YRange == nil { // a bounded panel has no values beyond its bounds
		a = p.whole()
	}
	l.values, p.ticked = tickValues(l.values[:0], &a, float64(panelTickGap*l.s))
	if len(l.values) < 2 { // a small panel says more with narrower ticks
		l.values, p.ticked = tickValues(l.values[:0], &a, float64(panelTickLeast*l.s))
	}
	l.markTicks(p)
}

// levelTicks uses the levels of a panel as its ticks, when it has more than one.
func (l *layout) levelTicks(v *shown, p *Pane) bool {
	if len(v.HLines) < 2 {
		return false
	}
	l.values = l.values[:0]
	decimals := 0
	for _, h := range v.HLines {
		near := !finite(h.Y)
		for _, other := range l.values {
			near = near || math.Abs(p.axis.y(h.Y)-p.axis.y(other)) < float64(14*l.s)
		}
		if !near && len(l.values) < maxTicks {
			l.values = append(l.values, h.Y)
			decimals = max(decimals, priceNotation(l.values[len(l.values)-1:]).shortest(h.Y))
		}
	}
	p.ticked = decimals
	l.markTicks(p)
	return len(l.values) > 0
}

// markTicks turns l.values into ticks of p.
func (l *layout) markTicks(p *Pane) {
	n := p.notation.with(p.ticked)
	for _, v := range l.values {
		y := p.axis.row(v)
		if y < p.Rect.Y0+4*l.s || y >= p.Rect.Y1-4*l.s {
			continue // a grid line beside the border would look like a second one
		}
		text := "0" // whatever the decimals of the others
		if v != 0 {
			text = n.text(v)
		}
		p.Ticks = append(p.Ticks, Tick{Value: v, Y: y, Text: text})
	}
}

package chart

import (
	"math"
	"slices"

	"candela/lib/ta"
)

// stackPanes cuts the plot into panes and gives each result one. A panel has the same
// height as every other, but one without a value is as low as its legend.
func (l *layout) stackPanes() {
	plot := l.Height - timeAxisHeight*l.s
	least := smallestPanel * l.s
	blanks, all := l.blankPanels(), l.spec.panels()
	free := plot - min(blanks, all)*blankPanel*l.s
	panels, each, dropped := panelHeights(all-blanks, free, least)
	if dropped > 0 { // then those without a value go too
		blanks = 0
		panels, each, dropped = panelHeights(all, plot, least)
	}
	l.dropped = dropped
	switch {
	case l.spec.Shares != nil && dropped == 0:
		l.sharePanes(plot)
	case blanks > 0:
		l.stackUneven(plot, each)
	default:
		price := plot - panels*each
		l.addPane(Rect{0, 0, 0, price})
		for i := range panels {
			top := price + i*each
			l.addPane(Rect{0, top + l.s, 0, top + each})
		}
	}
	l.fillPanes()
}

// stackUneven stacks panels of which some have no value.
func (l *layout) stackUneven(plot, each int) {
	top := plot
	high := func(r *ta.Result) int {
		if blank(r) {
			return blankPanel * l.s
		}
		return each
	}
	panels := func(yield func(*ta.Result) bool) {
		for _, r := range l.spec.Results {
			if r.Result != nil && !r.Result.Overlay && !yield(r.Result) {
				return
			}
		}
	}
	for r := range panels {
		top -= high(r)
	}
	l.addPane(Rect{0, 0, 0, top})
	for r := range panels {
		l.addPane(Rect{0, top + l.s, 0, top + high(r)})
		top += high(r)
	}
}

// blankPanels counts the panels without a value.
func (l *layout) blankPanels() int {
	n := 0
	for _, r := range l.spec.Results {
		if r.Result != nil && !r.Result.Overlay && blank(r.Result) {
			n++
		}
	}
	return n
}

// isLow reports whether a panel has no room for more than its legend, because it has no value.
func (l *layout) isLow(pane int) bool { return l.Panes[pane].Rect.height() < blankPanel*l.s }

// blank reports whether a panel has lines or columns, and none of them a value.
func blank(r *ta.Result) bool {
	if len(r.Lines)+len(r.Hist) == 0 || r.Drawn != nil || len(r.Signals)+len(r.DivLines)+len(r.HBars) > 0 {
		return false
	}
	for i := range r.Lines {
		if hasValue(r.Lines[i].Values) || hasValue(r.Lines[i].Ahead) {
			return false
		}
	}
	for i := range r.Hist {
		if hasValue(r.Hist[i].Values) {
			return false
		}
	}
	return true
}

func hasValue(values []float64) bool { return slices.ContainsFunc(values, finite) }

// fillPanes gives each result its pane.
func (l *layout) fillPanes() {
	panels := len(l.Panes) - 1
	next := 1
	for _, r := range l.spec.Results {
		if r.Result != nil && r.Result.Drawn != nil && r.Result.Drawn.Over != nil {
			l.shown = append(l.shown, shown{Result: r.Result.Drawn.Over, over: true, value: newSpan()})
		}
		switch {
		case r.Result == nil:
		case r.Result.Overlay:
			l.shown = append(l.shown, shown{Result: r.Result, value: newSpan()})
		case next <= panels:
			l.shown = append(l.shown, shown{Result: r.Result, pane: next, value: newSpan()})
			next++
		}
	}
	l.addCompared()
	l.countAhead()
}

// sharePanes cuts the plot into panes of the shares that the picture asks for.
func (l *layout) sharePanes(plot int) {
	top := plot
	for _, share := range l.spec.Shares {
		top -= max(int(float64(share*float64(plot))), smallestPanel*l.s*2/3)
	}
	l.addPane(Rect{0, 0, 0, top})
	for _, share := range l.spec.Shares {
		high := max(int(float64(share*float64(plot))), smallestPanel*l.s*2/3)
		l.addPane(Rect{0, top + l.s, 0, top + high})
		top += high
	}
}

// panelHeights divides a plot among n panels: the share of one is at most panelShare, and
// the price keeps priceShare. Panels that would be lower than least are dropped, of a low
// picture all but one.
func panelHeights(n, plot, least int) (kept, each, dropped int) {
	room := plot - int(float64(priceShare*float64(plot)))
	kept = min(n, max(1, room/least))
	if kept == 0 {
		return 0, 0, 0
	}
	each = min(int(float64(panelShare*float64(plot))), room/kept)
	each = min(max(each, least), plot/2)
	return kept, each, n - kept
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

// spanPanes finds the values each pane must show and how its numbers are written.
func (l *layout) spanPanes() {
	p := &l.Panes[0]
	b := &l.spec.Bars
	p.notation = priceNotation(tail(b.O), tail(b.H), tail(b.L), tail(b.C))
	p.span, p.log = l.priceRange()
	for v := range l.each {
		if v.pane > 0 {
			l.spanPanel(v)
		}
	}
}

// scalePanes maps the values of each pane to the rows below its legend.
func (l *layout) scalePanes() {
	for i := range l.Panes {
		p := &l.Panes[i]
		top, bottom := float64(p.Rect.Y0+panelLegend*l.s), float64(p.Rect.Y1-panelFoot*l.s)
		if i == 0 {
			top, bottom = l.priceEdges()
			top = l.captionRoom(newAxis(p.span.lo, p.span.hi, top, bottom, p.log))
		}
		p.axis = newAxis(p.span.lo, p.span.hi, top, bottom, p.log)
	}
}

// priceEdges returns the rows between which prices are drawn: below the legend, above
// the volume, with room for the tags of the highest and the lowest price.
func (l *layout) priceEdges() (top, bottom float64) {
	r := l.Panes[0].Rect
	height := float64(r.height())
	tag := float64(tagRoom * l.s)
	if r.height() < tagsFrom*l.s {
		tag = float64(4 * l.s)
	}
	top = max(float64(priceTop*height), float64(l.legendEnd(l.rows))+tag)
	foot := float64(priceTop * height)
	if l.hasVolume() {
		foot = float64(volumeShare * height)
	}
	return top, float64(r.Y1) - max(foot+tag, float64(priceBottom*height))
}

// whole returns the axis of a pane including its margins, so that there are ticks
// beside the volume and the legend too.
func (p *Pane) whole() axis {
	a := p.axis
	a.top, a.bottom = float64(p.Rect.Y0), float64(p.Rect.Y1)
	a.hi, a.lo = a.value(a.top), a.value(a.bottom)
	return a
}

// tail is the number of bars searched for decimals.
func tail(column []float64) []float64 { return column[max(0, len(column)-500):] }

// priceRange returns the values the price pane must show, and whether they can
// stand on a logarithmic axis. Levels widen it only if they are near: one far away
// would leave no height for the prices.
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
	over := newSpan()
	for v := range l.each {
		if v.pane == 0 {
			o := resultRange(v.Result)
			v.value = o
			if !o.empty() {
				over.add(max(o.lo, floor))
				over.add(max(o.hi, floor))
			}
		}
	}
	r.join(l.near(r, over))
	reach := float64(levelReach * (r.hi - r.lo))
	near := span{max(r.lo-reach, floor), r.hi + reach}
	for v := range l.each {
		if v.pane == 0 {
			addLevels(&r, v.Result, near)
		}
	}
	for _, v := range l.spec.Levels {
		r.addWithin(v.Price, near)
	}
	l.spanShapes(&r, 0, near)
	l.spanDrawings(&r, logarithmic)
	return r, logarithmic
}

// near returns the part of the overlays' values that the axis shows: what is further from
// the prices than these are high would squeeze the candles. The values of a comparison are
// the prices.
func (l *layout) near(prices, over span) span {
	if over.empty() || prices.empty() || len(l.spec.Compare) > 0 || !(prices.hi > prices.lo) {
		return over
	}
	reach := float64(overlayReach * (prices.hi - prices.lo))
	return span{max(over.lo, prices.lo-reach), min(over.hi, prices.hi+reach)}
}

// addLevels adds the levels of an overlay that are near.
func addLevels(r *span, of *ta.Result, near span) {
	for i := range of.Lines {
		if of.Lines[i].Style != ta.Steps {
			continue
		}
		for _, v := range of.Lines[i].Values {
			r.addWithin(v, near)
		}
	}
	for _, h := range of.HLines {
		r.addWithin(h.Y, near)
	}
}

// resultRange returns the span of what a result draws at a value, except the levels
// of an overlay and zones, which reach to the edge of a panel.
func resultRange(r *ta.Result) span {
	all := newSpan()
	for i := range r.Lines {
		if style := r.Lines[i].Style; style != ta.Hidden && (style != ta.Steps || !r.Overlay) {
			all.addAll(r.Lines[i].Values)
			all.addAll(r.Lines[i].Ahead)
		}
	}
	for i := range r.Hist {
		all.add(r.Hist[i].Base)
		if r.Hist[i].Style != ta.State {
			all.addAll(r.Hist[i].Values)
		}
	}
	for i := range r.Fills {
		if !fits(&r.Fills[i], r) {
			continue
		}
		all.addAll(r.Fills[i].Y1)
		all.addAll(r.Fills[i].Y2)
		all.addAll(r.Fills[i].Ahead1)
		all.addAll(r.Fills[i].Ahead2)
	}
	if !r.Overlay {
		for _, h := range r.HLines {
			all.add(h.Y)
		}
	}
	for _, h := range r.HBars {
		all.add(h.Y - h.Height/2)
		all.add(h.Y + h.Height/2)
	}
	return all
}

// fits reports whether an axis shows all of an area: a channel's edges are lines, or a floor far below them, and
// a block may be far from the price.
func fits(f *ta.Fill, r *ta.Result) bool {
	return f.Style != ta.Zone && f.Style != ta.Block && (f.Style != ta.Channel || len(r.Lines) == 0)
}

// spanPanel finds the range of a panel from its values and levels. The bounds of the
// indicator limit it and do not widen it: a line between 40 and 60 needs its height.
func (l *layout) spanPanel(v *shown) {
	p := &l.Panes[v.pane]
	r := resultRange(v.Result)
	if l.isLow(v.pane) {
		r = newSpan() // its levels have no room
	}
	if !v.scripted() { // those of a script are events at the close of a bar, not values in the panel
		for _, s := range v.Signals {
			r.add(s.Y)
		}
	}
	for _, d := range v.DivLines {
		r.add(d.Y1)
		r.add(d.Y2)
	}
	l.spanShapes(&r, v.pane, span{math.Inf(-1), math.Inf(1)})
	p.notation = valueNotation(r)
	if v.YRange != nil && r.empty() {
		r.add(v.YRange[0])
		r.add(v.YRange[1])
	}
	p.span, v.value = r, r
}

package chart

import (
	"math"
	"strconv"

	"candela/internal/indicator"
	"candela/internal/raster"
)

// Measure returns the width of text in device pixels at the given scale.
type Measure func(text string, face Face, scale int) float64

// The measures of the layout, in logical pixels.
const (
	timeAxisHeight = 30
	axisPadding    = 22 // what the value axis adds to its widest label
	labelInset     = 9  // from the axis border to a label
	rowHeight      = 21 // of a legend
	headerBaseline = 24
	rowBaseline    = 20 // of a panel's legend, from its top
	legendLeft     = 12
	legendRows     = 6 // at most, then "+N"
	capHeight      = 9
	pillHeight     = 18
	pillPitch      = 19
	priceTickGap   = 52
	panelTickGap   = 38
	timeTickGap    = 62
	smallestPanel  = 40

	panelShare  = 0.20 // of the plot, for one panel
	panelsShare = 0.50 // of the plot, for all of them
	priceTop    = 0.06
	priceBottom = 0.20
	volumeShare = 0.16
	levelReach  = 0.35 // how far outside the range a level still widens it
	leastUsed   = 0.5  // of a panel's fixed range; a line that uses less, and has no guides, is drawn larger
)

// layout carries what the steps of one Layout share.
type layout struct {
	*Scene
	*scratch
	spec      *Spec
	theme     *theme
	measure   Measure
	s         int     // scale
	n         int     // bars
	dropped   int     // panels without room
	rows      int     // legend rows of the price pane, the header not counted
	hidden    int     // results whose row did not fit
	linear    bool    // a logarithm was asked for and is impossible
	axisX     int     // device x of the value axis' border
	lastPrice float64 // NaN when no bar has one
}

// scratch is memory that outlives a Layout only to be used by the next.
type scratch struct {
	shown    []shown
	xs       []float64
	values   []float64
	cal      []civil
	ticks    []timeTick
	parts    []part
	head     []part
	noteRoom []string
	boxes    []Rect // where text or an arrow already stands
	arrows   []arrow
	texts    int  // marker texts placed
	candles  ohlc // substitute columns, or the bars themselves
}

// shown is a result that has a place in the picture.
type shown struct {
	*indicator.Result
	pane  int
	inks  [8]raster.Color // of its first lines
	value span
}

// ohlc is the four columns candles are drawn from.
type ohlc struct{ o, h, l, c []float64 }

// Layout replaces the scene by that of spec. An error names what cannot be drawn
// and leaves the scene empty.
func (s *Scene) Layout(spec *Spec, measure Measure) error {
	s.reset()
	if err := spec.Check(); err != nil {
		return err
	}
	w, h, k := spec.size()
	s.Width, s.Height, s.Scale, s.Theme = w*k, h*k, k, spec.Theme
	l := layout{Scene: s, scratch: &s.scratch, spec: spec, theme: &themes[spec.Theme], measure: measure, s: k, n: spec.Bars.Len()}
	l.scratch.reset()
	l.candles = ohlc{spec.Bars.O, spec.Bars.H, spec.Bars.L, spec.Bars.C}
	l.stackPanes()
	l.colorLines()
	l.scalePanes()
	l.collectLegends()
	l.collectPills()
	l.placeAxis()
	l.placeColumns()
	l.placeTimeTicks()
	l.placeLegends()
	l.drawProfiles()
	l.drawFills()
	l.drawRules()
	l.drawHistograms()
	l.drawVolume()
	l.drawCandles()
	l.drawLines()
	l.drawDivergences()
	l.drawSignals()
	l.drawLast()
	l.placePills()
	l.labelTicks()
	l.drawBorders()
	return nil
}

func (c *scratch) reset() {
	clear(c.shown)
	clear(c.parts)
	clear(c.head)
	clear(c.noteRoom)
	c.shown, c.xs, c.ticks, c.parts = c.shown[:0], c.xs[:0], c.ticks[:0], c.parts[:0]
	c.boxes, c.arrows, c.texts = c.boxes[:0], c.arrows[:0], 0
	c.candles = ohlc{}
}

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
	for i := range l.shown {
		if l.shown[i].pane > 0 {
			l.scalePanel(&l.shown[i])
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
	// Ticks reach into the margins, so the axis is not bare where the volume stands.
	whole := p.axis
	whole.top, whole.bottom = float64(p.Rect.Y0), float64(p.Rect.Y1)
	whole.hi, whole.lo = whole.value(whole.top), whole.value(whole.bottom)
	l.values, p.ticked = tickValues(l.values[:0], &whole, float64(priceTickGap*l.s))
	l.markTicks(p)
}

// tail limits the search for decimals to what the eye will compare.
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
		floor = r.lo / 16 // a band that dives to zero would push everything to the top
	}
	for i := range l.shown {
		if l.shown[i].pane == 0 {
			o := resultRange(l.shown[i].Result)
			l.shown[i].value = o
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
		all.addAll(r.Lines[i].Values)
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
	if v.YRange != nil && (r.empty() || len(v.HLines) > 1 || r.hi-r.lo >= float64(leastUsed*(v.YRange[1]-v.YRange[0]))) {
		r.add(v.YRange[0])
		r.add(v.YRange[1])
	}
	v.value = r
	height := float64(p.Rect.height())
	top := min(float64((9+rowHeight)*l.s), float64(0.35*height))
	bottom := min(float64(9*l.s), float64(0.12*height))
	p.axis = newAxis(r.lo, r.hi, float64(p.Rect.Y0)+top, float64(p.Rect.Y1)-bottom, false)
	if l.levelTicks(v, p) {
		return
	}
	l.values, p.ticked = tickValues(l.values[:0], &p.axis, float64(panelTickGap*l.s))
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
		if y < p.Rect.Y0 || y >= p.Rect.Y1 {
			continue
		}
		p.Ticks = append(p.Ticks, Tick{Value: v, Y: y, Text: n.text(v)})
	}
}

// placeAxis finds the width of the value axis, which is that of the widest
// label on it, and with it the width of the plot.
func (l *layout) placeAxis() {
	widest := 0.0
	for i := range l.Panes {
		for _, t := range l.Panes[i].Ticks {
			widest = max(widest, l.measure(t.Text, Small, l.s))
		}
	}
	for i := range l.Pills {
		widest = max(widest, l.Pills[i].Label.Width)
	}
	width := int(math.Ceil(widest)) + axisPadding*l.s
	l.axisX = max(l.Width-width, l.Width/3)
	for i := range l.Panes {
		l.Panes[i].Rect.X1 = l.axisX
	}
	l.Plot = Rect{0, 0, l.axisX, l.Height - timeAxisHeight*l.s}
}

func (l *layout) placeColumns() {
	l.Columns = newColumns(l.n, l.axisX, l.s)
	for i := range l.n {
		l.xs = append(l.xs, l.Columns.x(i))
	}
}

// placeTimeTicks marks the time axis and draws the grid of every pane.
func (l *layout) placeTimeTicks() {
	per, gap := l.Columns.perBar(), float64(timeTickGap*l.s)
	if l.spec.Sample {
		l.ticks = indexTicks(l.ticks[:0], l.n, per, gap)
	} else {
		l.ticks, l.cal = timeTicks(l.ticks[:0], l.spec.Bars.T, per, gap, l.cal)
	}
	for i := range l.Panes {
		p := &l.Panes[i]
		for _, t := range p.Ticks {
			l.Grid = append(l.Grid, Box{Rect{0, t.Y, l.axisX, t.Y + l.s}, i, l.theme.grid})
		}
		for _, t := range l.ticks {
			x := int(l.xs[t.bar]) - (l.s-1)/2
			l.Grid = append(l.Grid, Box{Rect{x, p.Rect.Y0, x + l.s, p.Rect.Y1}, i, l.theme.grid})
		}
	}
	for _, t := range l.ticks {
		face, color := Small, l.theme.text
		if t.bold {
			face, color = SmallBold, l.theme.strong
		}
		w := l.measure(t.text, face, l.s)
		x := math.Floor(l.xs[t.bar] - w/2 + 0.5)
		if x < float64(2*l.s) || x+w > float64(l.axisX-2*l.s) {
			continue
		}
		l.Labels = append(l.Labels, Label{X: x, Width: w, Baseline: l.Plot.Y1 + 20*l.s, Text: t.text, Face: face, Color: color})
	}
}

// labelTicks writes the ticks that neither a pill nor an edge of the pane touches.
func (l *layout) labelTicks() {
	for i := range l.Panes {
		p := &l.Panes[i]
		for k := range p.Ticks {
			t := &p.Ticks[k]
			top, bottom := t.Y-4*l.s, t.Y+5*l.s
			t.Hidden = top < p.Rect.Y0 || bottom > p.Rect.Y1
			for j := range l.Pills {
				t.Hidden = t.Hidden || l.Pills[j].Y0 < bottom+l.s && l.Pills[j].Y1 > top-l.s
			}
			if !t.Hidden {
				l.Labels = append(l.Labels, Label{
					X: float64(l.axisX + labelInset*l.s), Width: l.measure(t.Text, Small, l.s),
					Baseline: t.Y + 5*l.s, Text: t.Text, Face: Small, Color: l.theme.text,
				})
			}
		}
	}
}

// drawBorders frames the panes and the axes.
func (l *layout) drawBorders() {
	for i := range l.Panes {
		y := l.Panes[i].Rect.Y1
		l.Borders = append(l.Borders, Box{Rect{0, y, l.Width, y + l.s}, -1, l.theme.border})
	}
	l.Borders = append(l.Borders, Box{Rect{l.axisX, 0, l.axisX + l.s, l.Height}, -1, l.theme.border})
}

// plusN is the row or note that stands for n things left out.
func plusN(n int, what string) string { return "+" + strconv.Itoa(n) + what }

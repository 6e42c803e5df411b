package chart

import (
	"strconv"

	"candela/lib/chart/raster"
	"candela/lib/ta"
)

// Measure returns the width of text in device pixels at the given scale.
type Measure func(text string, face Face, scale int) float64

// Sizes of the layout, in logical pixels.
const (
	timeAxisHeight = 30
	axisPadding    = 22 // what the value axis adds to its widest label
	labelInset     = 9  // from the axis border to a label
	rowHeight      = 21 // of a legend
	headerBaseline = 24
	legendLeft     = 12
	legendFoot     = 5 // below the baseline of a legend
	capHeight      = 9
	pillHeight     = 18
	pillPitch      = 19
	pillReach      = 12 // from a pill to its value, at most
	lastReach      = 7  // the same for the last price
	pillRoom       = 45 // height of the axis for each pill
	timeTickGap    = 62
	smallestPanel  = 60
	panelBaseline  = 14 // of a panel's legend, from its top
	panelLegend    = panelBaseline + legendFoot + 2
	panelFoot      = 8
	tagRoom        = 18  // above the highest price and below the lowest
	tagsFrom       = 240 // height of a price pane with such tags

	blankPanel = 27 // height of a panel without a value

	panelShare  = 0.20 // of the plot, for one panel
	priceShare  = 0.35 // of the plot, which the price keeps
	legendShare = 0.40 // of the price pane, at most
	priceTop    = 0.06
	priceBottom = 0.20
	volumeShare = 0.16
	// How far the overlays widen the axis, in heights of the prices.
	overlayReach = 1.0
	levelReach   = 0.25 // how far outside the range a level still widens it
)

// layout is the shared state of the steps of one Layout.
type layout struct {
	*Scene
	*scratch
	spec      *Spec
	theme     *theme
	measure   Measure
	s         int     // scale
	n         int     // bars
	dropped   int     // panels without room
	thinned   int     // signals without room
	outside   int     // drawings that are not in the picture
	rows      int     // legend rows of the price pane, the header not counted
	entries   int     // of the legends
	walk      int     // colours of overlays in use
	ahead     int     // bars after the last one that lines reach
	curved    int     // straight parts of curves
	pieces    int     // of filled areas
	linear    bool    // a requested logarithm is impossible
	axisX     int     // device x of the value axis' border
	lastPrice float64 // NaN when no bar has one

	valueWidth float64 // the widest number of the value axes
}

// scratch is memory that the next Layout reuses.
type scratch struct {
	shown    []shown
	xs       []float64
	values   []float64
	cal      []civil
	ticks    []timeTick
	parts    []part
	head     []part
	noteRoom []string
	boxes    []Rect // taken by text or an arrow
	legends  []Rect // those of them that are legends
	arrows   []arrow
	patterns []candleName
	placed   []Pill
	joined   []float64 // columns with the values ahead
	parted   []piece   // of the line that is drawn
	breaks   []int     // the first bars of sessions
	texts    int       // marker texts placed
	kept     []ta.Signal
	compared compared
	barTints []raster.Color // of the bars that scripts colour
	visible  []bool         // which drawings are drawn
	candles  ohlc           // substitute columns, or the bars themselves
}

// shown is a result in the picture.
type shown struct {
	*ta.Result
	pane   int
	over   bool            // what a script with a panel draws over the price
	fixed  string          // shown in place of its last value
	marks  []ta.Signal     // those of its signals that are drawn
	color  raster.Color    // of what is not a line
	inks   [8]raster.Color // of its first lines
	dashed [8]bool         // those that share their colour with an earlier one
	value  span
}

// each yields the results in the picture, with the axis of their pane.
func (l *layout) each(yield func(*shown, *axis) bool) {
	for i := range l.shown {
		if v := &l.shown[i]; !yield(v, &l.Panes[v.pane].axis) {
			return
		}
	}
}

// ohlc is the four columns candles are drawn from.
type ohlc struct{ o, h, l, c []float64 }

// Layout replaces the scene by that of spec. An error names the field that cannot be
// drawn and leaves the scene empty.
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
	l.spanPanes()
	l.collectLegends()
	l.flowLegend()
	l.scalePanes()
	l.collectPills()
	l.spreadPills()
	l.chooseTicks()
	l.placeAxis()
	l.placeColumns()
	l.thinSignals()
	l.placeTimeTicks()
	l.placeLegends()
	l.drawTints()
	l.drawProfiles()
	l.drawFills()
	l.drawRules()
	l.drawHistograms()
	l.drawVolume()
	l.drawCandles()
	l.drawLines()
	l.drawDivergences()
	l.drawSignals()
	l.drawPaintedCandles()
	l.drawShapes()
	l.drawMarks()
	l.drawTables()
	l.drawDrawings()
	l.drawTags()
	l.nameCandles()
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
	clear(c.kept)
	clear(c.placed)
	c.legends, c.joined, c.breaks = c.legends[:0], c.joined[:0], c.breaks[:0]
	c.boxes, c.arrows, c.patterns, c.texts, c.kept = c.boxes[:0], c.arrows[:0], c.patterns[:0], 0, c.kept[:0]
	c.compared = compared{values: c.compared.values[:0]}
	c.visible, c.barTints = c.visible[:0], c.barTints[:0]
	c.candles = ohlc{}
}

// plusN is the row or note for n omitted items.
func plusN(n int, what string) string { return "+" + strconv.Itoa(n) + what }

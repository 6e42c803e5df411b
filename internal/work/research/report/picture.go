package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"candela/lib/backtest/simulate"
	"candela/lib/chart"
	"candela/lib/market"
	"candela/lib/ta"
)

// The size of a picture in logical pixels.
const (
	pictureWidth  = 1440
	pictureHeight = 1080
)

// mostMarked is the number of trades that are drawn with marks; of more only the lines are.
const mostMarked = 300

// inks are the colours that charts do not choose by themselves.
type inks struct{ win, loss, long, short, muted, text, sample, ground ta.Tone }

func inksOf(t chart.Theme) inks {
	if t == chart.Light {
		return inks{win: 0x089981FF, loss: 0xF23645FF, long: 0x316EF9FF, short: 0xBF5002FF, muted: 0x6E717CFF, text: 0x434651FF, sample: 0x316EF912, ground: 0xE4E6EBFF}
	}
	return inks{win: 0x26A69AFF, loss: 0xEF5350FF, long: 0x64C6FAFF, short: 0xFE790CFF, muted: 0x868B98FF, text: 0xB2B5BEFF, sample: 0x64C6FA14, ground: 0x2E3340FF}
}

// faint returns a colour at a part of its strength.
func faint(t ta.Tone, part float64) ta.Tone {
	return t&^0xff | ta.Tone(float64(part*float64(t&0xff)))
}

// Picture describes the picture of a back-test: trades on the price, equity beside buying
// and holding, drawdown, monthly returns and the position.
func (c *Curve) Picture(theme chart.Theme) *chart.Spec {
	d := c.drawing(theme)
	spec := &chart.Spec{
		Bars: d.bars, Symbol: c.Symbol, Interval: c.Interval, Sample: c.Sample, Theme: theme,
		Width: pictureWidth, Height: pictureHeight, Scale: 1, Facts: c.Facts, Note: c.Warning,
		Results: []chart.Named{
			{Name: "trades", Result: d.trades()},
			{Name: "equity", Result: d.equity()},
		},
		Shares: []float64{0.22},
	}
	if len(c.Run.Trades)+len(c.Run.Open) == 0 {
		return spec // nothing fell, and nothing was held
	}
	spec.Results = append(spec.Results, chart.Named{Name: "drawdown", Result: d.drawdown()},
		chart.Named{Name: "months", Result: d.months()}, chart.Named{Name: "position", Result: d.position()})
	spec.Shares = append(spec.Shares, 0.13, 0.12, 0.09)
	return spec
}

// drawing is a curve in columns of a picture: one for each bar, or for several.
type drawing struct {
	*Curve
	inks inks
	per  int // bars in a column
	bars market.Bars

	worst, best float64 // of the months and 0
}

func (c *Curve) drawing(theme chart.Theme) *drawing {
	all := c.Run.Bars.Slice(c.Run.From, c.Run.Bars.Len())
	d := &drawing{Curve: c, inks: inksOf(theme), per: (all.Len() + chart.MaxBars - 1) / chart.MaxBars}
	for i := 0; i < all.Len(); i += d.per {
		b := all.At(i)
		for k := i + 1; k < min(i+d.per, all.Len()); k++ {
			next := all.At(k)
			b.H, b.L, b.C = max(b.H, next.H), min(b.L, next.L), next.C
		}
		b.V = 0 // the volume would cover the marks
		d.bars.Append(b)
	}
	return d
}

// x returns the column of a bar of the run.
func (d *drawing) x(bar int) int { return max(0, bar-d.Run.From) / d.per }

// column returns the value of each column, given that of each bar from the first that
// counts: the last one of its bars.
func (d *drawing) column(of func(i int) float64) []float64 {
	out := make([]float64, d.bars.Len())
	for k := range out {
		out[k] = of(min((k+1)*d.per, len(d.Run.Equity)) - 1)
	}
	return out
}

func (d *drawing) trades() *ta.Result {
	drawn := &ta.Drawn{}
	marked := len(d.Run.Trades) <= mostMarked
	for i := range d.Run.Trades {
		t := &d.Run.Trades[i]
		ink := d.inks.win
		if t.Profit < 0 {
			ink = d.inks.loss
		}
		if !marked {
			drawn.Shapes = append(drawn.Shapes, d.line(t, ink, 2))
			continue
		}
		drawn.Shapes = append(drawn.Shapes, d.line(t, faint(ink, 0.6), 1))
		drawn.Marks = append(drawn.Marks, d.entry(t.Side, t.EntryBar),
			ta.Mark{X: d.x(t.ExitBar), Y: t.ExitPrice, Place: ta.AtValue, Form: ta.XCross, Size: ta.Tiny, Color: ink})
		if t.Ambiguous {
			drawn.Marks = append(drawn.Marks, ta.Mark{X: d.x(t.ExitBar), Y: t.ExitPrice, Place: ta.AtValue, Form: ta.Circle, Size: ta.Normal, Color: faint(ink, 0.3)})
		}
	}
	for _, l := range d.Run.Open {
		drawn.Marks = append(drawn.Marks, d.entry(l.Side, l.Bar))
	}
	label := "Trades"
	switch {
	case len(d.Run.Trades)+len(d.Run.Open) == 0:
		label = "No trades"
	case !marked:
		// Lines of one or two bars would be lost among candles of the same colours.
		drawn.Tints = []ta.Tint{{To: d.bars.Len() - 1, Color: faint(d.inks.muted, 0.5), Bars: true}}
		label = Count(len(d.Run.Trades), "trade", "trades") + ": lines only, green won, red lost"
	}
	return &ta.Result{Label: label, Overlay: true, Drawn: drawn}
}

func (d *drawing) line(t *simulate.Trade, ink ta.Tone, width int) ta.Shape {
	return ta.Shape{
		Kind: ta.Segment, Color: ink, Width: width,
		Points: []ta.Point{{X: d.x(t.EntryBar), Y: t.EntryPrice}, {X: d.x(t.ExitBar), Y: t.ExitPrice}},
	}
}

func (d *drawing) entry(side simulate.Side, bar int) ta.Mark {
	if side == simulate.Long {
		return ta.Mark{X: d.x(bar), Place: ta.BelowBar, Form: ta.TriangleUp, Size: ta.Little, Color: d.inks.long}
	}
	return ta.Mark{X: d.x(bar), Place: ta.AboveBar, Form: ta.TriangleDown, Size: ta.Little, Color: d.inks.short}
}

func (d *drawing) equity() *ta.Result {
	r, capital := d.Run, d.Run.Config.Capital
	first := r.Bars.O[r.From]
	held := d.column(func(i int) float64 { return capital * r.Bars.C[r.From+i] / first })
	grey := make([]ta.Tone, len(held))
	for i := range grey {
		grey[i] = d.inks.muted
	}
	out := &ta.Result{
		Label: "Equity",
		Lines: []ta.Line{
			{Label: "Equity", Values: d.column(func(i int) float64 { return r.Equity[i] })},
			{Label: "Buy and hold", Values: held, Paint: &ta.Paint{Colors: grey, Width: 1, Dash: ta.Dashed}},
		},
		HLines: []ta.HLine{{Y: capital, Style: ta.Reference}},
		Drawn:  &ta.Drawn{},
	}
	if d.OutOfSample > r.From {
		from := d.x(d.OutOfSample)
		out.Drawn.Tints = []ta.Tint{{From: from, To: d.bars.Len() - 1, Color: d.inks.sample}}
		out.Drawn.Marks = []ta.Mark{d.outOfSample(from, capital, out.Lines[0].Values, held)}
	}
	return out
}

// outOfSample is the text at the left edge of the bars that were not used to choose parameters: at the
// top, or at the bottom if a line is there.
func (d *drawing) outOfSample(from int, capital float64, lines ...[]float64) ta.Mark {
	n := d.bars.Len()
	half := n / 24 // of the text, in columns
	low, high := capital, capital
	highest := math.Inf(-1) // where the text is
	for _, values := range lines {
		low, high = min(low, slices.Min(values)), max(high, slices.Max(values))
		highest = max(highest, slices.Max(values[from:min(n, from+2*half+1)]))
	}
	m := ta.Mark{X: min(from+half, n-1), Place: ta.AtTop, Form: ta.NoForm, Text: "out of sample", Ink: d.inks.text}
	if highest > low+float64(0.85*(high-low)) {
		m.Place = ta.AtBottom
	}
	return m
}

func (d *drawing) drawdown() *ta.Result {
	r := d.Run
	falls := make([]float64, len(r.Equity))
	peak := r.Config.Capital // 0 where a script begins without money: there is no part of nothing
	for i, e := range r.Equity {
		peak = max(peak, e)
		if peak > 0 {
			falls[i] = 100 * (e - peak) / peak
		}
	}
	// The deepest of a column's bars is shown, so that the label is true.
	values, deepest := make([]float64, d.bars.Len()), 0
	for k := range values {
		for i := k * d.per; i < min((k+1)*d.per, len(falls)); i++ {
			values[k] = min(values[k], falls[i])
		}
		if values[k] < values[deepest] {
			deepest = k
		}
	}
	out := &ta.Result{Label: "Drawdown %", Drawn: &ta.Drawn{}}
	d.filled(out, values, d.inks.loss, d.inks.loss)
	if values[deepest] < 0 {
		out.Drawn.Shapes = []ta.Shape{d.deepest(deepest, values[deepest])}
	}
	return out
}

// deepest is the label of the deepest point, on the side with more room.
func (d *drawing) deepest(at int, value float64) ta.Shape {
	text := signed(fmt.Sprintf("%.1f %%", value))
	if !d.Sample {
		text += ", " + time.Unix(d.bars.T[at], 0).UTC().Format("2 Jan 2006")
	}
	pointer := ta.PointLeft
	if at > d.bars.Len()/2 {
		pointer = ta.PointRight
	}
	return ta.Shape{
		Kind: ta.Caption, Points: []ta.Point{{X: at, Y: value}}, Place: ta.AtValue, Pointer: pointer,
		Text: text, Ink: d.inks.text, Color: d.inks.ground, Size: ta.Little,
	}
}

// mostNamedMonths is the number of months whose returns are written.
const mostNamedMonths = 24

func (d *drawing) months() *ta.Result {
	r := d.Run
	months := r.Summary(1).Months
	values := make([]float64, d.bars.Len())
	out := &ta.Result{Label: "Months %", Drawn: &ta.Drawn{}}
	for _, m := range months {
		d.worst, d.best = min(d.worst, m.Percent), max(d.best, m.Percent)
	}
	from, k := 0, 0
	for i, t := range d.bars.T {
		at := time.Unix(t, 0).UTC()
		for k < len(months)-1 && (at.Year() > months[k].Year || at.Year() == months[k].Year && at.Month() > months[k].Month) {
			out.Drawn.Marks = d.nameMonth(out.Drawn.Marks, len(months), from, i-1, months[k].Percent)
			from, k = i, k+1
		}
		values[i] = math.NaN()
		if k < len(months) {
			values[i] = months[k].Percent
		}
	}
	if k < len(months) {
		out.Drawn.Marks = d.nameMonth(out.Drawn.Marks, len(months), from, len(values)-1, months[k].Percent)
	}
	d.filled(out, values, d.inks.win, d.inks.loss)
	return out
}

// filled adds values as an area from 0 on, in one colour above it and another below.
func (d *drawing) filled(r *ta.Result, values []float64, above, below ta.Tone) {
	n := len(values)
	line := &ta.Paint{Colors: make([]ta.Tone, n), Width: 1}
	area := &ta.FillPaint{Colors: make([]ta.Tone, n)}
	for i, v := range values {
		ink := above
		if v < 0 {
			ink = below
		}
		line.Colors[i], area.Colors[i] = ink, faint(ink, 0.25)
	}
	r.Lines = append(r.Lines, ta.Line{Label: r.Label, Values: values, Paint: line})
	r.Fills = append(r.Fills, ta.Fill{Y1: make([]float64, n), Y2: values, Style: ta.Area, Paint: area})
	r.HLines = append(r.HLines, ta.HLine{Style: ta.Zero})
}

// nameMonth writes the return of a month in the middle of its bars, if there is room: inside a large area,
// otherwise beside it on the side of 0 that has more room.
func (d *drawing) nameMonth(marks []ta.Mark, months, from, to int, percent float64) []ta.Mark {
	if months > mostNamedMonths || (to-from+1)*mostNamedMonths < d.bars.Len() {
		return marks
	}
	const large, beside = 0.3, 0.15 // of the height
	height := d.best - d.worst
	at := percent / 2
	switch {
	case math.Abs(percent) >= large*height:
	case d.best >= -d.worst:
		at = max(0, percent) + float64(beside*height)
	default:
		at = min(0, percent) - float64(beside*height)
	}
	return append(marks, ta.Mark{X: (from + to) / 2, Y: at, Place: ta.AtValue, Form: ta.NoForm, Text: signed(fmt.Sprintf("%+.1f", percent)), Ink: d.inks.text})
}

// minus writes a negative number as the axes do.

func (d *drawing) position() *ta.Result {
	r := d.Run
	held := make([]float64, len(r.Equity))
	hold := func(side simulate.Side, quantity float64, from, to int) {
		for i := max(0, from-r.From); i < to-r.From && i < len(held); i++ {
			held[i] += float64(side) * quantity
		}
	}
	for i := range r.Trades {
		t := &r.Trades[i]
		hold(t.Side, t.Quantity, t.EntryBar, max(t.ExitBar, t.EntryBar+1))
	}
	for _, l := range r.Open {
		hold(l.Side, l.Quantity, l.Bar, r.Bars.Len())
	}
	out := &ta.Result{Label: "Position", Drawn: &ta.Drawn{}}
	// The largest of a column's bars is shown, so that no trade is missing; the last column has what
	// is held now.
	values := d.column(func(i int) float64 { return held[i] })
	for k := range len(values) - 1 {
		for i := k * d.per; i < (k+1)*d.per; i++ {
			if math.Abs(held[i]) > math.Abs(values[k]) {
				values[k] = held[i]
			}
		}
	}
	d.filled(out, values, d.inks.long, d.inks.short)
	return out
}

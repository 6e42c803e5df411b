package pine

import (
	"slices"
	"strings"

	"candela/lib/pine/check"
	"candela/lib/ta"
)

// result turns what was collected into the channels of a result.
func (b *batch) result() *ta.Result {
	r := &ta.Result{Label: b.Label(), Signals: b.signals, Drawn: &ta.Drawn{Alerts: b.alerts, Notes: b.program.chartNotes()}}
	over := r
	if !b.program.Overlay {
		over = &ta.Result{Label: r.Label, Overlay: true, Drawn: &ta.Drawn{}}
	}
	labels := map[[2]int]string{}
	for i := range b.program.columns {
		c := &b.program.columns[i]
		labels[[2]int{c.plot, c.part}] = c.label
	}
	for _, p := range b.program.Plots {
		to := r
		if b.arg(p.Index, "force_overlay", 0) != 0 {
			to = over
		}
		switch p.Kind {
		case "plot":
			b.plot(to, p, labels[[2]int{p.Index, 0}])
		case "plotcandle", "plotbar":
			b.candles(to, p, func(part int) string { return labels[[2]int{p.Index, part}] })
		case "hline":
			b.level(to, p)
		case "fill":
			b.fill(to, p)
		case "bgcolor", "barcolor":
			b.tints(to, over, p)
		default:
			b.marks(to, p)
		}
	}
	b.draw(r, over)
	if over != r && !empty(over) {
		r.Drawn.Over = over
	}
	return r
}

func empty(r *ta.Result) bool {
	return len(r.Lines)+len(r.Hist)+len(r.HLines)+len(r.Fills)+len(r.Drawn.Marks)+len(r.Drawn.Tints)+len(r.Drawn.Shapes)+len(r.Drawn.Tables) == 0
}

// chartNotes are the notes of a chart.
func (p *Program) chartNotes() []string {
	all := p.Notes()
	if p.IsStrategy() {
		all = slices.Insert(all, 0, "A strategy: its plots are drawn, and it does not trade.")
	}
	return all
}

// drawn reports whether a plot is to be seen.
func (b *batch) drawn(p *check.Plot) bool {
	c, ok := p.Call.Arg("display").(*check.Const)
	return !ok || c.NA || int(c.Num)&1 != 0
}

// tones returns the colours of a plot, nil if the script sets none.
func (b *batch) tones(p *check.Plot, part int) []ta.Tone {
	if !b.given[p.Index][part] {
		return nil
	}
	return b.colors[p.Index][part]
}

// plot adds a line or a histogram.
func (b *batch) plot(r *ta.Result, p *check.Plot, label string) {
	style := strings.TrimPrefix(b.word(p.Index, "style"), "style_")
	paint := &ta.Paint{
		Colors: b.tones(p, 0), Width: b.arg(p.Index, "linewidth", 1), Shift: int(b.arg(p.Index, "offset", 0)), Dash: dashOf(b.word(p.Index, "linestyle")),
	}
	values := b.values[p.Index][0]
	if style == "histogram" || style == "columns" {
		if b.drawn(p) {
			r.Hist = append(r.Hist, ta.Hist{Label: label, Values: values, Base: b.arg(p.Index, "histbase", 0), Style: ta.Plain, Paint: paint, Thin: style == "histogram"})
			return
		}
	}
	line := ta.Line{Label: label, Values: values, Paint: paint}
	switch style {
	case "stepline", "stepline_diamond", "steplinebr":
		line.Style, paint.Joined = ta.Steps, style != "steplinebr"
	case "circles":
		line.Style, paint.Form, paint.Joined = ta.Dots, ta.Circle, false
	case "cross":
		line.Style, paint.Form = ta.Dots, ta.Cross
	case "linebr", "areabr":
	default:
		paint.Joined = true
	}
	if !b.drawn(p) {
		line.Style = ta.Hidden
	}
	r.Lines = append(r.Lines, line)
	if (style == "area" || style == "areabr") && b.drawn(p) {
		base := make([]float64, b.n)
		for i := range base {
			base[i] = b.arg(p.Index, "histbase", 0)
		}
		r.Fills = append(r.Fills, ta.Fill{Y1: values, Y2: base, Style: ta.Channel, Paint: &ta.FillPaint{Colors: faded(paint.Colors, b.n), Shift: paint.Shift}})
	}
}

// faded returns the colours of the area below a line.
func faded(tones []ta.Tone, n int) []ta.Tone {
	out := make([]ta.Tone, n)
	for i := range out {
		t := ta.Tone(0x2962ffff)
		if tones != nil {
			t = tones[i]
		}
		out[i] = t&^0xff | (t & 0xff / 3)
	}
	return out
}

func dashOf(style string) ta.Dash {
	switch {
	case strings.Contains(style, "dash"):
		return ta.Dashed
	case strings.Contains(style, "dot"):
		return ta.Dotted
	}
	return ta.Unbroken
}

// candles adds the four lines of a plotcandle or plotbar.
func (b *batch) candles(r *ta.Result, p *check.Plot, label func(int) string) {
	parts := [4]int{0, 1, 2, 0} // colours of open, high and low: body, wick, border
	for k := range 4 {
		var tones []ta.Tone
		if p.Kind == "plotcandle" {
			if tones = b.tones(p, parts[k]); tones == nil {
				tones = b.tones(p, 0)
			}
		} else {
			tones = b.tones(p, 0)
		}
		line := ta.Line{Label: label(k), Values: b.values[p.Index][k], Style: ta.CandleOpen + ta.LineStyle(k), Paint: &ta.Paint{Colors: tones}}
		if !b.drawn(p) {
			line.Style = ta.Hidden
		}
		r.Lines = append(r.Lines, line)
	}
}

// level adds an hline.
func (b *batch) level(r *ta.Result, p *check.Plot) {
	if b.ran == 0 {
		return
	}
	y := b.values[p.Index][0][b.ran-1]
	if y != y || !b.drawn(p) {
		return
	}
	h := ta.HLine{Y: y, Label: p.Title}
	look := &ta.HLook{Color: 0x787b86ff, Width: int(b.arg(p.Index, "linewidth", 1)), Dash: ta.Dashed}
	if t := b.tones(p, 0); t != nil {
		look.Color = t[b.ran-1]
	}
	if style := b.word(p.Index, "linestyle"); style != "" {
		look.Dash = dashOf(style)
	}
	if y == 0 {
		h.Style = ta.Zero
	}
	h.Look = look
	r.HLines = append(r.HLines, h)
}

// fill adds the area between two plots or levels.
func (b *batch) fill(r *ta.Result, p *check.Plot) {
	if p.A < 0 || p.B < 0 || !b.drawn(p) {
		return
	}
	f := ta.Fill{Y1: b.edge(p.A), Y2: b.edge(p.B), Style: ta.Channel, Paint: &ta.FillPaint{Shift: int(b.arg(p.A, "offset", 0))}}
	if p.Call.Arg("top_value") != nil {
		f.Paint.Top, f.Paint.Bottom = b.values[p.Index][0], b.values[p.Index][1]
		f.Paint.TopColors, f.Paint.BaseColors = b.colors[p.Index][1], b.colors[p.Index][2]
	} else if f.Paint.Colors = b.tones(p, 0); f.Paint.Colors == nil {
		f.Paint = nil
	}
	r.Fills = append(r.Fills, f)
}

// edge returns one side of a fill. A level has its value on every bar.
func (b *batch) edge(plot int) []float64 {
	values := b.values[plot][0]
	if b.program.Plots[plot].Kind != "hline" || b.ran == 0 {
		return values
	}
	out := nans(b.n)
	for i := range out {
		out[i] = values[b.ran-1]
	}
	return out
}

// tints adds the spans of a bgcolor or barcolor.
func (b *batch) tints(r, over *ta.Result, p *check.Plot) {
	tones, shift := b.colors[p.Index][0], int(b.arg(p.Index, "offset", 0))
	to := r
	if p.Kind == "barcolor" {
		to = over
	}
	for i := b.first; i < b.ran; {
		k := i + 1
		for k < b.ran && tones[k] == tones[i] {
			k++
		}
		if tones[i].Opacity() > 0 {
			to.Drawn.Tints = append(to.Drawn.Tints, ta.Tint{From: i + shift, To: k - 1 + shift, Color: tones[i], Bars: p.Kind == "barcolor"})
		}
		i = k
	}
}

// marks adds the signs of a plotshape, plotchar or plotarrow.
func (b *batch) marks(r *ta.Result, p *check.Plot) {
	if !b.drawn(p) {
		return
	}
	base := ta.Mark{
		Place: placeOf(b.word(p.Index, "location")), Form: formOf(b.word(p.Index, "style")), Text: b.word(p.Index, "text"),
		Size: sizeOf(b.word(p.Index, "size")), Label: p.Title,
	}
	if p.Kind == "plotchar" {
		base.Form = ta.NoForm
		base.Text = strings.TrimSpace(b.word(p.Index, "char") + " " + base.Text)
	}
	shift := int(b.arg(p.Index, "offset", 0))
	for i := b.first; i < b.ran; i++ {
		v := b.values[p.Index][0][i]
		if v != v || v == 0 && base.Place != ta.AtValue {
			continue
		}
		m := base
		m.X, m.Y, m.Color, m.Ink = i+shift, v, b.colors[p.Index][0][i], b.colors[p.Index][1][i]
		if p.Kind == "plotarrow" {
			if v == 0 {
				continue
			}
			arrow(&m, v, b.colors[p.Index][0][i], b.colors[p.Index][1][i])
		}
		if p.Kind != "plotarrow" && !b.given[p.Index][0] {
			m.Color = 0x2962ffff
		}
		if m.Ink == 0 {
			m.Ink = m.Color
		}
		if m.Color.Opacity() > 0 || m.Ink.Opacity() > 0 {
			r.Drawn.Marks = append(r.Drawn.Marks, m)
		}
	}
}

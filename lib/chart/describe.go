package chart

import (
	"math"

	"candela/lib/chart/raster"
	"candela/lib/market"
	"candela/lib/ta"
)

// describer writes a look in one theme. The same colours in the same order are asked of both themes.
type describer struct {
	*layout
	look   *Look
	colors []raster.Color // all that were asked
	light  []raster.Color // the same in the light theme; nil while that is described
	known  map[[2]raster.Color]int
}

// tint returns the index of a colour.
func (d *describer) tint(c raster.Color) int {
	d.colors = append(d.colors, c)
	if d.light == nil {
		return 0
	}
	pair := [2]raster.Color{c, d.light[len(d.colors)-1]}
	if at, ok := d.known[pair]; ok {
		return at
	}
	at := len(d.look.Inks)
	both := func(of func(t Theme) raster.Color) [2]string { return [2]string{hexText(of(Dark)), hexText(of(Light))} }
	d.look.Inks = append(d.look.Inks, both(func(t Theme) raster.Color { return pair[t] }))
	d.look.Read = append(d.look.Read, both(func(t Theme) raster.Color { return themes[t].readable(pair[t]) }))
	d.look.On = append(d.look.On, both(func(t Theme) raster.Color { return onPill(pair[t]) }))
	d.known[pair] = at
	return at
}

func (d *describer) describe() {
	d.look.Digits = d.Panes[0].notation.digits()
	d.look.Up, d.look.Down = d.tint(d.theme.up), d.tint(d.theme.down)
	d.look.Ahead = d.ahead
	if !d.spec.Sample && d.spec.Interval.Valid() && d.spec.Interval < market.Day1 {
		d.look.Breaks = sessionBreaks(nil, d.spec.Bars.T, d.spec.Interval.Seconds())
	}
	for i := 0; i < len(d.barTints); i++ {
		from, c := i, d.barTints[i]
		for i+1 < len(d.barTints) && d.barTints[i+1] == c {
			i++
		}
		if c.A > 0 {
			d.look.Tints = append(d.look.Tints, [3]int{from, i + 1, d.tint(c)})
		}
	}
	keys := d.keys()
	reach := d.profileReach()
	for v := range d.each {
		p := Plot{Key: keys[v.Result], Over: v.over, Pane: v.pane, Title: v.title(), Fixed: v.fixed, Digits: d.Panes[v.pane].notation.digits()}
		p.Ink = d.tint(v.color)
		if v.fixed != "" {
			p.Ink = d.tint(d.fixedColor(v))
		}
		p.Blank = v.pane > 0 && blank(v.Result)
		d.legend(&p, v)
		d.lines(&p, v)
		d.histograms(&p, v)
		d.areas(&p, v)
		d.rules(&p, v)
		d.signals(&p, v)
		d.profiles(&p, v, &reach)
		d.look.Plots = append(d.look.Plots, p)
	}
}

// keys returns the names of the results.
func (d *describer) keys() map[*ta.Result]string {
	keys := make(map[*ta.Result]string, len(d.spec.Results))
	for _, r := range d.spec.Results {
		if r.Result == nil {
			continue
		}
		keys[r.Result] = r.Name
		if r.Result.Drawn != nil && r.Result.Drawn.Over != nil {
			keys[r.Result.Drawn.Over] = r.Name
		}
	}
	return keys
}

func (d *describer) legend(p *Plot, v *shown) {
	if v.fixed != "" {
		return
	}
	for e := range d.listedValues(v) {
		of := "line"
		switch {
		case e.hist:
			of = "hist"
		case e.level:
			of = "level"
		}
		p.Legend = append(p.Legend, LegendValue{Of: of, At: e.index, Name: e.name, Ink: d.tint(e.color)})
	}
	switch {
	case !v.scripted():
		p.Words = dotWords(v.Signals)
	case v.Drawn.Problem != nil:
		p.Error = v.Drawn.Problem.Message
	}
}

func (d *describer) lines(p *Plot, v *shown) {
	var four [4]int
	candles := 0
	for k := range v.Lines {
		line := &v.Lines[k]
		if at := line.Style - ta.CandleOpen; line.Style >= ta.CandleOpen && line.Style <= ta.CandleClose && len(line.Values) == d.n {
			four[at], candles = k, candles|1<<at
		}
		look := LineLook{Form: noForm, Label: line.Label, Ink: d.tint(v.ink(k))}
		if listed(line) {
			d.line(&look, v, k)
			if _, tagged := pillRank(line.Style, v.pane); tagged && len(line.Values) >= d.n {
				look.Tag, look.Ink = true, d.tint(d.lastInk(v, k))
			}
		}
		if v.fixed != "" {
			look.Values = line.Values
		}
		p.Lines = append(p.Lines, look)
	}
	if candles == 15 && v.Overlay && v.Drawn == nil {
		p.Candle = &four
	}
}

// line writes the form and the parts of a line.
func (d *describer) line(look *LineLook, v *shown, k int) {
	line := &v.Lines[k]
	values := d.extend(line.Values, line.Ahead)
	look.Form, look.Width = lineForm, lineWidth
	if len(values) > d.n {
		look.Ahead = values[d.n:]
	}
	if v.dashed[min(k, len(v.dashed)-1)] {
		look.Dash = [2]float64{6, 3}
	}
	var parts []piece
	if paint := line.Paint; paint != nil {
		look.Width, look.Shift, look.Joined = max(paint.Width, 1), paint.Shift, paint.Joined
		parts = d.paintedParts(line.Values[:min(len(line.Values), d.n)], inkColumn{paint.Colors, v.ink(k)}, paint)
		look.Dash[0], look.Dash[1] = dashes(paint.Dash, look.Width, 1)
		switch {
		case line.Style == ta.Dots && (paint.Form == ta.Circle || look.Width < 2):
			look.Form, look.Dash = dotsForm, [2]float64{}
		case line.Style == ta.Dots:
			look.Form, look.Dash = crossForm, [2]float64{}
		case line.Style == ta.Steps:
			look.Form = stairsForm
		}
	} else {
		parts = d.lineParts(v, k, values)
		switch line.Style {
		case ta.Band:
			look.Width = bandWidth
		case ta.Dots:
			look.Form, look.Width = dotsForm, dotRadius
		case ta.Steps:
			look.Form, look.Width, look.Dash = levelsForm, 1, [2]float64{}
			if v.pane == 0 && secondary(line.Label) {
				look.Dash = [2]float64{3, 3}
			}
		default:
		}
	}
	for _, part := range parts {
		if part.color.A > 0 {
			look.Runs = append(look.Runs, [3]int{part.from, part.to, d.tint(part.color)})
		}
	}
}

func (d *describer) histograms(p *Plot, v *shown) {
	for k := range v.Hist {
		h := &v.Hist[k]
		look := HistLook{Strip: h.Style == ta.State, Base: h.Base}
		if !finite(h.Base) {
			look.Base = 0
		}
		if h.Paint != nil {
			look.Shift = h.Paint.Shift
			if h.Thin {
				look.Width = max(h.Paint.Width, 1)
			}
		}
		prev := math.NaN()
		for i, value := range h.Values[:min(len(h.Values), d.n)] {
			look.Inks = append(look.Inks, d.histInk(h, i, prev, look.Base))
			prev = value
		}
		p.Hist = append(p.Hist, look)
	}
}

// histInk returns the ink of a column, -1 for none.
func (d *describer) histInk(h *ta.Hist, i int, prev, base float64) int {
	v := h.Values[i]
	color := d.theme.border
	switch {
	case !finite(v):
		return -1
	case h.Style == ta.State:
		if v != 0 {
			color = d.sideColor(v > 0)
		}
	case h.Paint != nil:
		color = inkColumn{h.Paint.Colors, d.theme.muted}.at(i)
	default:
		color = d.histColor(h.Style, v, prev, base)
	}
	if color.A == 0 {
		return -1
	}
	return d.tint(color)
}

func (d *describer) areas(p *Plot, v *shown) {
	for k := range v.Fills {
		f := &v.Fills[k]
		look := FillLook{Fit: fits(f, v.Result)}
		if f.Paint == nil {
			above, below := d.fillColors(v, f)
			look.Above, look.Below = d.tint(above), d.tint(below)
			n := min(len(d.extend(f.Y1, f.Ahead1)), len(d.extend(f.Y2, f.Ahead2)))
			if n > d.n {
				look.Ahead1, look.Ahead2 = f.Ahead1[:n-d.n], f.Ahead2[:n-d.n]
			}
			from := 0
			for _, at := range v.Restarts {
				if at > from && at < n {
					look.Parts, from = append(look.Parts, [2]int{from, at}), at
				}
			}
			look.Parts = append(look.Parts, [2]int{from, n})
		} else {
			d.paintedArea(&look, f.Paint, min(len(f.Y1), d.n))
		}
		p.Fills = append(p.Fills, look)
	}
	if b, ok := guides(v); ok && v.pane > 0 {
		p.Band = &BandLook{From: b[0], To: b[1], Ink: d.tint(v.color.Alpha(bandFill))}
	}
}

// paintedArea writes the parts of an area that a script colours.
func (d *describer) paintedArea(look *FillLook, paint *ta.FillPaint, n int) {
	look.Shift = paint.Shift
	if paint.Top != nil {
		look.Top, look.Bottom = paint.Top, paint.Bottom
		for from := 0; from < n; {
			to := from + 1
			for to < n && paint.TopColors[to] == paint.TopColors[from] && paint.BaseColors[to] == paint.BaseColors[from] {
				to++
			}
			look.Blended = append(look.Blended, [4]int{max(from-1, 0), to, d.tint(tone(paint.TopColors[from])), d.tint(tone(paint.BaseColors[from]))})
			from = to
		}
		return
	}
	n = min(n, len(paint.Colors))
	for from := 0; from < n; {
		to := from + 1
		for to < n && paint.Colors[to] == paint.Colors[from] {
			to++
		}
		if color := tone(paint.Colors[from]); color.A > 0 {
			look.Runs = append(look.Runs, [3]int{max(from-1, 0), to, d.tint(color)})
		}
		from = to
	}
}

func (d *describer) rules(p *Plot, v *shown) {
	if p.Blank {
		return // there is no room
	}
	for _, h := range v.HLines {
		look := LevelLook{Y: h.Y, Width: 1, Ink: d.tint(d.ruleColor(h.Style, v)), Tag: d.tint(d.ruleColor(h.Style, v).Alpha(1))}
		if h.Style == ta.Secondary || h.Style == ta.Reference {
			look.Dash = [2]float64{4, 4}
		}
		if h.Look != nil {
			r := Rule{}
			r.paint(h.Look, 1)
			look.Ink, look.Width, look.Dash = d.tint(r.Color), float64(r.Thick), [2]float64{float64(r.On), float64(r.Off)}
		}
		if v.pane == 0 {
			look.Name = h.Label
		}
		p.Levels = append(p.Levels, look)
	}
	for _, s := range v.DivLines {
		if s.X1 >= 0 && s.X2 >= 0 && s.X1 < d.n && s.X2 < d.n && finite(s.Y1) && finite(s.Y2) {
			p.Divs = append(p.Divs, DivLook{s.X1, s.X2, s.Y1, s.Y2, s.Dashed, d.tint(d.sideColor(s.Bull))})
		}
	}
	if v.pane == 0 {
		return
	}
	all := newSpan()
	for _, h := range v.HLines {
		all.add(h.Y)
	}
	for k := range v.Hist {
		all.add(v.Hist[k].Base)
	}
	if v.YRange != nil && d.Panes[v.pane].span.empty() {
		all.add(v.YRange[0])
		all.add(v.YRange[1])
	}
	if !all.empty() {
		p.Extent = &[2]float64{all.lo, all.hi}
	}
}

func (d *describer) signals(p *Plot, v *shown) {
	if v.scripted() {
		return
	}
	flip := d.flipName(v)
	for _, s := range v.Signals {
		if s.X < 0 || s.X >= d.n || !finite(s.Y) {
			continue
		}
		k := lookOf(s.Label)
		color := d.sideColor(k.up)
		look := SignalLook{X: s.X, Y: s.Y, Text: k.text, Label: s.Label, Small: k.minor, Under: k.up}
		switch {
		case k.quiet, k.flip && hasStyle(v.Result, ta.CandleClose):
			continue
		case k.arrow:
			look.Form = [...]string{"down", "up"}[b2i(k.up)]
			if k.flip {
				look.Text = flip
			}
			if k.gold {
				color = d.theme.warn
			}
		case k.text != "":
			look.Form, look.Under = "word", !k.over
		case k.pattern != nil:
			look.Form, look.Text, look.Small = "candle", k.pattern.name, false
			if k.pattern.plain {
				color = d.theme.muted
			}
		default:
			look.Form = "dot"
		}
		look.Ink = d.tint(color)
		p.Marks = append(p.Marks, look)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sides has how far the profiles of each side reach together, and where the next one begins.
type profileSides struct{ reach, begin [2]float64 }

func (d *describer) profileReach() (r profileSides) {
	for v := range d.each {
		side, extent := profileExtent(v.HBars)
		r.reach[side] += extent
	}
	return r
}

func (d *describer) profiles(p *Plot, v *shown, r *profileSides) {
	side, extent := profileExtent(v.HBars)
	shrink := min(1, profilesShare/max(r.reach[side], 1e-9))
	p.Bars = d.profileBars(v, v.HBars, func(b *ta.HBar) (near, far float64) {
		return unit(r.begin[side] + b.Offset*shrink), unit(r.begin[side] + (b.Offset+b.Width)*shrink)
	})
	r.begin[side] += extent * shrink
	for _, s := range v.Profiles {
		if s.From >= 0 && s.To <= d.n && s.From < s.To {
			p.Parts = append(p.Parts, SessionLook{s.From, s.To, d.profileBars(v, s.Bars, func(b *ta.HBar) (near, far float64) {
				return 0, sessionShare * unit(b.Width)
			})})
		}
	}
}

func (d *describer) profileBars(v *shown, bars []ta.HBar, place func(*ta.HBar) (near, far float64)) (out []BarLook) {
	for b, half := range profileRows(bars) {
		if near, far := place(b); near < far {
			out = append(out, BarLook{b.Y + half, b.Y - half, near, far, b.Left, d.tint(d.profileColor(b.Style, v))})
		}
	}
	return out
}

package chart

import (
	"math"
	"slices"

	"candela/lib/chart/raster"
	"candela/lib/ta"
)

// Scripts choose their own colours, widths and shapes. Everything else about a picture stays
// the theme's.

// painted reports whether a line or histogram has colours of its own.
func painted(p *ta.Paint) bool { return p != nil && len(p.Colors) > 0 }

// paintedInk returns the last colour of a line that can be seen.
func paintedInk(p *ta.Paint) (raster.Color, bool) {
	if !painted(p) {
		return raster.Color{}, false
	}
	for _, v := range slices.Backward(p.Colors) {
		if v.Opacity() > 0 {
			return tone(v).Alpha(1), true
		}
	}
	return raster.Color{}, false
}

// shifted returns a column with its values moved to the right, over the bars and those
// ahead.
func shifted[T any](column []T, n, shift int, none T) []T {
	if shift == 0 {
		return column[:min(len(column), n)]
	}
	out := make([]T, n)
	for i := range out {
		out[i] = none
		if k := i - shift; k >= 0 && k < len(column) {
			out[i] = column[k]
		}
	}
	return out
}

// paintLine places a line of a script.
func (l *layout) paintLine(v *shown, k int) {
	line := &v.Lines[k]
	p := line.Paint
	n := l.n
	if p.Shift > 0 {
		n += l.ahead
	}
	values := shifted(line.Values, n, p.Shift, math.NaN())
	colors := shifted(p.Colors, n, p.Shift, ta.Tone(0))
	width := float64(max(p.Width, 1) * float64(l.s))
	if l.Columns.narrow(l.s) {
		width = max(float64(denseShare*width), 1)
	}
	inks := inkColumn{colors, v.ink(k)}
	if line.Style == ta.Dots {
		l.paintDots(v.pane, values, inks, p)
		return
	}
	l.paintRuns(v.pane, values, inks, paintedRun{width: width, paint: p, steps: line.Style == ta.Steps})
}

// inkColumn has the colour of each bar.
type inkColumn struct {
	tones []ta.Tone
	usual raster.Color // without tones
}

func (c inkColumn) at(i int) raster.Color {
	if i < len(c.tones) {
		return tone(c.tones[i])
	}
	return c.usual
}

// paintedRun is how a line of a script is stroked.
type paintedRun struct {
	width float64
	paint *ta.Paint
	steps bool
}

// paintRuns strokes a line in pieces of one colour.
func (l *layout) paintRuns(pane int, values []float64, inks inkColumn, run paintedRun) {
	a := &l.Panes[pane].axis
	for _, p := range l.paintedParts(values, inks, run.paint) {
		start := len(l.px)
		for i := p.from; i < p.to; i++ {
			if !finite(values[i]) {
				continue
			}
			if run.steps && len(l.px) > start {
				l.px, l.py = append(l.px, l.xs[i]), append(l.py, l.py[len(l.py)-1])
			}
			l.px, l.py = append(l.px, l.xs[i]), append(l.py, a.y(values[i]))
		}
		l.flushRun(pane, start, p.color, run)
	}
}

// paintedParts returns the parts of a script's line as lineParts does. The part that ends at a bar has the
// colour of that bar, so it begins at the bar before.
func (l *layout) paintedParts(values []float64, inks inkColumn, paint *ta.Paint) []piece {
	l.parted = l.parted[:0]
	prev, now := -1, piece{}
	flush := func() {
		if prev >= 0 {
			now.to = prev + 1
			l.parted = append(l.parted, now)
		}
	}
	for i, v := range values {
		if !finite(v) {
			if !paint.Joined {
				flush()
				prev = -1
			}
			continue
		}
		if c := inks.at(i); prev < 0 {
			now = piece{from: i, color: c}
		} else if c != now.color {
			flush()
			now = piece{from: prev, color: c}
		}
		prev = i
	}
	flush()
	return l.parted
}

// flushRun adds the line through the points from start on.
func (l *layout) flushRun(pane, start int, color raster.Color, run paintedRun) {
	switch n := len(l.px) - start; {
	case n == 0 || color.A == 0:
	case n == 1:
		l.Dots = append(l.Dots, Mark{Shape: Dot, Pane: pane, X: l.px[start], Y: l.py[start], Radius: run.width, Color: color})
	default:
		k := Stroke{From: start, To: len(l.px), Pane: pane, Width: run.width, Color: color}
		k.On, k.Off = dashes(run.paint.Dash, run.width, float64(l.s))
		l.Lines = append(l.Lines, k)
	}
}

// paintDots places a dot or a cross at each bar.
func (l *layout) paintDots(pane int, values []float64, inks inkColumn, p *ta.Paint) {
	a := &l.Panes[pane].axis
	radius := float64(max(p.Width, 1) * float64(l.s))
	radius = max(min(radius, float64(l.Columns.Step*0.45)), 0.6)
	for i, v := range values {
		color := inks.at(i)
		if !finite(v) || color.A == 0 {
			continue
		}
		x, y := l.xs[i], a.y(v)
		if p.Form == ta.Circle || radius < 2 {
			l.Dots = append(l.Dots, Mark{Shape: Dot, Pane: pane, X: x, Y: y, Radius: radius, Color: color})
			continue
		}
		arm := radius + float64(l.s)
		l.strokeFigure(pane, color, float64(l.s), 0, x-arm, y, x+arm, y)
		l.strokeFigure(pane, color, float64(l.s), 0, x, y-arm, x, y+arm)
	}
}

// paintHist places a histogram of a script.
func (l *layout) paintHist(pane int, h *ta.Hist) {
	a := &l.Panes[pane].axis
	base := h.Base
	if !finite(base) {
		base = 0
	}
	values, colors := h.Values[:min(len(h.Values), l.n)], h.Paint.Colors
	zero, move := a.row(base), int(math.Round(float64(float64(h.Paint.Shift)*l.Columns.pixelsPerBar())))
	for k := range l.Columns.N {
		from, to := l.Columns.bars(k)
		to = min(to, len(values))
		if from >= to {
			break
		}
		v := farthest(values[from:to], base)
		color := inkColumn{colors, l.theme.muted}.at(to - 1)
		if !finite(v) || color.A == 0 {
			continue
		}
		x, y, wide := l.bodyLeft(k)+move, a.row(v), l.Columns.Body
		if thick := int(max(h.Paint.Width, 1)) * l.s; h.Thin && thick < wide {
			x, wide = x+(wide-thick)/2, thick
		}
		r := Rect{x, min(y, zero), x + wide, max(y, zero)}
		if r.Y0 == r.Y1 {
			r.Y0--
		}
		l.Volume = append(l.Volume, Box{r, pane, color})
	}
}

// paintFill places an area of a script.
func (l *layout) paintFill(v *shown, f *ta.Fill) {
	p := f.Paint
	n := l.n
	if p.Shift > 0 {
		n += l.ahead
	}
	none := math.NaN()
	y1, y2 := shifted(f.Y1, n, p.Shift, none), shifted(f.Y2, n, p.Shift, none)
	if p.Top != nil {
		l.gradient(v, gradient{
			y1: y1, y2: y2, top: shifted(p.Top, n, p.Shift, none), bottom: shifted(p.Bottom, n, p.Shift, none),
			topColors: shifted(p.TopColors, n, p.Shift, 0), baseColors: shifted(p.BaseColors, n, p.Shift, 0),
		})
		return
	}
	colors := shifted(p.Colors, n, p.Shift, ta.Tone(0))
	n = min(len(y1), len(y2), len(colors))
	for from := 0; from < n; {
		to := from + 1
		for to < n && colors[to] == colors[from] {
			to++
		}
		if color := tone(colors[from]); color.A > 0 {
			l.area(Area{Pane: v.pane, Color: color, Below: color}, y1, y2, max(from-1, 0), to)
		}
		from = to
	}
}

// gradient is an area whose colour changes with the value.
type gradient struct {
	y1, y2, top, bottom   []float64
	topColors, baseColors []ta.Tone
}

// gradientSteps is the number of colours that a gradient is drawn with.
const gradientSteps = 12

// gradient draws the area as strips, each of one colour.
func (l *layout) gradient(v *shown, g gradient) {
	n := min(len(g.y1), len(g.y2), len(g.top), len(g.bottom), len(g.topColors), len(g.baseColors))
	low, high := make([]float64, n), make([]float64, n)
	for from := 0; from < n; {
		to := from + 1
		for to < n && g.topColors[to] == g.topColors[from] && g.baseColors[to] == g.baseColors[from] {
			to++
		}
		for step := range gradientSteps {
			g.strip(step, from, to, low, high)
			part := (float64(step) + 0.5) / gradientSteps
			color := mixed(tone(g.topColors[from]), tone(g.baseColors[from]), part)
			if color.A > 0 {
				l.area(Area{Pane: v.pane, Color: color, Below: color}, high, low, max(from-1, 0), to)
			}
		}
		from = to
	}
}

// strip computes the edges of a strip over the bars [from, to) and the one before. The
// first and the last strip reach to the edges of the area.
func (g *gradient) strip(step, from, to int, low, high []float64) {
	for i := max(from-1, 0); i < to; i++ {
		lo, hi := min(g.y1[i], g.y2[i]), max(g.y1[i], g.y2[i])
		top, bottom := max(g.top[i], g.bottom[i]), min(g.top[i], g.bottom[i])
		size := (top - bottom) / gradientSteps
		high[i], low[i] = top-float64(float64(step)*size), top-float64(float64(step+1)*size)
		if step == 0 {
			high[i] = hi
		}
		if step == gradientSteps-1 {
			low[i] = lo
		}
		high[i], low[i] = min(max(high[i], lo), hi), min(max(low[i], lo), hi)
	}
}

// mixed returns the colour between two, the first at 0 and the second at 1.
func mixed(a, b raster.Color, part float64) raster.Color {
	mix := func(x, y uint8) uint8 {
		return uint8(math.Round(float64(x) + float64(part*(float64(y)-float64(x)))))
	}
	return raster.Color{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: mix(a.A, b.A)}
}

// drawTints places what colours the ground, and notes the colours of bars.
func (l *layout) drawTints() {
	for v := range l.each {
		if v.Drawn == nil {
			continue
		}
		for _, t := range v.Drawn.Tints {
			from, to := max(t.From, 0), min(t.To, l.n-1)
			if from > to {
				continue
			}
			if t.Bars {
				l.tintBars(from, to, tone(t.Color))
				continue
			}
			r, per := l.Panes[v.pane].Rect, l.Columns.pixelsPerBar()
			r.X0 = int(math.Round(l.Columns.Left + float64(float64(from)*per)))
			r.X1 = int(math.Round(l.Columns.Left + float64(float64(to+1)*per)))
			l.Profile = append(l.Profile, Box{r, v.pane, tone(t.Color)})
		}
	}
}

func (l *layout) tintBars(from, to int, color raster.Color) {
	if len(l.barTints) == 0 {
		l.barTints = append(l.barTints, make([]raster.Color, l.n)...)
	}
	for i := from; i <= to; i++ {
		l.barTints[i] = color
	}
}

// candleColor is the colour of column k: a script's, or that of the side.
func (l *layout) candleColor(k int, up bool) raster.Color {
	if len(l.barTints) > 0 {
		if _, to := l.Columns.bars(k); l.barTints[to-1].A > 0 {
			return l.barTints[to-1]
		}
	}
	return l.sideColor(up)
}

// scripted reports whether a result was drawn by a script.
func (v *shown) scripted() bool { return v.Drawn != nil }

// drawPaintedCandles places the candles that scripts draw, in the pane of each.
func (l *layout) drawPaintedCandles() {
	for v := range l.each {
		if !v.scripted() {
			continue
		}
		for k := 0; k+3 < len(v.Lines); k++ {
			if v.Lines[k].Style == ta.CandleOpen && v.Lines[k+3].Style == ta.CandleClose {
				l.paintCandles(v, v.Lines[k:k+4])
			}
		}
	}
}

// paintCandles places candles whose four lines stand in the order open, high, low, close.
// The paints of open, high and low have the colours of body, wick and border.
func (l *layout) paintCandles(v *shown, four []ta.Line) {
	a := &l.Panes[v.pane].axis
	for k := range l.Columns.N {
		_, to := l.Columns.bars(k)
		i := to - 1
		o, h, low, c := four[0].Values[i], four[1].Values[i], four[2].Values[i], four[3].Values[i]
		if !finite(o) || !finite(h) || !finite(low) || !finite(c) {
			continue
		}
		ink := func(line *ta.Line) raster.Color {
			if line.Paint != nil && i < len(line.Paint.Colors) {
				return tone(line.Paint.Colors[i])
			}
			return l.sideColor(c >= o)
		}
		x, wick := l.bodyLeft(k), l.Columns.wickLeft(k)
		body := Rect{x, a.row(max(o, c)), x + l.Columns.Body, a.row(min(o, c))}
		body.Y1 = max(body.Y1, body.Y0+l.bodyMin())
		for _, box := range []Box{
			{Rect{wick, a.row(h), wick + l.Columns.Wick, max(a.row(low), a.row(h)+1)}, v.pane, ink(&four[1])},
			{body, v.pane, ink(&four[2])},
			{Rect{body.X0 + l.s, body.Y0 + l.s, body.X1 - l.s, body.Y1 - l.s}, v.pane, ink(&four[0])},
		} {
			l.figure(Figure{Kind: BoxFigure, Pane: v.pane, Color: box.Color, Rect: box.Rect})
		}
	}
}

// shapesAhead is how many bars after the last one the shapes and lines of a script reach.
func (l *layout) shapesAhead(v *shown) int {
	if !v.scripted() {
		return 0
	}
	ahead := 0
	for i := range v.Lines {
		if p := v.Lines[i].Paint; p != nil {
			ahead = max(ahead, p.Shift)
		}
	}
	for i := range v.Drawn.Shapes {
		for _, p := range v.Drawn.Shapes[i].Points {
			ahead = max(ahead, p.X-l.n+1)
		}
	}
	return ahead
}

// spanShapes adds the points of shapes within the bars to the range of a pane, if they
// are near.
func (l *layout) spanShapes(r *span, pane int, near span) {
	for v := range l.each {
		if v.pane != pane || !v.scripted() {
			continue
		}
		for i := range v.Drawn.Shapes {
			for _, p := range v.Drawn.Shapes[i].Points {
				if p.X >= 0 && p.X < l.n+l.ahead {
					r.addWithin(p.Y, near)
				}
			}
		}
		for i := range v.Drawn.Marks {
			if m := &v.Drawn.Marks[i]; m.Place == ta.AtValue {
				r.addWithin(m.Y, near)
			}
		}
	}
}

// problem writes why a script ended before the last bar.
func (l *layout) problem(v *shown) {
	p := v.Drawn.Problem
	if p == nil {
		return
	}
	text := []rune(p.Message)
	if len(text) > 100 {
		text = append(text[:100], '\u2026')
	}
	l.add(v.pane, string(text), l.theme.warn, gapValue)
}

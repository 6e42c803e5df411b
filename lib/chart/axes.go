package chart

import "math"

// Shares of the picture's width.
const (
	namesShare = 0.065 // for the names beside the values of the axis
	gutterMost = 0.34  // for an axis with names

	shortNames = 36 // logical pixels that names may take in any case
)

// chooseTicks finds the values to mark on each axis: first the levels of a panel, then
// round numbers, the denser the less room the pills leave. Where pills leave room for
// fewer than minLabels even so, they give way: in a panel, whose legend has the same
// values, before the ticks become uneven.
func (l *layout) chooseTicks() {
	for i := range l.Panes {
		p := &l.Panes[i]
		if p.span.empty() {
			continue // without values there is nothing to measure
		}
		for l.markEven(i, p) < minLabels {
			if i > 0 && l.dropPill(i) {
				continue
			}
			if l.markUneven(i, p) >= minLabels || !l.dropPill(i) {
				break
			}
		}
	}
}

// markEven sets the ticks of a pane to its levels or to even steps and returns how many
// of them have a label.
func (l *layout) markEven(pane int, p *Pane) (labels int) {
	levels, decimals := l.levelTicks(pane, p, labelPitches[0], maxTicks)
	if dense := p.Rect.height() <= len(levels)*2*tickGaps[0].gap*l.s; dense && len(levels) >= 2 {
		if labels = l.markTicks(pane, p, levels, decimals); labels >= minLabels {
			return labels
		}
	}
	whole := l.wholeAxis(pane, p)
	for _, try := range tickGaps {
		values, d := tickValues(levels, &whole, float64(try.gap*l.s), try.steps)
		l.values = values[:0]
		if labels = l.markTicks(pane, p, values, max(d, decimals)); labels >= minLabels {
			return labels
		}
	}
	return labels
}

// markUneven sets the ticks of a pane to round values wherever there is room for a label.
func (l *layout) markUneven(pane int, p *Pane) (labels int) {
	whole := l.wholeAxis(pane, p)
	free := func(v float64) bool { return !l.covered(pane, p, p.axis.row(v)) }
	for _, levels := range [...]int{minLabels, 0} { // a panel keeps its levels if it can
		for _, pitch := range labelPitches {
			given, decimals := l.levelTicks(pane, p, pitch, levels)
			most := minLabels
			for _, v := range given {
				if free(v) {
					most--
				}
			}
			values, d := fillTicks(given, &whole, float64(pitch*l.s), most, free)
			l.values = values[:0]
			if labels = l.markTicks(pane, p, values, max(d, decimals)); labels >= minLabels {
				return labels
			}
		}
	}
	return labels
}

// wholeAxis is the axis of a pane with its margins, within the bounds of its indicator.
func (l *layout) wholeAxis(pane int, p *Pane) axis {
	whole := p.whole()
	if bounds := l.bounds(pane); bounds != nil {
		whole = whole.within(bounds)
	}
	return whole
}

// bounds returns the bounds of the indicator in a pane, nil if it has none.
func (l *layout) bounds(pane int) *[2]float64 {
	for v := range l.each {
		if v.pane == pane && pane > 0 {
			return v.YRange
		}
	}
	return nil
}

// levelTicks returns the first levels of a panel, up to most, that are pitch logical
// pixels apart, and the decimals they need.
func (l *layout) levelTicks(pane int, p *Pane, pitch, most int) (levels []float64, decimals int) {
	levels = l.values[:0]
	for v := range l.each {
		if v.pane != pane || pane == 0 {
			continue
		}
		for _, h := range v.HLines {
			if finite(h.Y) && len(levels) < most && p.axis.apart(h.Y, levels, float64(pitch*l.s)) {
				levels = append(levels, h.Y)
				decimals = max(decimals, priceNotation(levels[len(levels)-1:]).shortest(h.Y))
			}
		}
	}
	return levels, decimals
}

// markTicks turns values into the ticks of a pane and returns how many of them have a
// label: a tick has none where a pill or an edge of the pane would touch it.
func (l *layout) markTicks(pane int, p *Pane, values []float64, decimals int) (labels int) {
	p.Ticks = p.Ticks[:0]
	n := p.notation.ticks(values, decimals)
	for _, v := range values {
		y := p.axis.row(v)
		if y < p.Rect.Y0+4*l.s || y >= p.Rect.Y1-4*l.s {
			continue // a grid line beside the border would look like a second one
		}
		if pane == 0 && v < 0 && p.span.lo >= 0 {
			continue // no price is there
		}
		text := "0" // whatever the decimals of the others
		if v != 0 {
			text = n.text(v)
		}
		t := Tick{Value: v, Y: y, Text: text, Hidden: l.covered(pane, p, y)}
		if !t.Hidden {
			labels++
		}
		p.Ticks = append(p.Ticks, t)
	}
	return labels
}

// covered reports whether a label at row y of an axis would touch a pill or an edge.
func (l *layout) covered(pane int, p *Pane, y int) bool {
	top, bottom := y-5*l.s, y+6*l.s
	if top < p.Rect.Y0+l.s || bottom > p.Rect.Y1-l.s {
		return true
	}
	half := pillHeight * l.s / 2
	for i := range l.Pills {
		if k := &l.Pills[i]; k.Pane == pane && k.y-half < bottom && k.y+half > top {
			return true
		}
	}
	return false
}

// placeAxis sets the width of the value axis: that of its widest number and of the
// names beside it, as far as the picture has room for names.
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
	l.valueWidth = widest
	width := int(math.Ceil(widest)) + axisPadding*l.s
	room := min(l.nameRoom(), float64(gutterMost*float64(l.Width))-float64(width+gapPill*l.s))
	if names := l.namePills(room); names > 0 {
		width += int(math.Ceil(names)) + gapPill*l.s
	}
	l.axisX = max(l.Width-width, l.Width/3)
	for i := range l.Panes {
		l.Panes[i].Rect.X1 = l.axisX
	}
	l.Plot = Rect{0, 0, l.axisX, l.Height - timeAxisHeight*l.s}
}

// nameRoom is the width that names beside the values of the axis may take.
func (l *layout) nameRoom() float64 {
	return max(float64(namesShare*float64(l.Width)), float64(shortNames*l.s))
}

// countAhead finds how many bars after the last one lines and drawings reach.
func (l *layout) countAhead() {
	ahead := l.drawnAhead()
	for v := range l.each {
		for k := range v.Lines {
			ahead = max(ahead, len(v.Lines[k].Ahead))
		}
		ahead = max(ahead, min(l.shapesAhead(v), mostAhead))
	}
	l.ahead = min(ahead, max(mostAhead, l.n/2))
}

// placeColumns places the bars and those ahead of them.
func (l *layout) placeColumns() {
	l.ahead = max(l.ahead, l.captionsAhead())
	l.Columns = newColumns(l.n, l.ahead, l.axisX, l.s)
	for i := range l.n + l.ahead {
		l.xs = append(l.xs, l.Columns.x(i))
	}
}

// mostAhead is how many bars ahead are drawn in any case, and then half of the bars.
const mostAhead = 30

// extend returns values of the bars and of those ahead as one column.
func (l *layout) extend(values, ahead []float64) []float64 {
	values = values[:min(len(values), l.n)]
	if len(ahead) == 0 || len(values) < l.n {
		return values
	}
	from := len(l.joined)
	l.joined = append(append(l.joined, values...), ahead[:min(len(ahead), l.ahead)]...)
	return l.joined[from:]
}

// placeTimeTicks marks the time axis and draws the grid of every pane.
func (l *layout) placeTimeTicks() {
	per, gap := l.Columns.pixelsPerBar(), float64(timeTickGap*l.s)
	if l.spec.Sample {
		l.ticks = indexTicks(l.ticks[:0], l.n, per, gap)
	} else {
		l.ticks, l.cal = timeTicks(l.ticks[:0], l.spec.Bars.T, per, gap, l.cal)
	}
	l.labelTimes()
	l.drawBreaks()
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
}

// labelTimes writes the labels of the time axis. A tick whose label would be cut at an
// edge is removed with its grid line.
func (l *layout) labelTimes() {
	kept := l.ticks[:0]
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
		kept = append(kept, t)
		l.Labels = append(l.Labels, Label{X: x, Width: w, Baseline: l.Plot.Y1 + 20*l.s, Text: t.text, Face: face, Color: color})
	}
	l.ticks = kept
}

// labelTicks writes the labels of the value axes.
func (l *layout) labelTicks() {
	for i := range l.Panes {
		for _, t := range l.Panes[i].Ticks {
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

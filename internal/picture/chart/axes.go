package chart

import "math"

// placeAxis sets the width of the value axis, that of its widest label, and with it
// the width of the plot.
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
	per, gap := l.Columns.pixelsPerBar(), float64(timeTickGap*l.s)
	if l.spec.Sample {
		l.ticks = indexTicks(l.ticks[:0], l.n, per, gap)
	} else {
		l.ticks, l.cal = timeTicks(l.ticks[:0], l.spec.Bars.T, per, gap, l.cal)
	}
	l.labelTimes()
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

// labelTicks writes the ticks that neither a pill nor an edge of the pane touches.
func (l *layout) labelTicks() {
	for i := range l.Panes {
		p := &l.Panes[i]
		for k := range p.Ticks {
			t := &p.Ticks[k]
			top, bottom := t.Y-4*l.s, t.Y+5*l.s
			t.Hidden = top < p.Rect.Y0+3*l.s || bottom > p.Rect.Y1-3*l.s
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

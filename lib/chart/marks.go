package chart

import (
	"math"

	"candela/lib/chart/raster"
	"candela/lib/ta"
)

// Sizes of a script's marks, in logical pixels.
const (
	markGap  = 6 // from a bar to its first mark
	markTail = 3 // between marks of one bar
)

// radiusOf returns half the width of a mark in logical pixels.
func radiusOf(s ta.Size) float64 {
	return [...]float64{4.5, 3, 4, 5.5, 8, 11}[min(s, ta.Huge)]
}

// faceOf returns the face of a text.
func faceOf(s ta.Size) Face {
	if s == ta.Large || s == ta.Huge {
		return Title
	}
	return Small
}

// stack is how much room over and under each bar is taken by marks.
type stack struct{ over, under []float64 }

// drawMarks places the signs of scripts.
func (l *layout) drawMarks() {
	for v := range l.each {
		if !v.scripted() || len(v.Drawn.Marks) == 0 {
			continue
		}
		taken := stack{make([]float64, l.n), make([]float64, l.n)}
		for i := range v.Drawn.Marks {
			if m := &v.Drawn.Marks[i]; m.X >= 0 && m.X < l.n+l.ahead {
				l.mark(v.pane, m, &taken)
			}
		}
	}
}

// mark places a sign and its text: over or under its bar, at an edge of the pane, or at
// its value.
func (l *layout) mark(pane int, m *ta.Mark, taken *stack) {
	s := float64(l.s)
	radius := float64(radiusOf(m.Size) * s)
	text := l.measure(m.Text, faceOf(m.Size), l.s)
	height := float64(2 * radius)
	grounded := m.Form == ta.LabelUp || m.Form == ta.LabelDown
	if m.Text != "" && (grounded || m.Form == ta.NoForm) {
		height = float64((capHeight + 6) * l.s)
	} else if m.Text != "" {
		height += float64((capHeight + 4) * l.s)
	}
	top := l.markTop(pane, m, height, taken)
	x := l.Columns.x(m.X)
	if pane == 0 {
		half := max(radius, text/2+float64(4*s))
		l.takeRoom(x-half, top, x+half, top+height)
	}
	switch {
	case m.Form == ta.NoForm:
		l.markText(pane, m, x, text, top+float64((capHeight+3)*l.s), m.Ink)
	case grounded && m.Text != "":
		l.groundedMark(pane, m, x, top, height, text)
	default:
		middle := top + radius
		if over := m.Place == ta.AboveBar || m.Place == ta.AtBottom; over && m.Text != "" {
			l.markText(pane, m, x, text, top+float64((capHeight+1)*l.s), m.Ink)
			middle = top + height - radius
		} else if m.Text != "" {
			l.markText(pane, m, x, text, top+height, m.Ink)
		}
		l.form(pane, m.Form, x, middle, radius, tone(m.Color))
	}
}

// markTop returns the upper edge of a mark with that height, and takes its room.
func (l *layout) markTop(pane int, m *ta.Mark, height float64, taken *stack) float64 {
	s := float64(l.s)
	r, a := l.Panes[pane].Rect, &l.Panes[pane].axis
	place := m.Place
	if pane > 0 || m.X >= l.n { // a panel has no bars
		switch place {
		case ta.AboveBar:
			place = ta.AtTop
		case ta.BelowBar:
			place = ta.AtBottom
		case ta.AtTop, ta.AtBottom, ta.AtValue:
		}
	}
	top, bottom := float64(r.Y0+panelLegend*l.s), float64(r.Y1-4*l.s)
	if pane == 0 {
		top = float64(l.legendEnd(l.rows))
	}
	if place == ta.AtValue {
		return a.y(m.Y) - height/2
	}
	over := place == ta.AboveBar || place == ta.AtTop
	room := &taken.under[min(m.X, l.n-1)]
	if over {
		room = &taken.over[min(m.X, l.n-1)]
	}
	used := *room
	*room += height + float64(markTail*s)
	gap := float64(markGap*s) + used
	switch place {
	case ta.AboveBar:
		return max(l.anchor(pane, m.X, m.Y, false)-gap-height, top)
	case ta.BelowBar:
		return min(l.anchor(pane, m.X, m.Y, true)+gap, bottom-height)
	case ta.AtTop:
		return top + used
	default:
		return bottom - used - height
	}
}

// markText writes the text of a mark in the middle of x.
func (l *layout) markText(pane int, m *ta.Mark, x, width, baseline float64, ink ta.Tone) {
	if l.texts >= maxText {
		return
	}
	l.texts++
	color := tone(ink)
	if color.A == 0 {
		color = tone(m.Color)
	}
	l.textFigure(pane, Label{
		X: math.Floor(x - width/2 + 0.5), Width: width, Baseline: int(baseline), Text: m.Text, Face: faceOf(m.Size), Color: color,
	})
}

// groundedMark writes a text on a ground with a point toward the bar.
func (l *layout) groundedMark(pane int, m *ta.Mark, x, top, height, width float64) {
	s := float64(l.s)
	color := tone(m.Color)
	half := width/2 + float64(4*s)
	l.figure(Figure{Kind: RoundFigure, Pane: pane, Color: color, X: [3]float64{x - half, x + half}, Y: [3]float64{top, top + height}, Radius: float64(2.5 * s)})
	edge, tip := top+height, top+height+float64(4*s)
	if m.Form == ta.LabelUp {
		edge, tip = top, top-float64(4*s)
	}
	l.figure(Figure{Kind: TriangleFigure, Pane: pane, Color: color, X: [3]float64{x - float64(4*s), x + float64(4*s), x}, Y: [3]float64{edge, edge, tip}})
	ink := m.Ink
	if ink.Opacity() == 0 || ink == m.Color {
		ink = toneOf(onPill(color))
	}
	l.markText(pane, m, x, width, top+float64((capHeight+3)*l.s), ink)
}

// toneOf is the inverse of tone.
func toneOf(c raster.Color) ta.Tone {
	return ta.Tone(uint32(c.R)<<24 | uint32(c.G)<<16 | uint32(c.B)<<8 | uint32(c.A))
}

// form draws a sign around a point.
func (l *layout) form(pane int, form ta.Form, x, y, r float64, color raster.Color) {
	s := float64(l.s)
	triangle := func(x0, y0, x1, y1, x2, y2 float64) {
		l.figure(Figure{Kind: TriangleFigure, Pane: pane, Color: color, X: [3]float64{x0, x1, x2}, Y: [3]float64{y0, y1, y2}})
	}
	box := func(x0, y0, x1, y1 float64) {
		l.figure(Figure{Kind: RoundFigure, Pane: pane, Color: color, X: [3]float64{x0, x1}, Y: [3]float64{y0, y1}})
	}
	thick := max(float64(r/4), s)
	switch form {
	case ta.TriangleUp, ta.LabelUp:
		triangle(x, y-r, x-r, y+r, x+r, y+r)
	case ta.TriangleDown, ta.LabelDown:
		triangle(x, y+r, x-r, y-r, x+r, y-r)
	case ta.ArrowUp:
		triangle(x, y-r, x-r, y, x+r, y)
		box(x-thick, y, x+thick, y+r)
	case ta.ArrowDown:
		triangle(x, y+r, x-r, y, x+r, y)
		box(x-thick, y-r, x+thick, y)
	case ta.Circle:
		l.figure(Figure{Kind: CircleFigure, Pane: pane, Color: color, X: [3]float64{x}, Y: [3]float64{y}, Radius: r})
	case ta.Square:
		box(x-r, y-r, x+r, y+r)
	case ta.Diamond:
		l.polygon(pane, color, []float64{x, x + r, x, x - r}, []float64{y - r, y, y + r, y})
	case ta.Flag:
		box(x-r, y-r, x-r+float64(s), y+r)
		triangle(x-r, y-r, x+r, y-r/2, x-r, y)
	case ta.XCross:
		l.strokeFigure(pane, color, float64(2*thick), 0, x-r, y-r, x+r, y+r)
		l.strokeFigure(pane, color, float64(2*thick), 0, x-r, y+r, x+r, y-r)
	case ta.Cross:
		l.strokeFigure(pane, color, float64(2*thick), 0, x-r, y, x+r, y)
		l.strokeFigure(pane, color, float64(2*thick), 0, x, y-r, x, y+r)
	case ta.NoForm:
	}
}

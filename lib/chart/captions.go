package chart

import (
	"math"

	"candela/lib/ta"
)

// caption places a label of a script: a text on a ground that points at a bar and value.
func (l *layout) caption(pane int, s *ta.Shape) {
	p := s.Points[0]
	x, y := l.place(pane, p)
	if pane == 0 && p.X >= 0 && p.X < l.n && s.Place != ta.AtValue {
		y = l.anchor(0, p.X, p.Y, s.Place == ta.BelowBar)
	} else if !finite(p.Y) {
		return
	}
	r := l.Panes[pane].Rect
	if x < float64(r.X0-200*l.s) || x > float64(r.X1+200*l.s) || y < float64(r.Y0-200*l.s) || y > float64(r.Y1+200*l.s) {
		return
	}
	if s.Pointer == ta.Sign {
		l.signCaption(pane, s, x, y)
		return
	}
	pad := float64(captionPad * l.s)
	rows, w, h := l.captionSize(s)
	left, top := captionCorner(s, x, y, w, h, float64(captionPoint*l.s))
	l.takeRoom(left, top, left+w, top+h)
	if s.Pointer != ta.Bare {
		l.captionGround(pane, s, x, y, [4]float64{left, top, left + w, top + h})
	}
	l.captionText(pane, s, rows, left+pad, top, w-float64(2*pad))
}

// takeRoom keeps the tags of prices away from what a script draws.
func (l *layout) takeRoom(x0, y0, x1, y1 float64) {
	if l.texts < maxText {
		l.boxes = append(l.boxes, Rect{int(x0), int(y0), int(math.Ceil(x1)), int(math.Ceil(y1))})
	}
}

// captionSize returns the rows of a caption and the size of its ground.
func (l *layout) captionSize(s *ta.Shape) (rows []string, w, h float64) {
	if s.Text == "" {
		return textRows(""), float64(9 * l.s), float64(9 * l.s)
	}
	rows, face := textRows(s.Text), faceOf(s.Size)
	for _, row := range rows {
		w = max(w, l.measure(row, face, l.s))
	}
	pad := float64(captionPad * l.s)
	return rows, w + float64(2*pad), float64(len(rows)*l.pitch(face)) + pad
}

// captionShare is the part of the picture that may be left free for captions at the right.
const captionShare = 0.2

// captionsAhead is how many bars of room captions near the last bar need to be read whole.
func (l *layout) captionsAhead() int {
	columns := newColumns(l.n, l.ahead, l.axisX, l.s)
	over := 0.0 // how far they reach over the edge
	for v := range l.each {
		if !v.scripted() {
			continue
		}
		for i := range v.Drawn.Shapes {
			s := &v.Drawn.Shapes[i]
			if s.Kind != ta.Caption || s.Text == "" || len(s.Points) == 0 || s.Points[0].X < 0 || s.Points[0].X >= l.n+l.ahead {
				continue
			}
			x := columns.x(s.Points[0].X)
			_, w, h := l.captionSize(s)
			left, _ := captionCorner(s, x, 0, w, h, float64(captionPoint*l.s))
			over = max(over, left+w-float64(l.axisX))
		}
	}
	if over = min(over, float64(captionShare*float64(l.axisX))); over <= 0 || columns.Step <= 0 {
		return 0
	}
	bars := float64(over/columns.Step*float64(columns.Per)) * float64(l.axisX) / (float64(l.axisX) - over)
	return min(l.ahead+int(math.Ceil(bars)), max(mostAhead, l.n/2))
}

// captionHead is the part of the price pane that captions may take at its top.
const captionHead = 0.2

// captionRoom returns the top of the price axis, lowered so that captions over bars stand below the
// legend.
func (l *layout) captionRoom(a axis) float64 {
	highest := a.top + float64(captionHead*float64(l.Panes[0].Rect.height()))
	free, top := float64(l.legendEnd(l.rows)), a.top
	for v := range l.each {
		if v.pane > 0 || !v.scripted() {
			continue
		}
		for i := range v.Drawn.Shapes {
			s := &v.Drawn.Shapes[i]
			if s.Kind != ta.Caption || s.Pointer != ta.PointDown || len(s.Points) == 0 {
				continue
			}
			value := s.Points[0].Y
			if x := s.Points[0].X; x >= 0 && x < l.n && s.Place == ta.AboveBar {
				value = l.candles.h[x]
			}
			part := (a.b - a.bottom + float64(a.a*a.f(value))) / (a.top - a.bottom) // of the axis
			if !(part > 0.5 && part <= 1) {
				continue
			}
			_, _, h := l.captionSize(s)
			top = max(top, a.bottom-(a.bottom-free-h-float64((captionPoint+4)*l.s))/part)
		}
	}
	return min(top, highest)
}

// captionCorner returns the upper left corner of a caption's ground.
func captionCorner(s *ta.Shape, x, y, w, h, point float64) (left, top float64) {
	switch s.Pointer {
	case ta.PointUp:
		return x - w/2, y + point
	case ta.PointLeft:
		return x + point, y - h/2
	case ta.PointRight:
		return x - point - w, y - h/2
	case ta.Centered, ta.Bare, ta.Sign:
		return x - w/2, y - h/2
	case ta.PointDown:
	}
	return x - w/2, y - point - h
}

// captionGround draws the ground of a caption and its point.
func (l *layout) captionGround(pane int, s *ta.Shape, x, y float64, g [4]float64) {
	color, half := tone(s.Color), float64(4*l.s)
	l.figure(Figure{Kind: RoundFigure, Pane: pane, Color: color, X: [3]float64{g[0], g[2]}, Y: [3]float64{g[1], g[3]}, Radius: float64(3 * l.s)})
	tip := Figure{Kind: TriangleFigure, Pane: pane, Color: color}
	switch s.Pointer {
	case ta.PointDown:
		tip.X, tip.Y = [3]float64{x - half, x + half, x}, [3]float64{g[3], g[3], y}
	case ta.PointUp:
		tip.X, tip.Y = [3]float64{x - half, x + half, x}, [3]float64{g[1], g[1], y}
	case ta.PointLeft:
		tip.X, tip.Y = [3]float64{g[0], g[0], x}, [3]float64{y - half, y + half, y}
	case ta.PointRight:
		tip.X, tip.Y = [3]float64{g[2], g[2], x}, [3]float64{y - half, y + half, y}
	case ta.Centered, ta.Bare, ta.Sign:
		return
	}
	l.figure(tip)
}

// captionText writes the rows of a caption.
func (l *layout) captionText(pane int, s *ta.Shape, rows []string, left, top, width float64) {
	if s.Text == "" || l.texts >= maxText {
		return
	}
	l.texts++
	face, color := faceOf(s.Size), tone(s.Ink)
	pitch := l.pitch(face)
	for i, row := range rows {
		w := l.measure(row, face, l.s)
		x := left + (width-w)/2
		switch s.Side {
		case ta.Start:
			x = left
		case ta.End:
			x = left + width - w
		case ta.Middle:
		}
		l.textFigure(pane, Label{X: math.Floor(x + 0.5), Width: w, Baseline: int(top) + (i+1)*pitch - l.s, Text: row, Face: face, Color: color})
	}
}

// signCaption places a label that is a sign with its text over or under it.
func (l *layout) signCaption(pane int, s *ta.Shape, x, y float64) {
	radius := float64(radiusOf(s.Size) * float64(l.s))
	switch s.Place {
	case ta.AboveBar:
		y -= radius + float64(4*l.s)
	case ta.BelowBar:
		y += radius + float64(4*l.s)
	default:
	}
	l.form(pane, s.Form, x, y, radius, tone(s.Color))
	rows, face := textRows(s.Text), faceOf(s.Size)
	pitch := l.pitch(face)
	top := int(y-radius) - len(rows)*pitch
	if s.Place == ta.BelowBar {
		top = int(y + radius)
	}
	width := 0.0
	for _, row := range rows {
		width = max(width, l.measure(row, face, l.s))
	}
	l.captionText(pane, s, rows, x-width/2, float64(top), width)
}

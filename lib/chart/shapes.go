package chart

import (
	"math"
	"strings"

	"candela/lib/chart/raster"
	"candela/lib/ta"
)

// Sizes of a script's shapes, in logical pixels.
const (
	captionPad   = 5
	captionPoint = 6
	arrowHead    = 8
	mostLines    = 40 // rows of one text
)

// drawShapes places the lines, boxes, paths and labels of scripts: areas first, texts
// last.
func (l *layout) drawShapes() {
	for v := range l.each {
		if !v.scripted() {
			continue
		}
		for _, kinds := range [...][]ta.ShapeKind{{ta.Between, ta.Rectangle}, {ta.Path, ta.Segment}, {ta.Caption}} {
			for i := range v.Drawn.Shapes {
				if s := &v.Drawn.Shapes[i]; len(s.Points) > 0 && (s.Kind == kinds[0] || s.Kind == kinds[len(kinds)-1]) {
					l.shape(v.pane, s)
				}
			}
		}
	}
}

func (l *layout) shape(pane int, s *ta.Shape) {
	switch s.Kind {
	case ta.Segment:
		l.scriptSegment(pane, s)
	case ta.Rectangle:
		l.scriptBox(pane, s)
	case ta.Caption:
		l.caption(pane, s)
	case ta.Path:
		l.path(pane, s)
	case ta.Between:
		l.between(pane, s)
	}
}

// place returns the device position of a point, which may lie far outside the picture.
func (l *layout) place(pane int, p ta.Point) (x, y float64) {
	a := &l.Panes[pane].axis
	v := p.Y
	if a.log && v <= 0 {
		v = a.lo / 1e3
	}
	y = sixtyFourth(float64(a.a*a.f(v)) + a.b)
	return l.Columns.x(p.X), min(max(y, -1e6), 1e6)
}

// strokeWidth is the width of a script's line in device pixels.
func (l *layout) strokeWidth(s *ta.Shape) float64 {
	return float64(min(max(s.Width, 1), 20) * l.s)
}

// extended returns a segment that goes on to the edges of the pane.
func (l *layout) extended(pane int, seg segment, e ta.Extend) segment {
	if seg.x0 > seg.x1 {
		seg = segment{seg.x1, seg.y1, seg.x0, seg.y0}
	}
	r := l.Panes[pane].Rect
	if seg.x0 == seg.x1 {
		if e != 0 && seg.y0 != seg.y1 {
			seg.y0, seg.y1 = float64(r.Y0-64), float64(r.Y1+64)
		}
		return seg
	}
	slope := (seg.y1 - seg.y0) / (seg.x1 - seg.x0)
	if left := float64(r.X0 - 64); e&ta.ExtendLeft != 0 && left < seg.x0 {
		seg.x0, seg.y0 = left, seg.y0+float64(slope*(left-seg.x0))
	}
	if right := float64(r.X1 + 64); e&ta.ExtendRight != 0 && right > seg.x1 {
		seg.x1, seg.y1 = right, seg.y1+float64(slope*(right-seg.x1))
	}
	return seg
}

func (l *layout) scriptSegment(pane int, s *ta.Shape) {
	if len(s.Points) < 2 {
		return
	}
	x0, y0 := l.place(pane, s.Points[0])
	x1, y1 := l.place(pane, s.Points[1])
	if !finite(s.Points[0].Y) || !finite(s.Points[1].Y) {
		return
	}
	color, width := tone(s.Color), l.strokeWidth(s)
	l.scriptStroke(pane, l.extended(pane, segment{x0, y0, x1, y1}, s.Extend), color, width, s.Dash)
	if s.Arrow&ta.ExtendLeft != 0 {
		l.arrowTip(pane, segment{x1, y1, x0, y0}, color, width)
	}
	if s.Arrow&ta.ExtendRight != 0 {
		l.arrowTip(pane, segment{x0, y0, x1, y1}, color, width)
	}
}

// scriptStroke adds the part of a segment that is near the pane.
func (l *layout) scriptStroke(pane int, seg segment, color raster.Color, width float64, dash ta.Dash) {
	if seg, ok := clipSegment(seg, l.Panes[pane].Rect, float64(8*l.s)); ok {
		l.strokeFigure(pane, color, width, dash, seg.x0, seg.y0, seg.x1, seg.y1)
	}
}

// arrowTip adds the head of an arrow at the end of a segment.
func (l *layout) arrowTip(pane int, seg segment, color raster.Color, width float64) {
	dx, dy := seg.x1-seg.x0, seg.y1-seg.y0
	length := math.Hypot(dx, dy)
	if length < 1 {
		return
	}
	size := float64(arrowHead*l.s) + width
	dx, dy = dx/length*size, dy/length*size
	l.figure(Figure{
		Kind: TriangleFigure, Pane: pane, Color: color,
		X: [3]float64{seg.x1, seg.x1 - dx + dy/2, seg.x1 - dx - dy/2}, Y: [3]float64{seg.y1, seg.y1 - dy - dx/2, seg.y1 - dy + dx/2},
	})
}

// scriptBox places a rectangle with its border and text.
func (l *layout) scriptBox(pane int, s *ta.Shape) {
	if len(s.Points) < 2 || !finite(s.Points[0].Y) || !finite(s.Points[1].Y) {
		return
	}
	x0, y0 := l.place(pane, s.Points[0])
	x1, y1 := l.place(pane, s.Points[1])
	r := l.Panes[pane].Rect
	const far = 64
	left, right, top, bottom := min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
	if s.Extend&ta.ExtendLeft != 0 {
		left = float64(r.X0 - far)
	}
	if s.Extend&ta.ExtendRight != 0 {
		right = float64(r.X1 + far)
	}
	whole := func(v float64, lo, hi int) int { return int(math.Round(min(max(v, float64(lo-far)), float64(hi+far)))) }
	box := Rect{whole(left, r.X0, r.X1), whole(top, r.Y0, r.Y1), whole(right, r.X0, r.X1), whole(bottom, r.Y0, r.Y1)}
	if box.X1 <= r.X0 || box.X0 >= r.X1 || box.Y1 <= r.Y0-far || box.Y0 >= r.Y1+far {
		return
	}
	box.X1, box.Y1 = max(box.X1, box.X0+l.s), max(box.Y1, box.Y0+l.s)
	l.figure(Figure{Kind: BoxFigure, Pane: pane, Color: tone(s.Fill), Rect: box})
	if s.Width > 0 {
		l.frame(pane, box, tone(s.Color), l.strokeWidth(s), s.Dash)
	}
	l.boxText(pane, box, s)
}

// frame strokes the sides of a rectangle.
func (l *layout) frame(pane int, r Rect, color raster.Color, width float64, dash ta.Dash) {
	x0, y0, x1, y1 := float64(r.X0)+0.5, float64(r.Y0)+0.5, float64(r.X1)-0.5, float64(r.Y1)-0.5
	l.strokeFigure(pane, color, width, dash, x0, y0, x1, y0)
	l.strokeFigure(pane, color, width, dash, x0, y1, x1, y1)
	l.strokeFigure(pane, color, width, dash, x0, y0, x0, y1)
	l.strokeFigure(pane, color, width, dash, x1, y0, x1, y1)
}

// boxText writes the text of a rectangle inside the part of it that is in the picture.
func (l *layout) boxText(pane int, box Rect, s *ta.Shape) {
	if s.Text == "" || tone(s.Ink).A == 0 {
		return
	}
	r := l.Panes[pane].Rect
	box = Rect{max(box.X0, r.X0), max(box.Y0, r.Y0), min(box.X1, r.X1), min(box.Y1, r.Y1)}
	rows, face := textRows(s.Text), faceOf(s.Size)
	pad, pitch := 4*l.s, l.pitch(face)
	y := (box.Y0+box.Y1-len(rows)*pitch)/2 + pitch - 4*l.s
	switch s.Row {
	case ta.Start:
		y = box.Y0 + pitch
	case ta.End:
		y = box.Y1 - (len(rows)-1)*pitch - 5*l.s
	case ta.Middle:
	}
	for i, row := range rows {
		w := l.measure(row, face, l.s)
		x := float64(box.X0+box.X1)/2 - w/2
		switch s.Side {
		case ta.Start:
			x = float64(box.X0 + pad)
		case ta.End:
			x = float64(box.X1-pad) - w
		case ta.Middle:
		}
		l.textFigure(pane, Label{X: math.Floor(x), Width: w, Baseline: y + i*pitch, Text: row, Face: face, Color: tone(s.Ink)})
	}
}

// pitch is the distance between rows of text.
func (l *layout) pitch(f Face) int {
	if f == Title {
		return 20 * l.s
	}
	return 15 * l.s
}

// textRows cuts a text into rows.
func textRows(text string) []string {
	rows := strings.Split(strings.ReplaceAll(text, "\t", "  "), "\n")
	return rows[:min(len(rows), mostLines)]
}

// path places a line through all points, and fills it if it is closed.
func (l *layout) path(pane int, s *ta.Shape) {
	xs, ys := make([]float64, 0, len(s.Points)), make([]float64, 0, len(s.Points))
	for _, p := range s.Points {
		if finite(p.Y) {
			x, y := l.place(pane, p)
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	if s.Curved {
		parts := curveParts(len(xs), mostCurve-l.curved)
		l.curved += parts * len(xs)
		xs, ys = curve(xs, ys, s.Closed, parts)
	}
	if s.Fill.Opacity() > 0 {
		l.polygon(pane, tone(s.Fill), xs, ys)
	}
	if s.Closed && len(xs) > 2 {
		xs, ys = append(xs, xs[0]), append(ys, ys[0])
	}
	for i := 1; i < len(xs); i++ {
		seg := l.extended(pane, segment{xs[i-1], ys[i-1], xs[i], ys[i]}, 0)
		l.scriptStroke(pane, seg, tone(s.Color), l.strokeWidth(s), s.Dash)
	}
}

// mostCurve is how many straight parts the curves of a picture have together. Beyond it, and
// between points that are closer to each other than a picture shows, lines are straight.
const mostCurve = 40_000

// curveParts returns how many straight parts a curve has between two of n points, if so many
// may still be drawn.
func curveParts(n, left int) int { return min(max(left/max(2*n, 1), 1), 8) }

// curve returns the points of a smooth line through the given ones, which has so many straight
// parts between two of them.
func curve(xs, ys []float64, closed bool, parts int) (cx, cy []float64) {
	n := len(xs)
	if n < 3 || parts < 2 {
		return xs, ys
	}
	at := func(i int) int {
		if closed {
			return (i + n) % n
		}
		return min(max(i, 0), n-1)
	}
	last := n - 1
	if closed {
		last = n
	}
	for i := range last {
		a, b, c, d := at(i-1), at(i), at(i+1), at(i+2)
		for k := range parts {
			t := float64(k) / float64(parts)
			cx, cy = append(cx, spline(xs[a], xs[b], xs[c], xs[d], t)), append(cy, spline(ys[a], ys[b], ys[c], ys[d], t))
		}
	}
	return append(cx, xs[at(last)]), append(cy, ys[at(last)])
}

// spline is the Catmull-Rom curve between b and c.
func spline(a, b, c, d, t float64) float64 {
	t2 := float64(t * t)
	t3 := float64(t2 * t)
	return sixtyFourth(0.5 * (float64(2*b) + float64((c-a)*t) + float64((float64(2*a)-float64(5*b)+float64(4*c)-d)*t2) + float64((float64(3*b)-float64(3*c)+d-a)*t3)))
}

// between fills the area between two segments.
func (l *layout) between(pane int, s *ta.Shape) {
	if len(s.Points) < 4 {
		return
	}
	var xs, ys [4]float64
	for i, p := range s.Points[:4] {
		if !finite(p.Y) {
			return
		}
		xs[i], ys[i] = l.place(pane, p)
	}
	a := l.extended(pane, segment{xs[0], ys[0], xs[1], ys[1]}, s.Extend)
	b := l.extended(pane, segment{xs[2], ys[2], xs[3], ys[3]}, s.Extend)
	l.polygon(pane, tone(s.Fill), []float64{a.x0, a.x1, b.x1, b.x0}, []float64{a.y0, a.y1, b.y1, b.y0})
}

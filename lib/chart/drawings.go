package chart

import (
	"math"
	"strconv"

	"candela/lib/chart/raster"
)

// MaxDrawings is the number of drawings in a picture.
const MaxDrawings = 20

// DrawingKind is the form of a drawing.
type DrawingKind uint8

// The kinds of drawing.
const (
	LevelDrawing DrawingKind = iota // a horizontal line across the pane, at Y
	LineDrawing                     // from the first point to the second
	RayDrawing                      // from the first point through the second to the edge
	BoxDrawing                      // with the points as opposite corners
	FibDrawing                      // the retracements of the move from the first point to the second
	TextDrawing                     // at the first point
)

// Drawing is a mark on the price that the reader has asked for. X and X2 are bars; those
// outside the bars of the chart stand where the bars would continue, so that a line keeps
// its slope.
type Drawing struct {
	Kind  DrawingKind
	X, X2 int
	Y, Y2 float64
	Text  string // of a TextDrawing; a label of the others, or ""
}

// Retracement is a price at which a part of a move is taken back.
type Retracement struct{ Ratio, Price float64 }

// Retracements returns the levels of a Fibonacci retracement of the move from one price
// to another: 0 is the end of the move, 1 its start.
func Retracements(from, to float64) [7]Retracement {
	var all [7]Retracement
	for i, ratio := range [...]float64{0, 0.236, 0.382, 0.5, 0.618, 0.786} {
		all[i] = Retracement{ratio, to + float64(ratio*(from-to))}
	}
	all[6] = Retracement{1, from} // exact
	return all
}

// Shown reports for each drawing whether a part of it is in the picture: within the bars
// and those ahead, and within the prices.
func (s *Spec) Shown() []bool {
	if len(s.Drawings) == 0 {
		return nil
	}
	scene := Scene{Height: MaxSide, Scale: 1}
	l := layout{Scene: &scene, scratch: &scene.scratch, spec: s, theme: &themes[s.Theme], s: 1, n: s.Bars.Len()}
	l.candles = ohlc{s.Bars.O, s.Bars.H, s.Bars.L, s.Bars.C}
	l.stackPanes()
	l.colorLines() // one of the results may replace the candles
	l.priceRange()
	return l.visible
}

// outsideNote counts the drawings that are not in the picture.
func outsideNote(n int) string {
	if n == 1 {
		return "1 drawing outside"
	}
	return strconv.Itoa(n) + " drawings outside"
}

// drawnAhead is how many bars after the last one the drawings need: up to mostAhead, so
// that a line far into the future leaves the bars their room.
func (l *layout) drawnAhead() int {
	ahead := 0
	for i := range l.spec.Drawings {
		switch d := &l.spec.Drawings[i]; d.Kind {
		case TextDrawing:
			ahead = max(ahead, d.X-l.n+1)
		case LineDrawing, BoxDrawing:
			ahead = max(ahead, max(d.X, d.X2)-l.n+1)
		case LevelDrawing, RayDrawing, FibDrawing:
		}
	}
	return min(ahead, mostAhead)
}

// spanDrawings adds the points of drawings to the range of the prices, and decides which
// drawings are drawn. A point widens the range if it is within the bars and at most the
// height of the range away; a line that leaves the range is cut.
func (l *layout) spanDrawings(r *span, logarithmic bool) {
	if len(l.spec.Drawings) == 0 {
		return
	}
	lo, hi := soundRange(r.lo, r.hi)
	near := span{lo - (hi - lo), hi + (hi - lo)}
	if logarithmic {
		near = span{lo / hi * lo, hi / lo * hi}
	}
	last := l.n - 1 + l.ahead
	for i := range l.spec.Drawings {
		d := &l.spec.Drawings[i]
		if d.Kind == LevelDrawing || d.X >= 0 && d.X <= last {
			r.addWithin(d.Y, near)
		}
		if d.hasSecond() && d.X2 >= 0 && d.X2 <= last {
			r.addWithin(d.Y2, near)
		}
	}
	for i := range l.spec.Drawings {
		low, high, ok := l.spec.Drawings[i].prices(last, logarithmic)
		l.visible = append(l.visible, ok && high >= r.lo && low <= r.hi)
		if !l.visible[i] {
			l.outside++
		}
	}
}

func (d *Drawing) hasSecond() bool { return d.Kind != LevelDrawing && d.Kind != TextDrawing }

// prices returns the lowest and the highest price of the part of a drawing that lies
// within bars 0 to last, and false if there is none. A logarithmic axis has no place for
// prices that are not positive.
func (d *Drawing) prices(last int, logarithmic bool) (low, high float64, ok bool) {
	from, to := min(d.X, d.X2), max(d.X, d.X2)
	a, b := d.Y, d.Y2
	switch d.Kind {
	case LevelDrawing:
		from, to, b = 0, last, a
	case TextDrawing:
		from, to, b = d.X, d.X, a
	case RayDrawing, FibDrawing:
		to = max(to, last)
	case LineDrawing, BoxDrawing:
	}
	positive := !logarithmic || a > 0 && b > 0
	if !finite(a) || !finite(b) || !positive || to < 0 || from > last {
		return 0, 0, false
	}
	if (d.Kind == LineDrawing || d.Kind == RayDrawing) && d.X != d.X2 {
		a, b = d.priceAt(max(from, 0), logarithmic), d.priceAt(min(to, last), logarithmic)
	}
	low, high = min(a, b), max(a, b)
	return low, high, finite(low) && finite(high)
}

// priceAt returns the price of a line at a bar. It is straight in the picture, so that on a
// logarithmic axis it grows by a constant factor.
func (d *Drawing) priceAt(x int, logarithmic bool) float64 {
	switch x {
	case d.X:
		return d.Y
	case d.X2:
		return d.Y2
	}
	part := float64(x-d.X) / float64(d.X2-d.X)
	if logarithmic {
		return d.Y * math.Exp(part*math.Log(d.Y2/d.Y))
	}
	return d.Y + float64(part*(d.Y2-d.Y))
}

// Sizes of drawings, in logical pixels.
const (
	drawnWidth = 1.5
	drawnPitch = 17 // between the places that are tried for a label
	boxFill    = 0.10
	fibLine    = 0.75
)

// drawnColor is the colour of a drawing: one that neither an overlay nor another drawing has, as long
// as there is one.
func (l *layout) drawnColor(d *Drawing) raster.Color {
	for i := range l.spec.Drawings {
		if d == &l.spec.Drawings[i] {
			return l.theme.cycle[(l.walk+i)%len(l.theme.cycle)]
		}
	}
	return l.theme.strong
}

// collectDrawnPills adds the pills of the levels among the drawings.
func (l *layout) collectDrawnPills() {
	for i, ok := range l.visible {
		if d := &l.spec.Drawings[i]; ok && d.Kind == LevelDrawing {
			l.pill(0, rankLevel, d.Y, l.drawnColor(d), "", "")
		}
	}
}

// drawDrawings places the drawings over the price.
func (l *layout) drawDrawings() {
	for i, ok := range l.visible {
		if !ok {
			continue
		}
		d := &l.spec.Drawings[i]
		switch d.Kind {
		case LevelDrawing:
			l.drawLevel(d)
		case LineDrawing, RayDrawing:
			l.drawSegment(d)
		case BoxDrawing:
			l.drawBox(d)
		case FibDrawing:
			l.drawFib(d)
		case TextDrawing:
			l.drawText(d)
		}
	}
}

func (l *layout) drawLevel(d *Drawing) {
	y := l.drawnRow(d.Y)
	l.Levels = append(l.Levels, Rule{X1: l.axisX, Y: y, Thick: l.s, Color: l.drawnColor(d)})
	w := l.measure(d.Text, Small, l.s)
	l.labelDrawing(d, labelPlace{float64(legendLeft * l.s), y - 5*l.s}, labelPlace{float64(l.axisX-legendLeft*l.s) - w, y - 5*l.s})
}

func (l *layout) drawSegment(d *Drawing) {
	x0, y0, x1, y1 := l.drawnX(d.X), l.drawnY(d.Y), l.drawnX(d.X2), l.drawnY(d.Y2)
	pane := l.Panes[0].Rect
	if d.Kind == RayDrawing {
		// Twice the pane is enough to leave it from any point in it.
		if edge := float64(2 * pane.X1); x1 > x0 && x1 < edge {
			part := (edge - x0) / (x1 - x0)
			x1, y1 = edge, y0+float64(part*(y1-y0))
		} else if x1 <= x0 {
			y1 = math.Copysign(float64(1<<16), y1-y0)
		}
	}
	seg, ok := clipSegment(segment{x0, y0, x1, y1}, pane, float64(8*l.s))
	if !ok {
		return
	}
	l.drawnStroke(l.drawnColor(d), drawnWidth, 0, seg.x0, seg.y0, seg.x1, seg.y1)
	x0, x1 = max(seg.x0, float64(pane.X0)), min(seg.x1, float64(l.axisX))
	half := l.measure(d.Text, Small, l.s) / 2
	var places [5]labelPlace
	for i, part := range [...]float64{0.5, 0.3, 0.7, 0.12, 0.88} {
		x := x0 + float64(part*(x1-x0))
		y := (seg.y0 + seg.y1) / 2
		if seg.x1 > seg.x0 {
			y = seg.y0 + float64((x-seg.x0)/(seg.x1-seg.x0)*(seg.y1-seg.y0))
		}
		places[i] = labelPlace{x - half, int(min(max(y, float64(pane.Y0)), float64(pane.Y1))) - 7*l.s}
	}
	l.labelDrawing(d, places[:]...)
}

func (l *layout) drawBox(d *Drawing) {
	pane := l.Panes[0].Rect
	r := Rect{
		int(math.Floor(l.drawnX(min(d.X, d.X2)))), l.drawnRow(max(d.Y, d.Y2)),
		int(math.Floor(l.drawnX(max(d.X, d.X2)))), l.drawnRow(min(d.Y, d.Y2)),
	}
	// An edge outside the pane stays outside, at a distance that fits into any number.
	const far = 64
	r.X0, r.X1 = max(r.X0, pane.X0-far), min(r.X1, pane.X1+far)
	r.Y0, r.Y1 = max(r.Y0, pane.Y0-far), min(r.Y1, pane.Y1+far)
	l.Profile = append(l.Profile, Box{r, 0, l.drawnColor(d).Alpha(boxFill)})
	half := float64(l.s) / 2
	left, top, right, bottom := float64(r.X0)+half, float64(r.Y0)+half, float64(r.X1)+half, float64(r.Y1)+half
	l.drawnStroke(l.drawnColor(d), 1, 0, left, bottom, left, top, right, top, right, bottom)
	l.drawnStroke(l.drawnColor(d), 1, 0, left, bottom, right, bottom)
	inside := float64(max(r.X0, pane.X0) + 6*l.s)
	l.labelDrawing(d, labelPlace{inside, max(r.Y0, pane.Y0) + (capHeight+6)*l.s}, labelPlace{inside, min(r.Y1, pane.Y1) - 6*l.s},
		labelPlace{inside, r.Y0 - 5*l.s}, labelPlace{inside, r.Y1 + (capHeight+5)*l.s})
}

func (l *layout) drawFib(d *Drawing) {
	color := l.drawnColor(d)
	left := max(int(math.Floor(l.drawnX(min(d.X, d.X2)))), 0)
	for i, level := range Retracements(d.Y, d.Y2) {
		y := l.drawnRow(level.Price)
		r := Rule{X0: left, X1: l.axisX, Y: y, Thick: l.s, Color: color.Alpha(fibLine)}
		if i == 0 || i == 6 {
			r.Color = color
		}
		l.Levels = append(l.Levels, r)
		text := notation{decimals: 3}.text(level.Ratio)
		if i == 0 || i == 3 || i == 6 { // 0, 0.5 and 1
			text = string(trimDecimals([]byte(text)))
		}
		text += " " + l.Panes[0].notation.text(level.Price)
		l.nameRetracement(text, color, left, y)
	}
	if seg, ok := clipSegment(segment{l.drawnX(d.X), l.drawnY(d.Y), l.drawnX(d.X2), l.drawnY(d.Y2)}, l.Panes[0].Rect, float64(8*l.s)); ok {
		l.drawnStroke(color, drawnWidth, 4, seg.x0, seg.y0, seg.x1, seg.y1)
	}
	l.labelDrawing(d, labelPlace{float64(left + 4*l.s), l.drawnRow(max(d.Y, d.Y2)) - (drawnPitch+4)*l.s})
}

func (l *layout) drawText(d *Drawing) {
	x, y := l.drawnX(d.X), l.drawnY(d.Y)
	l.dot(0, x, y, 2.6, 3.8, l.drawnColor(d))
	gap, w, baseline := float64(8*l.s), l.measure(d.Text, Small, l.s), int(y)+capHeight*l.s/2
	places := [2]labelPlace{{x + gap, baseline}, {x - gap - w, baseline}}
	if x+gap+w > float64(l.axisX-4*l.s) && x-gap-w > 0 {
		places[0], places[1] = places[1], places[0]
	}
	l.labelDrawing(d, places[:]...)
}

// drawnStroke adds a line through points, given as x and y in turn, from left to right.
// Width and dash are in logical pixels.
func (l *layout) drawnStroke(color raster.Color, width, dash float64, points ...float64) {
	s := float64(l.s)
	k := Stroke{From: len(l.px), Width: float64(width * s), Color: color, On: float64(dash * s), Off: float64(dash * s)}
	for i := 0; i < len(points); i += 2 {
		l.px, l.py = append(l.px, points[i]), append(l.py, points[i+1])
	}
	k.To = len(l.px)
	l.Drawings = append(l.Drawings, k)
}

// drawnX returns the device x of a bar, which may lie outside the bars of the chart.
func (l *layout) drawnX(bar int) float64 { return l.Columns.x(bar) }

// drawnY is axis.y without the bounds: a line to a point far away keeps its slope.
func (l *layout) drawnY(v float64) float64 {
	a := &l.Panes[0].axis
	return sixtyFourth(float64(a.a*a.f(v)) + a.b)
}

// drawnRow is the pixel row of v, or one a little outside the pane.
func (l *layout) drawnRow(v float64) int {
	r := l.Panes[0].Rect
	return int(math.Floor(min(max(l.drawnY(v), float64(r.Y0-64)), float64(r.Y1+64))))
}

// segment is a straight line between two points.
type segment struct{ x0, y0, x1, y1 float64 }

// clipSegment returns the part of s within margin of r, from left to right, and false if
// there is none.
func clipSegment(s segment, r Rect, margin float64) (segment, bool) {
	if s.x0 > s.x1 {
		s = segment{s.x1, s.y1, s.x0, s.y0}
	}
	dx, dy := s.x1-s.x0, s.y1-s.y0
	left, right := float64(r.X0)-margin, float64(r.X1)+margin
	top, bottom := float64(r.Y0)-margin, float64(r.Y1)+margin
	from, to := 0.0, 1.0
	for _, edge := range [...]struct{ toward, distance float64 }{
		{-dx, s.x0 - left}, {dx, right - s.x0}, {-dy, s.y0 - top}, {dy, bottom - s.y0},
	} {
		part := edge.distance / edge.toward
		switch {
		case edge.toward == 0 && edge.distance < 0:
			return segment{}, false
		case edge.toward > 0:
			to = min(to, part)
		case edge.toward < 0:
			from = max(from, part)
		}
	}
	if !(from <= to) {
		return segment{}, false
	}
	point := func(part float64) (x, y float64) {
		// A point far away leaves few digits for its place: the bounds hold in any case.
		x, y = s.x0+float64(part*dx), s.y0+float64(part*dy)
		return sixtyFourth(min(max(x, left), right)), sixtyFourth(min(max(y, top), bottom))
	}
	var out segment
	out.x0, out.y0 = point(from)
	out.x1, out.y1 = point(to)
	return out, true
}

// sixtyFourth rounds to 1/64 pixel, as axis.y does.
func sixtyFourth(v float64) float64 { return math.Floor(float64(v*64)+0.5) / 64 }

package raster

import "math"

// segment is one piece of a stroked line with x0 <= x1. A point is covered
// when it is within half a width of it: a capsule, or a rectangle at the ends
// that are butt.
type segment struct {
	x0, y0, x1, y1 float64
	slope          float64
	half           float64 // half the width
	tall           float64 // half the height of a vertical cut
	lean           float64 // x offset from the middle line to its upper edge
	ux, uy         float64 // direction
	in0, in1       float64 // between these s alone decides the cut, see settle
	butt0, butt1   bool
	steep          bool
}

func newSegment(x0, y0, x1, y1, half float64) segment {
	dx, dy := x1-x0, y1-y0
	length := hypot(dx, dy)
	s := segment{x0: x0, y0: y0, x1: x1, y1: y1, half: half, ux: 1, in0: 1, in1: 0}
	if length > 0 {
		s.ux, s.uy = dx/length, dy/length
	}
	s.slope = dy / dx
	s.tall = half / s.ux
	s.lean = float64(s.uy * half)
	s.steep = dy > 2*dx || dy < -2*dx
	return s
}

// cut returns the interval of the vertical line at x that s covers. It is
// empty (t >= b or NaN) where s does not reach.
func (s *segment) cut(x float64) (t, b float64) {
	if x < s.x0-s.half || x > s.x1+s.half || s.touches(x) {
		return 0, 0
	}
	// Where both ends of the cut are of one kind, they share the work.
	switch lean := math.Abs(s.lean); {
	case x < s.x0-lean && !s.butt0:
		h := arc(s.half, x-s.x0)
		return s.butted(s.y0-h, s.y0+h, x)
	case x > s.x1+lean && !s.butt1:
		h := arc(s.half, x-s.x1)
		return s.butted(s.y1-h, s.y1+h, x)
	case x >= s.x0+lean && x <= s.x1-lean && s.ux >= 1e-9:
		y := s.y0 + float64(s.slope*(x-s.x0))
		return s.butted(y-s.tall, y+s.tall, x)
	}
	t, b = s.edge(x, s.lean, -1), s.edge(x, -s.lean, 1)
	return s.butted(t, b, x)
}

// touches reports whether the upright line at x meets only the side of an upright s, where
// neither arc limits the cut.
func (s *segment) touches(x float64) bool {
	return s.x0 == s.x1 && !s.butt0 && !s.butt1 && (x == s.x0-s.half || x == s.x0+s.half)
}

// butted cuts away what lies beyond the butt ends of s.
func (s *segment) butted(t, b, x float64) (top, bottom float64) {
	if s.butt0 {
		t, b = behind(t, b, s.y0, x-s.x0, s.ux, s.uy)
	}
	if s.butt1 {
		t, b = behind(t, b, s.y1, x-s.x1, -s.ux, -s.uy)
	}
	return t, b
}

// edge returns the upper (side -1) or lower (side 1) end of the cut at x: on
// the arc around an end, or on the parallel between the arcs.
func (s *segment) edge(x, lean, side float64) float64 {
	switch {
	case x < s.x0+lean && !s.butt0:
		return s.y0 + float64(side*arc(s.half, x-s.x0))
	case x > s.x1+lean && !s.butt1:
		return s.y1 + float64(side*arc(s.half, x-s.x1))
	case s.ux < 1e-9:
		return side * far * 2 // upright: the butt ends limit it
	}
	return s.y0 + float64(s.slope*(x-s.x0)) + float64(side*s.tall)
}

// hypot is not math.Hypot, whose rounding differs between architectures.
func hypot(dx, dy float64) float64 {
	return math.Sqrt(float64(dx*dx) + float64(dy*dy))
}

// arc is the height of a circle of radius r at distance dx from its middle.
func arc(r, dx float64) float64 {
	return math.Sqrt(max(float64(r*r)-float64(dx*dx), 0))
}

// behind cuts away what lies before an end at (0, y) seen along (ux, uy).
func behind(t, b, y, dx, ux, uy float64) (top, bottom float64) {
	switch edge := y - float64(dx*ux)/uy; {
	case uy > 0:
		return max(t, edge), b
	case uy < 0:
		return t, min(b, edge)
	case dx*ux < 0:
		return 0, 0
	}
	return t, b
}

// union keeps disjoint intervals. Beyond its size the last two are joined,
// which fills a gap that only a very dense zigzag has.
type union struct {
	spans [12]struct{ t, b float64 }
	n     int
}

func (u *union) add(t, b float64) {
	for i := 0; i < u.n; {
		if s := u.spans[i]; t <= s.b && b >= s.t {
			t, b = min(t, s.t), max(b, s.b)
			u.n--
			u.spans[i] = u.spans[u.n]
			i = 0
			continue
		}
		i++
	}
	if u.n == len(u.spans) {
		u.n--
		t, b = min(t, u.spans[u.n].t), max(b, u.spans[u.n].b)
	}
	u.spans[u.n].t, u.spans[u.n].b = t, b
	u.n++
}

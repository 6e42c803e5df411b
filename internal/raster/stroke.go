package raster

import "math"

// far is the distance in pixels beyond which positions are clamped: every
// frame is smaller, and squares of it stay well within float64.
const far = 1e7

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
	butt0, butt1   bool
	steep          bool
}

func newSegment(x0, y0, x1, y1, half float64) segment {
	dx, dy := x1-x0, y1-y0
	length := hypot(dx, dy)
	s := segment{x0: x0, y0: y0, x1: x1, y1: y1, half: half, ux: 1}
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
	if x < s.x0-s.half || x > s.x1+s.half {
		return 0, 0
	}
	t, b = s.edge(x, s.lean, -1), s.edge(x, -s.lean, 1)
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

// Polyline strokes the points (xs[i], ys[i]), xs not decreasing, with round
// joins and ends. NaN or an infinity breaks the line, as does an x that steps
// back; a point between two breaks is drawn as a dot. Extra elements of the
// longer slice are ignored. A dashed line has butt dashes, measured along it.
func (f *Frame) Polyline(xs, ys []float64, width float64, c Color, d Dash) {
	f.polyline(xs, ys, width, c, d, 0)
}

func (f *Frame) polyline(xs, ys []float64, width float64, c Color, d Dash, phase float64) {
	if !(width > 0 && width <= 1000) || f.clip == (rect{}) { // the negation rejects NaN
		return
	}
	p := f.ink(c)
	if p == nil {
		return
	}
	n := min(len(xs), len(ys))
	xs, ys = xs[:n], ys[:n]
	for i := 0; i < n; {
		j := runEnd(xs, ys, i)
		if j > i {
			f.segs = f.segs[:0]
			if d.solid() {
				f.chain(xs[i:j], ys[i:j], width/2)
			} else {
				f.dashes(xs[i:j], ys[i:j], width/2, d, phase)
			}
			f.stroke(p)
		}
		i = max(j, i+1)
	}
}

// Segment strokes one straight line between two points in any order. A dashed
// one starts with a dash at (x0, y0).
func (f *Frame) Segment(x0, y0, x1, y1, width float64, c Color, d Dash) {
	phase := 0.0
	if x0 > x1 {
		if !d.solid() {
			phase = d.fromEnd(hypot(x1-x0, y1-y0))
		}
		x0, y0, x1, y1 = x1, y1, x0, y0
	}
	f.polyline([]float64{x0, x1}, []float64{y0, y1}, width, c, d, phase)
}

// runEnd returns the end of the unbroken run that starts at i; i itself if the
// point there is not finite.
func runEnd(xs, ys []float64, i int) int {
	last := math.Inf(-1)
	for ; i < len(xs); i++ {
		x, y := xs[i], ys[i]
		// x-x is zero for finite numbers alone.
		if x-x != 0 || y-y != 0 || x < last {
			break
		}
		last = x
	}
	return i
}

// chain appends the segments of a run that can touch the clip rectangle.
func (f *Frame) chain(xs, ys []float64, half float64) {
	left, right := float64(f.clip.x0)-half, float64(f.clip.x1)+half
	x0, y0 := clampFar(xs[0]), clampFar(ys[0])
	if len(xs) == 1 {
		f.segs = append(f.segs, newSegment(x0, y0, x0, y0, half))
		return
	}
	for i := 1; i < len(xs) && x0 <= right; i++ {
		x1, y1 := clampFar(xs[i]), clampFar(ys[i])
		if x1 >= left {
			f.segs = append(f.segs, newSegment(x0, y0, x1, y1, half))
		}
		x0, y0 = x1, y1
	}
}

func clampFar(v float64) float64 { return min(max(v, -far), far) }

// stroke draws f.segs, which are in order of x0 and of x1.
func (f *Frame) stroke(p *paint) {
	if len(f.segs) == 0 {
		return
	}
	f.col.limit(f.clip)
	half := f.segs[0].half
	x := max(int(math.Floor(f.segs[0].x0-half)), f.clip.x0)
	end := min(int(math.Ceil(f.segs[len(f.segs)-1].x1+half)), f.clip.x1)
	lo, hi := 0, 0
	for ; x < end; x++ {
		left, right := float64(x), float64(x+1)
		for lo < len(f.segs)-1 && f.segs[lo].x1+half < left {
			lo++
		}
		hi = max(hi, lo)
		for hi < len(f.segs)-1 && f.segs[hi+1].x0-half <= right {
			hi++
		}
		s := &f.segs[lo]
		if lo == hi && !s.steep && left >= s.x0+half && right <= s.x1-half {
			f.strokeInside(s, left)
		} else {
			f.strokeUnion(f.segs[lo:hi+1], left)
		}
		f.flush(x, p)
	}
}

// strokeInside adds a column that only the straight part of s reaches.
func (f *Frame) strokeInside(s *segment, left float64) {
	y := s.y0 + float64(s.slope*(left+0.125-s.x0))
	step := s.slope * 0.25
	for range 4 {
		f.col.add(y-s.tall, y+s.tall, 4)
		y += step
	}
}

// strokeUnion adds a column where several segments may overlap.
func (f *Frame) strokeUnion(segs []segment, left float64) {
	n, weight := 4, int32(4)
	for i := range segs {
		if segs[i].steep {
			n, weight = 8, 2
			break
		}
	}
	step := 1 / float64(n)
	x := left + step/2
	for range n {
		var u union
		for i := range segs {
			if t, b := segs[i].cut(x); t < b {
				u.add(t, b)
			}
		}
		for _, v := range u.spans[:u.n] {
			f.col.add(v.t, v.b, weight)
		}
		x += step
	}
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

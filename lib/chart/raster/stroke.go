package raster

import "math"

// far is the distance in pixels beyond which positions are clamped: every
// frame is smaller, and squares of it stay well within float64.
const far = 1e7

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
	f.settle()
}

// settle finds where a segment alone decides the cut. Next to a joint both
// segments reach, but a neighbour's round end lies inside the endless strip of
// this one, and beyond its own lean a neighbour shows nothing else; so only
// the larger lean of the two is contested.
func (f *Frame) settle() {
	before := 0.0
	for i := range f.segs {
		s := &f.segs[i]
		own, after := math.Abs(s.lean), 0.0
		if i+1 < len(f.segs) {
			after = math.Abs(f.segs[i+1].lean)
		}
		s.in0, s.in1 = s.x0+max(own, before), s.x1-max(own, after)
		before = own
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
		near := f.segs[lo : hi+1]
		if s := alone(near, left+0.125, right-0.125); s != nil && !s.steep {
			f.strokeInside(s, left)
		} else {
			f.strokeUnion(near, left)
		}
		f.flush(x, p)
	}
}

// alone returns the segment that decides every cut from x0 to x1, if one does.
// It returns none if segments beyond the direct neighbours are near.
func alone(near []segment, x0, x1 float64) *segment {
	if len(near) > 3 {
		return nil
	}
	for i := range near {
		s := &near[i]
		if s.in0 <= x0 && x1 <= s.in1 && (len(near) < 3 || i == 1) {
			return s
		}
	}
	return nil
}

// strokeInside adds a column where s alone decides.
func (f *Frame) strokeInside(s *segment, left float64) {
	step := s.slope * 0.25
	y := s.y0 + float64(s.slope*(left+0.125-s.x0))
	last := y + float64(3*step)
	mid := (y + last) / 2
	if sameRow(y-s.tall, last-s.tall) && sameRow(y+s.tall, last+s.tall) {
		// Both edges stay within a pixel row, where coverage is linear in
		// their height: four cuts weigh as much as one in the middle.
		f.col.add(mid-s.tall, mid+s.tall, 16)
		return
	}
	for range 4 {
		f.col.add(y-s.tall, y+s.tall, 4)
		y += step
	}
}

// sameRow reports whether two heights in the frame lie in one pixel row.
func sameRow(a, b float64) bool { return int(a) == int(b) }

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
	var u union
	for range n {
		if s := alone(segs, x, x); s != nil {
			y := s.y0 + float64(s.slope*(x-s.x0))
			f.col.add(y-s.tall, y+s.tall, weight)
			x += step
			continue
		}
		u.n = 0
		t, b := segs[0].cut(x)
		for i := 1; i < len(segs); i++ {
			t1, b1 := segs[i].cut(x)
			switch {
			case !(t1 < b1): // NaN included
			case !(t < b):
				t, b = t1, b1
			case t1 <= b && b1 >= t:
				t, b = min(t, t1), max(b, b1)
			default:
				u.add(t, b)
				t, b = t1, b1
			}
		}
		if u.n == 0 {
			f.col.add(t, b, weight)
		} else {
			u.add(t, b)
			for _, v := range u.spans[:u.n] {
				f.col.add(v.t, v.b, weight)
			}
		}
		x += step
	}
}

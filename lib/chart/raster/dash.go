package raster

import "math"

// Dash is the pattern of a line: On pixels drawn, Off pixels left, from the
// start of the line. The zero Dash is a solid line, as is one with a period
// under half a pixel.
type Dash struct{ On, Off float64 }

// solid reports a pattern that leaves no gaps or makes no sense.
func (d Dash) solid() bool {
	period := d.On + d.Off
	return !(d.On > 0 && d.Off > 0 && period >= 0.5 && period < far) // the negation catches NaN
}

// whole returns the pattern in whole pixels, for pixel-aligned rules.
func (d Dash) whole() (on, off int) {
	return max(int(d.On+0.5), 1), max(int(d.Off+0.5), 1)
}

// dashes appends the dashes of a run that can touch the clip rectangle. phase
// is where in the pattern the run starts.
func (f *Frame) dashes(xs, ys []float64, half float64, d Dash, phase float64) {
	period := d.On + d.Off
	pos := phase // distance along the run, in the pattern's terms
	if !(pos >= 0 && pos <= period) {
		pos = 0 // the phase of a line too long to measure
	}
	for i := 1; i < len(xs); i++ {
		s := newSegment(clampFar(xs[i-1]), clampFar(ys[i-1]), clampFar(xs[i]), clampFar(ys[i]), half)
		length := hypot(s.x1-s.x0, s.y1-s.y0)
		from, to := s.within(f.clip, length)
		for k := math.Floor((pos + from) / period); from < to; k++ {
			start := float64(k*period) - pos
			stop := start + d.On
			if !(start < to) { // the negation catches NaN
				break
			}
			if stop > 0 {
				f.segs = append(f.segs, s.part(start, stop, length))
			}
		}
		pos = math.Mod(pos+length, period)
	}
}

// within returns the stretch of s, as distances from its start, that may touch
// the clip rectangle. It is empty (from >= to) when none can.
func (s *segment) within(clip rect, length float64) (from, to float64) {
	from, to = 0, length
	bound := func(p0, u, low, high float64) {
		if u == 0 {
			if p0 < low || p0 > high {
				to = 0
			}
			return
		}
		a, b := (low-p0)/u, (high-p0)/u
		from, to = max(from, min(a, b)), min(to, max(a, b))
	}
	pad := s.half + 1
	bound(s.x0, s.ux, float64(clip.x0)-pad, float64(clip.x1)+pad)
	bound(s.y0, s.uy, float64(clip.y0)-pad, float64(clip.y1)+pad)
	return from, to
}

// part returns the stretch of s from start to stop. An end inside s is butt;
// a dash that goes on into the next segment joins it round.
func (s *segment) part(start, stop, length float64) segment {
	q := *s
	if start >= 0 {
		q.x0, q.y0 = s.x0+float64(s.ux*start), s.y0+float64(s.uy*start)
		q.butt0 = true
	}
	if stop <= length {
		q.x1, q.y1 = s.x0+float64(s.ux*stop), s.y0+float64(s.uy*stop)
		q.butt1 = true
	}
	return q
}

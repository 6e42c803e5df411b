package chart

import "math"

// axis maps values of one pane to device pixels. Every product that feeds a sum
// is wrapped in float64 so that no machine fuses the two: the picture must be
// the same in bits on all of them.
type axis struct {
	lo, hi      float64 // the values at bottom and top
	top, bottom float64 // device y of hi and lo
	log         bool
	a, b        float64 // y = a*f(v) + b
}

// newAxis returns the axis that puts hi at top and lo at bottom. A range that is
// empty, reversed or not finite is widened into one that can be drawn; a
// logarithm of a value that has none falls back to linear.
func newAxis(lo, hi, top, bottom float64, log bool) axis {
	lo, hi = soundRange(lo, hi)
	if bottom-top < 1 {
		bottom = top + 1
	}
	s := axis{lo: lo, hi: hi, top: top, bottom: bottom, log: log && lo > 0}
	flo, fhi := s.f(lo), s.f(hi)
	s.a = (top - bottom) / (fhi - flo)
	s.b = bottom - float64(s.a*flo)
	return s
}

// soundRange returns a finite range with lo < hi that is wide enough for the
// precision of a float64.
func soundRange(lo, hi float64) (float64, float64) {
	const limit = 1e300 // leaves room for the arithmetic of axes and ticks
	switch {
	case math.IsNaN(lo) || math.IsNaN(hi) || lo > hi:
		return 0, 1
	case lo < -limit || hi > limit:
		lo, hi = max(lo, -limit), min(hi, limit)
		if lo > hi {
			return 0, 1
		}
	}
	size := max(math.Abs(lo), math.Abs(hi))
	if hi-lo > size*1e-9 && hi-lo > 1e-300 {
		return lo, hi
	}
	// A flat series stands in the middle of one percent of its own size.
	pad := size * 0.005
	if pad < 1e-290 {
		pad = 0.5
	}
	return lo - pad, hi + pad
}

func (s *axis) f(v float64) float64 {
	if s.log {
		return math.Log(v)
	}
	return v
}

// y returns the device y of v, rounded to 1/64 pixel so that the last bits of a
// logarithm, which differ between machines, never reach the picture. A value
// far outside is clamped near the pane; the painter clips it.
func (s *axis) y(v float64) float64 {
	if s.log && v <= 0 {
		return s.bottom + 4096
	}
	y := float64(s.a*s.f(v)) + s.b
	if y != y {
		return s.bottom
	}
	y = min(max(y, s.top-8192), s.bottom+8192)
	return math.Floor(float64(y*64)+0.5) / 64
}

// row returns the pixel row of v.
func (s *axis) row(v float64) int { return int(math.Floor(s.y(v))) }

// shows reports whether v lies between the top and the bottom of the axis.
func (s *axis) shows(v float64) bool { y := s.y(v); return y >= s.top-1 && y <= s.bottom+1 }

// value is the inverse of y without the rounding.
func (s *axis) value(y float64) float64 {
	f := (y - s.b) / s.a
	if s.log {
		return math.Exp(f)
	}
	return f
}

// within returns the part of the axis that lies in the bounds.
func (s axis) within(bounds *[2]float64) axis {
	lo, hi := max(s.lo, bounds[0]), min(s.hi, bounds[1])
	if lo < hi {
		s.top, s.bottom = s.y(hi), s.y(lo)
		s.lo, s.hi = lo, hi
	}
	return s
}

// span collects the smallest and largest finite value it is shown.
type span struct{ lo, hi float64 }

func newSpan() span { return span{math.Inf(1), math.Inf(-1)} }

func (r *span) add(v float64) {
	if !finite(v) {
		return
	}
	r.lo, r.hi = min(r.lo, v), max(r.hi, v)
}

// join adds the values of another span.
func (r *span) join(o span) {
	if !o.empty() {
		r.lo, r.hi = min(r.lo, o.lo), max(r.hi, o.hi)
	}
}

// addWithin adds v if it lies in o.
func (r *span) addWithin(v float64, o span) {
	if v >= o.lo && v <= o.hi {
		r.add(v)
	}
}

func (r *span) addAll(values []float64) {
	lo, hi := r.lo, r.hi
	for _, v := range values {
		if !finite(v) {
			continue
		}
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
	}
	r.lo, r.hi = lo, hi
}

func (r *span) empty() bool { return r.lo > r.hi }

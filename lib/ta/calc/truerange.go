package calc

import "math"

// span is the true range of a bar after the close previous: the greatest of
// high-low, |high-previous| and |low-previous|. It selects bits, which compiles to
// conditional moves; max and min of floats would also handle NaN, which callers
// exclude.
func span(h, l, previous float64) float64 {
	top, bottom := math.Float64bits(h), math.Float64bits(l)
	if previous > h {
		top = math.Float64bits(previous)
	}
	if previous < l {
		bottom = math.Float64bits(previous)
	}
	return math.Float64frombits(top) - math.Float64frombits(bottom)
}

// missingBar reports whether any of the three, and so their sum, is missing.
func missingBar(h, l, c float64) bool { return missing(h + l + c) }

// ATR writes the average true range: the RMA over n bars of the true range, the
// first bar's included, as on TradingView. The first value is at n-1.
func ATR(dst, h, l, c []float64, n int) {
	h, l, dst = h[:len(c)], l[:len(c)], dst[:len(c)]
	mean := wilder(n)
	previous, seen := 0.0, false
	first := 0
	for ; first < len(c) && !mean.ready(); first++ {
		dst[first] = math.NaN()
		high, low, x := h[first], l[first], c[first]
		if missingBar(high, low, x) {
			continue
		}
		tr := high - low
		if seen {
			tr = span(high, low, previous)
		}
		dst[first] = mean.add(tr)
		previous, seen = x, true
	}
	h, l, c, dst = h[first:], l[first:], c[first:], dst[first:]
	h, l, dst = h[:len(c)], l[:len(c)], dst[:len(c)]
	k, rest, value := mean.k, mean.rest, mean.value
	for i, x := range c {
		if missingBar(h[i], l[i], x) {
			dst[i] = math.NaN()
			continue
		}
		value = float64(k*span(h[i], l[i], previous)) + float64(rest*value)
		previous = x
		dst[i] = value
	}
}

// TrueRangeState is the state of a true range: the last close and whether there
// was one.
type TrueRangeState struct{ region }

// TrueRange makes the state of a true range.
func (s *Slab) TrueRange() TrueRangeState { return TrueRangeState{s.reserve(2)} }

// Step takes the bar's high, low and close and returns how far the price moved, the
// gap from the close before it included. The first bar has no gap.
func (t *TrueRangeState) Step(h, l, c float64) float64 {
	if missingBar(h, l, c) {
		return math.NaN()
	}
	m := t.mem(2)
	previous, seen := m[0], m[1] != 0
	m[0], m[1] = c, 1
	if !seen {
		return h - l
	}
	return span(h, l, previous)
}

// ATRState is the state of an average true range.
type ATRState struct {
	tr   TrueRangeState
	mean EMAState
}

// ATR makes the state of an average true range over n bars.
func (s *Slab) ATR(n int) ATRState { return ATRState{tr: s.TrueRange(), mean: s.RMA(n)} }

// Step takes the bar's high, low and close and returns the average.
func (a *ATRState) Step(h, l, c float64) float64 {
	if missingBar(h, l, c) {
		return math.NaN()
	}
	return a.mean.add(a.tr.Step(h, l, c))
}

package calc

import "math"

// RSI writes Wilder's relative strength index: 100 times the mean rise over the
// sum of the mean rise and the mean fall, both RMAs of n changes. The first value
// is at n. Without any fall it is 100, as on TradingView.
func RSI(dst, src []float64, n int) {
	dst = dst[:len(src)]
	up, down := wilder(n), wilder(n)
	previous, seen := 0.0, false
	first := 0
	for ; first < len(src) && !up.ready(); first++ {
		dst[first] = math.NaN()
		x := src[first]
		if missing(x) {
			continue
		}
		if seen {
			rise, fall := split(x - previous)
			dst[first] = strength(up.add(rise), down.add(fall))
		}
		previous, seen = x, true
	}
	src, dst = src[first:], dst[first:]
	dst = dst[:len(src)]
	k, rest, u, d := up.k, up.rest, up.value, down.value
	for i, x := range src {
		if missing(x) {
			dst[i] = math.NaN()
			continue
		}
		rise, fall := split(x - previous)
		previous = x
		u = float64(k*rise) + float64(rest*u)
		d = float64(k*fall) + float64(rest*d)
		if d == 0 {
			dst[i] = 100
			continue
		}
		dst[i] = 100 * (u / (u + d))
	}
}

// split separates a change into its rise and its fall, one of which is 0. It has no
// branch, because the sign of a change is unpredictable.
func split(change float64) (rise, fall float64) {
	size := math.Abs(change)
	return 0.5 * (size + change), 0.5 * (size - change)
}

func strength(up, down float64) float64 {
	if down == 0 {
		return 100
	}
	return float64(100 * (up / (up + down)))
}

// RSIState is the state of an RSI.
type RSIState struct {
	region
	up, down EMAState
}

// RSI makes the state of an RSI of n bars.
func (s *Slab) RSI(n int) RSIState {
	return RSIState{region: s.reserve(2), up: s.RMA(n), down: s.RMA(n)}
}

// Step takes the bar's value and returns the index.
func (r *RSIState) Step(x float64) float64 {
	if missing(x) {
		return math.NaN()
	}
	m := r.mem(2)
	previous, seen := m[0], m[1] != 0
	m[0], m[1] = x, 1
	if !seen {
		return math.NaN()
	}
	rise, fall := split(x - previous)
	return strength(r.up.add(rise), r.down.add(fall))
}

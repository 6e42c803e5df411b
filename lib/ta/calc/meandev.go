package calc

import (
	"math"
	"slices"
)

// centred writes the mean of the last n values, summed relative to the anchor's value. It
// is exact in a flat window, which matters where means are compared or used as divisors.
func centred(dst, src []float64, n int, slots Slots) {
	if n <= direct {
		checkWindow(n)
		centredDirect(dst[:len(src)], src, n)
		return
	}
	dst = dst[:len(src)]
	part := 1 / float64(n)
	walk := newBlocks(slots, len(src), n)
	for walk.next() {
		a, end := walk.from, walk.to
		shift, sum := src[a], 0.0
		block, out := src[a:end], dst[a:end]
		out = out[:len(block)]
		sumTails(out, older(src, a, n), n, shift)
		for i, x := range block {
			sum += x - shift
			out[i] = shift + float64((out[i]+sum)*part)
		}
	}
	warm(dst, n)
}

// sumTails fills tails with the sums of the newest values of old less shift.
func sumTails(tails, old []float64, n int, shift float64) {
	sum, k := 0.0, n-1
	if k < len(tails) {
		tails[k] = 0
	}
	for _, x := range slices.Backward(old) {
		k--
		if sum += x - shift; k < len(tails) {
			tails[k] = sum
		}
	}
}

// direct is the longest window that centred recomputes at each bar, which for a few
// bars is less work than keeping two sums.
const direct = 6

// centredDirect computes each window relative to its oldest value.
func centredDirect(dst, src []float64, n int) {
	part := 1 / float64(n)
	if n == 3 && len(src) > 2 {
		centredThree(dst[2:], src[:len(src)-2], src[1:len(src)-1], src[2:], part)
		warm(dst, n)
		return
	}
	for i := n - 1; i < len(src); i++ {
		window := src[i-n+1 : i+1]
		shift, sum := window[0], 0.0
		for _, x := range window[1:] {
			sum += x - shift
		}
		dst[i] = shift + float64(sum*part)
	}
	warm(dst, n)
}

// centredThree is centredDirect for three bars, the usual smoothing of a stochastic.
func centredThree(dst, first, second, third []float64, part float64) {
	second, third, dst = second[:len(first)], third[:len(first)], dst[:len(first)]
	for i, shift := range first {
		dst[i] = shift + float64(((second[i]-shift)+(third[i]-shift))*part)
	}
}

// centredState is the state of centred.
type centredState struct {
	window
	part float64
}

func (s *Slab) centred(n int) centredState {
	return centredState{window: s.newWindow(n, 1), part: 1 / float64(n)}
}

func (c *centredState) step(slot Slot, x float64) float64 {
	m := c.mem(c.size())
	if c.n <= direct {
		return c.stepDirect(m, x)
	}
	if c.open(m, slot, x) {
		c.sumsBack(m, x)
	}
	run, shift := c.running(m), m[windowShift]
	run[0] += x - shift
	j := c.push(m, x)
	if j < 0 {
		return math.NaN()
	}
	return shift + float64((c.sums(m, 0)[j]+run[0])*c.part)
}

func (c *centredState) stepDirect(m []float64, x float64) float64 {
	if c.push(m, x); m[windowSeen] < float64(c.n) {
		return math.NaN()
	}
	ring, at := c.values(m)
	shift, sum := ring[at], 0.0
	for range c.n - 1 {
		if at++; at == c.n {
			at = 0
		}
		sum += ring[at] - shift
	}
	return shift + float64(sum*c.part)
}

// MeanDeviationState is the state of a mean and mean distance.
type MeanDeviationState struct{ mean centredState }

// MeanDeviation makes the state of a mean and mean distance over n bars.
func (s *Slab) MeanDeviation(n int) MeanDeviationState {
	return MeanDeviationState{mean: s.centred(n)}
}

// Step takes the value of the bar at slot and returns the mean and the mean distance
// from it, which the commodity channel index divides by. The distances change with
// every mean, so a bar costs n operations.
func (d *MeanDeviationState) Step(slot Slot, x float64) (mean, dev float64) {
	mean = d.mean.step(slot, x)
	m := d.mean.mem(d.mean.size())
	if m[windowSeen] < float64(d.mean.n) {
		return mean, math.NaN()
	}
	ring, oldest := d.mean.values(m)
	return mean, float64(ringDistance(ring, oldest, mean) * d.mean.part)
}

// ringDistance sums |x-mean| from the oldest value on. It adds to four sums in turn,
// because each addition to a single sum would wait for the previous one.
func ringDistance(ring []float64, oldest int, mean float64) float64 {
	var sums [4]float64
	whole := len(ring) &^ 3
	for i := range ring {
		at := oldest + i
		if at >= len(ring) {
			at -= len(ring)
		}
		lane := 0
		if i < whole {
			lane = i & 3
		}
		sums[lane] += math.Abs(ring[at] - mean)
	}
	return (sums[0] + sums[1]) + (sums[2] + sums[3])
}

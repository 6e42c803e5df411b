package calc

import (
	"math"
	"slices"
)

// Bollinger writes the mean of the last n values and the bands at width
// population deviations above and below it.
func Bollinger(upper, mid, lower, src []float64, n int, width float64, slots Slots) {
	upper, mid, lower = upper[:len(src)], mid[:len(src)], lower[:len(src)]
	walk := newBlocks(slots, len(src), n)
	for walk.next() {
		bandStrip(upper, mid, lower, src, &walk, width)
	}
	warm(upper, n)
	warm(mid, n)
	warm(lower, n)
}

// Deviation writes the mean and the population standard deviation of the last n values.
func Deviation(mean, dev, src []float64, n int, slots Slots) {
	mean, dev = mean[:len(src)], dev[:len(src)]
	count, part := float64(n), 1/float64(n)
	for b := newBlocks(slots, len(src), n); b.next(); {
		block, means, devs := src[b.from:b.to], mean[b.from:b.to], dev[b.from:b.to]
		shift, sum, square := block[0], 0.0, 0.0
		squareTails(means, devs, older(src, b.from, n), n, shift)
		means, devs = means[:len(block)], devs[:len(block)]
		for i, x := range block {
			d := x - shift
			sum += d
			square += float64(d * d)
			m, root := spread(means[i]+sum, devs[i]+square, shift, count, part)
			means[i], devs[i] = m, float64(root*part)
		}
	}
	warm(mean, n)
	warm(dev, n)
}

// bandStrip writes the bands of a strip of blocks, or of one block.
func bandStrip(upper, mid, lower, src []float64, walk *blocks, width float64) {
	n := walk.n
	count, part := float64(n), 1/float64(n)
	scale := part * width
	full := walk.strip()
	for a := walk.from; a < walk.to; a += n {
		end := min(a+n, walk.to)
		block, ups, mids, lows := src[a:end], upper[a:end], mid[a:end], lower[a:end]
		shift, sum, square := src[a], 0.0, 0.0
		if old := older(src, a, n); full {
			// squareTails, inlined to save a call per block.
			ups[len(old)], lows[len(old)] = 0, 0
			ups, lows := ups[:len(old)], lows[:len(old)]
			for j := len(old) - 1; j >= 0; j-- {
				d := old[j] - shift
				sum += d
				square += float64(d * d)
				ups[j], lows[j] = sum, square
			}
			sum, square = 0, 0
		} else {
			squareTails(ups, lows, old, n, shift)
		}
		ups, mids, lows = ups[:len(block)], mids[:len(block)], lows[:len(block)]
		for i, x := range block {
			d := x - shift
			sum += d
			square += float64(d * d)
			mean, root := spread(ups[i]+sum, lows[i]+square, shift, count, part)
			reach := float64(root * scale)
			ups[i], mids[i], lows[i] = mean+reach, mean, mean-reach
		}
	}
}

// spread turns the sums of the differences from shift and of their squares into
// the mean and n times the deviation: count is n, part is 1/n.
//
// The shift is a value of the window, so one of the differences is 0, and the
// square of their sum is at most n-1 times the sum of their squares. The
// subtraction therefore leaves at least one part in n of what it started from: it
// never goes below 0, and the variance is right to about n roundings.
func spread(sum, square, shift, count, part float64) (mean, root float64) {
	return shift + float64(sum*part), math.Sqrt(float64(count*square) - float64(sum*sum))
}

// squareTails fills tails with the sums of the newest values of old less shift,
// and of their squares.
func squareTails(sums, squares, old []float64, n int, shift float64) {
	sum, square, k := 0.0, 0.0, n-1
	if k < len(sums) {
		sums[k], squares[k] = 0, 0
	}
	for _, x := range slices.Backward(old) {
		k--
		d := x - shift
		sum += d
		square += float64(d * d)
		if k < len(sums) {
			sums[k], squares[k] = sum, square
		}
	}
}

// DeviationState is the state of a mean and deviation.
type DeviationState struct {
	window
	count, part float64
}

// Deviation makes the state of a mean and deviation over n bars.
func (s *Slab) Deviation(n int) DeviationState {
	return DeviationState{window: s.newWindow(n, 2), count: float64(n), part: 1 / float64(n)}
}

// Step takes the value of the bar at slot and returns the mean and the population
// standard deviation. In a flat window the mean is the value itself and the deviation
// 0, to the bit.
func (d *DeviationState) Step(slot Slot, x float64) (mean, dev float64) {
	mean, root := d.step(slot, x)
	return mean, float64(root * d.part)
}

func (d *DeviationState) step(slot Slot, x float64) (mean, root float64) {
	m := d.mem(d.size())
	sums, squares := d.sums(m, 0), d.sums(m, 1)
	if d.open(m, slot, x) {
		d.squaresBack(m, sums, squares, x)
	}
	run, shift := d.running(m), m[windowShift]
	diff := x - shift
	run[0] += diff
	run[1] += float64(diff * diff)
	j := d.push(m, x)
	if j < 0 {
		return math.NaN(), math.NaN()
	}
	return spread(sums[j]+run[0], squares[j]+run[1], shift, d.count, d.part)
}

func (d *DeviationState) squaresBack(m, sums, squares []float64, shift float64) {
	ring, at := d.values(m)
	sum, square := 0.0, 0.0
	sums[0], squares[0] = 0, 0
	for j := 1; j <= d.reach(m); j++ {
		at = d.back(at)
		diff := ring[at] - shift
		sum += diff
		square += float64(diff * diff)
		sums[j], squares[j] = sum, square
	}
}

// BollingerState is the state of Bollinger bands.
type BollingerState struct {
	deviation DeviationState
	scale     float64
}

// Bollinger makes the state of bands over n bars at width deviations.
func (s *Slab) Bollinger(n int, width float64) BollingerState {
	d := s.Deviation(n)
	return BollingerState{deviation: d, scale: d.part * width}
}

// Step takes the value of the bar at slot and returns the bands.
func (b *BollingerState) Step(slot Slot, x float64) (upper, mid, lower float64) {
	mean, root := b.deviation.step(slot, x)
	reach := float64(root * b.scale)
	return mean + reach, mean, mean - reach
}

package calc

import (
	"math"
	"slices"
)

// Deviation writes the mean and the population standard deviation of the last n
// values. In a flat window the mean is the value itself and the deviation 0, to
// the bit.
func Deviation(mean, dev, src []float64, n int, slots Slots) {
	mean, dev = mean[:len(src)], dev[:len(src)]
	part := 1 / float64(n)
	walk := newBlocks(slots, len(src), n)
	for walk.next() {
		a, end := walk.from, walk.to
		squaresOlder(mean, dev, src, a, end, n)
		block, sums, squares := src[a:end], mean[a:end], dev[a:end]
		sums, squares = sums[:len(block)], squares[:len(block)]
		shift, sum, square := src[a], 0.0, 0.0
		for i, x := range block {
			d := x - shift
			sum += d
			square += float64(d * d)
			sums[i], squares[i] = spread(sums[i]+sum, squares[i]+square, shift, part)
		}
	}
	warm(mean, n)
	warm(dev, n)
}

// Bollinger writes the mean of the last n values and the bands at width
// population deviations above and below it.
func Bollinger(upper, mid, lower, src []float64, n int, width float64, slots Slots) {
	upper, mid, lower = upper[:len(src)], mid[:len(src)], lower[:len(src)]
	part := 1 / float64(n)
	walk := newBlocks(slots, len(src), n)
	for walk.next() {
		a, end := walk.from, walk.to
		squaresOlder(upper, lower, src, a, end, n)
		block, sums, means, squares := src[a:end], upper[a:end], mid[a:end], lower[a:end]
		sums, means, squares = sums[:len(block)], means[:len(block)], squares[:len(block)]
		shift, sum, square := src[a], 0.0, 0.0
		for i, x := range block {
			d := x - shift
			sum += d
			square += float64(d * d)
			mean, dev := spread(sums[i]+sum, squares[i]+square, shift, part)
			reach := float64(width * dev)
			sums[i], means[i], squares[i] = mean+reach, mean, mean-reach
		}
	}
	warm(upper, n)
	warm(mid, n)
	warm(lower, n)
}

// spread turns the sums of the differences from shift and of their squares into
// the mean and the deviation. The shift is a value of the window, so that what
// the subtraction cancels is bounded: the variance is right to about n roundings.
func spread(sum, square, shift, part float64) (mean, dev float64) {
	mean = shift + float64(sum*part)
	variance := (square - float64(float64(sum*sum)*part)) * part
	if variance < 0 {
		variance = 0
	}
	return mean, math.Sqrt(variance)
}

// squaresOlder puts the sums of differences and of squares over the bars before
// the block src[a:end] where the windows they belong to end.
func squaresOlder(sums, squares, src []float64, a, end, n int) {
	if end-a == n {
		sums[end-1], squares[end-1] = 0, 0
	}
	old, out, way := older(sums, src, a, end, n)
	if len(old) == 0 {
		return
	}
	out, squares = out[:len(old)], squares[a-len(way)-len(old)+n-1:]
	squares = squares[:len(old)]
	shift, sum, square := src[a], 0.0, 0.0
	for _, x := range slices.Backward(way) {
		d := x - shift
		sum += d
		square += float64(d * d)
	}
	for j := len(old) - 1; j >= 0; j-- {
		d := old[j] - shift
		sum += d
		square += float64(d * d)
		out[j], squares[j] = sum, square
	}
}

// DeviationState is the state of a mean and deviation.
type DeviationState struct {
	window
	part float64
}

// Deviation makes the state of a mean and deviation over n bars.
func (s *Slab) Deviation(n int) DeviationState {
	return DeviationState{window: s.newWindow(n, 2), part: 1 / float64(n)}
}

// Step takes the value of the bar at slot and returns the mean and the
// deviation.
func (d *DeviationState) Step(slot Slot, x float64) (mean, dev float64) {
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
	return spread(sums[j]+run[0], squares[j]+run[1], shift, d.part)
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
	width     float64
}

// Bollinger makes the state of bands over n bars at width deviations.
func (s *Slab) Bollinger(n int, width float64) BollingerState {
	return BollingerState{deviation: s.Deviation(n), width: width}
}

// Step takes the value of the bar at slot and returns the bands.
func (b *BollingerState) Step(slot Slot, x float64) (upper, mid, lower float64) {
	mean, dev := b.deviation.Step(slot, x)
	reach := float64(b.width * dev)
	return mean + reach, mean, mean - reach
}

package calc

import (
	"math"
	"slices"
)

// SMA writes the mean of the last n values.
func SMA(dst, src []float64, n int, slots Slots) {
	dst = dst[:len(src)]
	walk, part := newBlocks(slots, len(src), n), 1/float64(n)
	for walk.next() {
		meanStrip(dst, src, &walk, part)
	}
	warm(dst, n)
}

// meanStrip is SMA for a strip of blocks, or for one block. Its loops are unrolled
// twice, because counting takes half of an iteration.
func meanStrip(dst, src []float64, walk *blocks, part float64) {
	n, full := walk.n, walk.strip()
	for a := walk.from; a < walk.to; a += n {
		end := min(a+n, walk.to)
		block, out := src[a:end], dst[a:end]
		sum, i := 0.0, 0
		if old := older(src, a, n); full {
			// sumTails, inlined to save a call per block.
			out[len(old)] = 0
			out := out[:len(old)]
			j := len(old) - 1
			for ; j > 0; j -= 2 {
				sum += old[j]
				out[j] = sum
				sum += old[j-1]
				out[j-1] = sum
			}
			if j == 0 {
				out[0] = sum + old[0]
			}
			sum = 0
		} else {
			sumTails(out, old, n, 0)
		}
		out = out[:len(block)]
		for ; i < len(block)-1; i += 2 {
			sum += block[i]
			out[i] = (out[i] + sum) * part
			sum += block[i+1]
			out[i+1] = (out[i+1] + sum) * part
		}
		if i < len(block) {
			out[i] = (out[i] + (sum + block[i])) * part
		}
	}
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

// SumState is the state of a rolling sum.
type SumState struct{ window }

// Sum makes the state of a sum over n bars.
func (s *Slab) Sum(n int) SumState { return SumState{s.newWindow(n, 1)} }

// Step takes the value of the bar at slot and returns the sum.
func (s *SumState) Step(slot Slot, x float64) float64 {
	m := s.mem(s.size())
	if s.open(m, slot, x) {
		s.sumsBack(m, 0)
	}
	run := s.running(m)
	run[0] += x
	j := s.push(m, x)
	if j < 0 {
		return math.NaN()
	}
	return s.sums(m, 0)[j] + run[0]
}

// SMAState is the state of a moving mean.
type SMAState struct {
	sum  SumState
	part float64
}

// SMA makes the state of a mean over n bars.
func (s *Slab) SMA(n int) SMAState { return SMAState{sum: s.Sum(n), part: 1 / float64(n)} }

// Step takes the value of the bar at slot and returns the mean.
func (s *SMAState) Step(slot Slot, x float64) float64 { return s.sum.Step(slot, x) * s.part }

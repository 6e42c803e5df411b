package calc

import "math"

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

// SMA writes the mean of the last n values.
func SMA(dst, src []float64, n int, slots Slots) {
	dst = dst[:len(src)]
	part := 1 / float64(n)
	tails := make([]float64, n) // sums of the values before the block, from the newest back
	for b := newBlocks(slots, len(src), n); b.next(); {
		sum, old := 0.0, older(src, b.from, n)
		for j := 1; j <= len(old); j++ {
			sum += old[len(old)-j]
			tails[j] = sum
		}
		run := 0.0
		for k, x := range src[b.from:b.to] {
			run += x
			dst[b.from+k] = (tails[n-1-k] + run) * part
		}
	}
	warm(dst, n)
}

// SMAState is the state of a moving mean.
type SMAState struct {
	sum  SumState
	part float64
}

// SMA makes the state of a mean over n bars.
func (s *Slab) SMA(n int) SMAState { return SMAState{sum: s.Sum(n), part: 1 / float64(n)} }

// Step takes the value of the bar at slot and returns the mean.
func (s *SMAState) Step(slot Slot, x float64) float64 {
	return float64(s.sum.Step(slot, x) * s.part) // rounded where it is inlined, too
}

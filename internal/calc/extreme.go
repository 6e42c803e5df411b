package calc

import (
	"math"
	"slices"
)

// Max writes the highest of the last n values.
//
// The window is split as for sums, but at fixed counts of bars: an extreme has
// no rounding, so that any split gives the same bits.
func Max(dst, src []float64, n int) {
	checkWindow(n)
	dst = dst[:len(src)]
	for a := 0; a < len(src); a += n {
		end := min(a+n, len(src))
		maxOlder(dst, src, a, end, n)
		block, out := src[a:end], dst[a:end]
		out = out[:len(block)]
		top := math.Inf(-1)
		for i, x := range block {
			top = max(top, x)
			out[i] = max(out[i], top)
		}
	}
	warm(dst, n)
}

func maxOlder(dst, src []float64, a, end, n int) {
	old, out, way := older(dst, src, a, end, n)
	out = out[:len(old)]
	top := math.Inf(-1)
	if end-a == n {
		dst[end-1] = top
	}
	for _, x := range slices.Backward(way) {
		top = max(top, x)
	}
	for j := len(old) - 1; j >= 0; j-- {
		top = max(top, old[j])
		out[j] = top
	}
}

// Min writes the lowest of the last n values.
func Min(dst, src []float64, n int) {
	checkWindow(n)
	dst = dst[:len(src)]
	for a := 0; a < len(src); a += n {
		end := min(a+n, len(src))
		minOlder(dst, src, a, end, n)
		block, out := src[a:end], dst[a:end]
		out = out[:len(block)]
		low := math.Inf(1)
		for i, x := range block {
			low = min(low, x)
			out[i] = min(out[i], low)
		}
	}
	warm(dst, n)
}

func minOlder(dst, src []float64, a, end, n int) {
	old, out, way := older(dst, src, a, end, n)
	out = out[:len(old)]
	low := math.Inf(1)
	if end-a == n {
		dst[end-1] = low
	}
	for _, x := range slices.Backward(way) {
		low = min(low, x)
	}
	for j := len(old) - 1; j >= 0; j-- {
		low = min(low, old[j])
		out[j] = low
	}
}

// ExtremeState is the state of a rolling highest or lowest value.
type ExtremeState struct {
	window
	sign float64 // -1 turns the lowest value into the highest of the negatives
}

// Max makes the state of the highest value over n bars.
func (s *Slab) Max(n int) ExtremeState { return ExtremeState{window: s.newWindow(n, 1), sign: 1} }

// Min makes the state of the lowest value over n bars.
func (s *Slab) Min(n int) ExtremeState { return ExtremeState{window: s.newWindow(n, 1), sign: -1} }

// Step takes the bar's value and returns the extreme.
func (e *ExtremeState) Step(x float64) float64 {
	m := e.mem(e.size())
	x *= e.sign
	run, tops := e.running(m), e.sums(m, 0)
	if e.open(m, Slot(m[windowSeen]), x) {
		run[0] = math.Inf(-1)
		e.topsBack(m, tops)
	}
	run[0] = max(run[0], x)
	j := e.push(m, x)
	if j < 0 {
		return math.NaN()
	}
	return e.sign * max(tops[j], run[0])
}

func (e *ExtremeState) topsBack(m, tops []float64) {
	ring, at := e.values(m)
	top := math.Inf(-1)
	tops[0] = top
	for j := 1; j <= e.reach(m); j++ {
		at = e.back(at)
		top = max(top, ring[at])
		tops[j] = top
	}
}

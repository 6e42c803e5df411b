package calc

import (
	"math"
	"slices"
)

// The masks that order ranks so that the wanted value is the greater one.
const (
	highest int64 = 0
	lowest  int64 = -1
)

// rank maps numbers to integers in the same order, -0 below 0, or in the opposite
// one if the mask is lowest. The maximum of two integers takes two cycles; for
// floats the language distinguishes NaN and -0, which takes five times as long.
func rank(x float64, mask int64) int64 {
	bits := toRank(x)
	return bits ^ (bits >> 63 & math.MaxInt64) ^ mask
}

// ranked is the number of a rank.
func ranked(r, mask int64) float64 {
	r ^= mask
	return fromRank(r ^ (r >> 63 & math.MaxInt64))
}

// rankNaN is rank with NaN above everything, so that it wins in any window. The
// greatest integer converts back to a NaN with either mask.
func rankNaN(x float64, mask int64) int64 {
	if x != x {
		return math.MaxInt64
	}
	return rank(x, mask)
}

// extreme writes the highest or the lowest of the last n values. It splits the window as
// for sums, but at fixed counts of bars: an extreme has no rounding, so that any split
// gives the same bits.
func extreme(dst, src []float64, n int, mask int64) {
	checkWindow(n)
	dst = dst[:len(src)]
	gap := true // whether a value may be missing in the block or the one before
	for a := 0; a < len(src); a += n {
		end := min(a+n, len(src))
		before := gap
		gap = a < n || end-a < n || extremeBlock(dst[a:end], src[a:end], src[a-n+1:a], mask)
		if gap || before {
			extremeMissing(dst[a:end], src[a:end], older(src, a, n), n, mask)
		}
	}
	warm(dst, n)
}

// extremeBlock writes the extremes of the windows that end in a block of as many
// bars as the window has. It reports whether a value may be missing; the result is
// then invalid.
func extremeBlock(out, block, old []float64, mask int64) bool {
	tails := out[:len(old)]
	top := int64(math.MinInt64)
	for j := len(old) - 1; j >= 0; j-- {
		top = max(top, rank(old[j], mask))
		tails[j] = fromRank(top)
	}
	out = out[:len(block)]
	out[len(out)-1] = fromRank(math.MinInt64)
	// x-x is 0 for finite numbers only. Infinities are also reported, which is harmless.
	top, check := math.MinInt64, 0.0
	for i, x := range block {
		check += x - x
		top = max(top, rank(x, mask))
		out[i] = ranked(max(toRank(out[i]), top), mask)
	}
	return check != 0
}

// extremeMissing is extremeBlock at the start, at the end and with missing values.
func extremeMissing(out, block, old []float64, n int, mask int64) {
	top, k := int64(math.MinInt64), n-1
	if k < len(out) {
		out[k] = fromRank(top)
	}
	for _, x := range slices.Backward(old) {
		k--
		if top = max(top, rankNaN(x, mask)); k < len(out) {
			out[k] = fromRank(top)
		}
	}
	top, out = math.MinInt64, out[:len(block)]
	for i, x := range block {
		top = max(top, rankNaN(x, mask))
		out[i] = ranked(max(toRank(out[i]), top), mask)
	}
}

// fromRank and toRank store the bits of a rank in a float64.
func fromRank(r int64) float64 { return math.Float64frombits(uint64(r)) } //nolint:gosec // the bits, not the number

func toRank(x float64) int64 { return int64(math.Float64bits(x)) } //nolint:gosec // the bits, not the number

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

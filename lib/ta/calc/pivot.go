package calc

import "math"

// pivot compares the nearest neighbours first, since most candidates fail there.
func pivot(values []float64, at int) (top, bottom float64) {
	x := values[at]
	isTop, isBottom := x == x, x == x
	for j := at - 1; j >= 0 && (isTop || isBottom); j-- {
		isTop, isBottom = isTop && values[j] < x, isBottom && values[j] > x
	}
	for j := at + 1; j < len(values) && (isTop || isBottom); j++ {
		isTop, isBottom = isTop && values[j] < x, isBottom && values[j] > x
	}
	top, bottom = math.NaN(), math.NaN()
	if isTop {
		top = x
	}
	if isBottom {
		bottom = x
	}
	return top, bottom
}

// PivotState is the state of a pivot detector. It keeps the last values in order.
type PivotState struct {
	region
	left, right int
}

// Pivot makes the state of a detector of pivots with left and right neighbours.
func (s *Slab) Pivot(left, right int) PivotState {
	if left < 0 || right < 0 || left+right == 0 {
		panic("calc: a pivot needs at least 1 neighbour")
	}
	return PivotState{region: s.reserve(1 + left + right + 1), left: left, right: right}
}

// Step takes the bar's value and returns that of the pivot it confirms, right bars
// back: top if it is above each of the left values before it and of the right values
// after it, bottom if it is below them. Equal neighbours make no pivot. Otherwise both
// are NaN, also where a value among them is missing.
func (p *PivotState) Step(x float64) (top, bottom float64) {
	size := p.left + p.right + 1
	m := p.mem(1 + size)
	values := m[1:]
	copy(values, values[1:])
	values[size-1] = x
	m[0] = min(m[0]+1, float64(size))
	if m[0] < float64(size) {
		return math.NaN(), math.NaN()
	}
	return pivot(values, p.left)
}

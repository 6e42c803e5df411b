package calc

import "math"

// SinceState is the state of how many bars ago a window had its extreme.
type SinceState struct {
	region
	n    int
	sign float64 // -1 turns the lowest value into the highest of the negatives
}

// The numbers a SinceState keeps before its ring of values.
const (
	sinceSeen  = iota // values added in total
	sinceBest         // number of the extreme among them
	sinceGap          // number of the last missing value, plus one
	sinceStart = iota
)

// SinceMax makes the state of the bars since the highest of n values.
func (s *Slab) SinceMax(n int) SinceState { return s.since(n, 1) }

// SinceMin makes the state of the bars since the lowest of n values.
func (s *Slab) SinceMin(n int) SinceState { return s.since(n, -1) }

func (s *Slab) since(n int, sign float64) SinceState {
	checkWindow(n)
	return SinceState{region: s.reserve(sinceStart + n), n: n, sign: sign}
}

// Step takes the bar's value and returns how many bars ago the extreme was, 0 for this
// bar. Of equal values the newest counts.
func (e *SinceState) Step(x float64) float64 {
	m := e.mem(sinceStart + e.n)
	ring, i := m[sinceStart:], int(m[sinceSeen])
	x *= e.sign
	ring[i%e.n] = x
	m[sinceSeen]++
	if x != x {
		m[sinceGap] = float64(i + 1)
	}
	best := int(m[sinceBest])
	switch {
	case best <= i-e.n:
		best = e.search(ring, i)
	case !(x < ring[best%e.n]): // also where one of them is missing
		best = i
	}
	m[sinceBest] = float64(best)
	if i+1 < e.n || int(m[sinceGap]) > i+1-e.n {
		return math.NaN()
	}
	return float64(i - best)
}

// search returns the number of the newest extreme of a full window that ends at i.
func (e *SinceState) search(ring []float64, i int) int {
	best := i
	for k := i - 1; k > i-e.n; k-- {
		if ring[k%e.n] > ring[best%e.n] {
			best = k
		}
	}
	return best
}

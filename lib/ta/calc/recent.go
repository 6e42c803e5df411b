package calc

// RecentState holds the last n values in order, for values that are computed from all
// of them at each bar.
type RecentState struct {
	region
	n int
}

// Recent makes the state of the last n values.
func (s *Slab) Recent(n int) RecentState {
	checkWindow(n)
	return RecentState{region: s.reserve(1 + 2*n), n: n}
}

// Step takes the bar's value and returns the last n, the oldest first, or nil while
// there are fewer. The slice is valid until the next call and must not be written to.
func (r *RecentState) Step(x float64) []float64 {
	m := r.mem(1 + 2*r.n)
	// Each value is stored twice, n apart, so that n values are always in one piece.
	ring := m[1:]
	at := int(m[0]) % r.n
	ring[at], ring[at+r.n] = x, x
	if m[0]++; m[0] < float64(r.n) {
		return nil
	}
	return ring[at+1 : at+1+r.n]
}

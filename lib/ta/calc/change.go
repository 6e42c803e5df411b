package calc

import "math"

// LagState is a delay line.
type LagState struct {
	region
	n int
}

// Lag makes a delay of n bars; n may be 0.
func (s *Slab) Lag(n int) LagState {
	checkWindow(n + 1)
	return LagState{region: s.reserve(n + 1), n: n}
}

// Step takes the bar's value and returns that of n bars before.
func (l *LagState) Step(x float64) float64 {
	if l.n == 0 {
		return x
	}
	m := l.mem(l.n + 1)
	at := 1 + int(m[0])%l.n
	out := m[at]
	if m[0] < float64(l.n) {
		out = math.NaN()
	}
	m[at] = x
	m[0]++
	return out
}

// ROCState is the state of a rate of change.
type ROCState struct{ lag LagState }

// ROC makes the state of a rate of change over n bars.
func (s *Slab) ROC(n int) ROCState { return ROCState{s.Lag(n)} }

// Step takes the bar's value and returns its change in percent of the value n bars
// before, NaN where that is 0.
func (r *ROCState) Step(x float64) float64 {
	base := r.lag.Step(x)
	if base == 0 {
		return math.NaN()
	}
	return float64(100 * ((x - base) / base))
}

// ChangeState is the state of a difference.
type ChangeState struct{ lag LagState }

// Change makes the state of a difference over n bars.
func (s *Slab) Change(n int) ChangeState { return ChangeState{s.Lag(n)} }

// Step takes the bar's value and returns its difference.
func (c *ChangeState) Step(x float64) float64 { return x - c.lag.Step(x) }

// CumulativeState is the state of a running total.
type CumulativeState struct{ region }

// Cumulative makes the state of a running total.
func (s *Slab) Cumulative() CumulativeState { return CumulativeState{s.reserve(1)} }

// Step takes the bar's value and returns the total.
func (c *CumulativeState) Step(x float64) float64 {
	if missing(x) {
		return math.NaN()
	}
	m := c.mem(1)
	m[0] += x
	return m[0]
}

// Restart makes the next total begin at 0, as an anchored one does with each
// session.
func (c *CumulativeState) Restart() { c.mem(1)[0] = 0 }

// CrossState is the state of a crossing: the last two values, and whether there
// were any.
type CrossState struct{ region }

// Cross makes the state of a crossing of two series.
func (s *Slab) Cross() CrossState { return CrossState{s.reserve(3)} }

// Step takes both values of the bar and reports whether a rose above b or fell below
// it: beyond it now and not at the bar before. Both are false at the first bar and
// where a value is missing.
func (c *CrossState) Step(a, b float64) (up, down bool) {
	m := c.mem(3)
	if m[2] != 0 {
		up, down = m[0] <= m[1] && a > b, m[0] >= m[1] && a < b
	}
	m[0], m[1], m[2] = a, b, 1
	return up, down
}

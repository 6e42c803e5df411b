package calc

import "math"

// Change writes the difference from the value n bars before.
func Change(dst, src []float64, n int) {
	dst = dst[:len(src)]
	Lag(dst, src, n)
	for i, x := range src {
		dst[i] = x - dst[i]
	}
}

// ROC writes the difference from the value n bars before in percent of that
// value, NaN where that value is 0.
func ROC(dst, src []float64, n int) {
	dst = dst[:len(src)]
	Lag(dst, src, n)
	for i, x := range src {
		dst[i] = percent(x, dst[i])
	}
}

func percent(x, base float64) float64 {
	if base == 0 {
		return math.NaN()
	}
	return 100 * ((x - base) / base)
}

// Lag writes the value of n bars before; n may be 0.
func Lag(dst, src []float64, n int) {
	checkWindow(n + 1)
	dst = dst[:len(src)]
	n = min(n, len(dst))
	fillNaN(dst[:n])
	copy(dst[n:], src)
}

// Cumulative writes the running total from the first value on.
func Cumulative(dst, src []float64) {
	dst = dst[:len(src)]
	total := 0.0
	for i, x := range src {
		if missing(x) {
			dst[i] = math.NaN()
			continue
		}
		total += x
		dst[i] = total
	}
}

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

// Step takes the bar's value and returns its change in percent.
func (r *ROCState) Step(x float64) float64 { return percent(x, r.lag.Step(x)) }

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

package calc

import "math"

// HilbertState is the state of Ehlers' measurement of the dominant cycle: the price is
// smoothed over four bars, its trend removed, and the phase between that and its Hilbert
// transform gives the period.
type HilbertState struct {
	region
	start int
}

// Where a HilbertState keeps its numbers. Each series begins with its newest value and
// is 0 before the start.
const (
	hilbertSeen = iota
	hilbertI2
	hilbertQ2
	hilbertRe
	hilbertIm
	hilbertPeriod
	hilbertSmoothPeriod
	hilbertHead    = iota
	hilbertPrices  = hilbertHead              // 4 prices
	hilbertSmooth  = hilbertPrices + 4        // smoothed prices, as many as the longest period
	hilbertDetrend = hilbertSmooth + maxCycle // 10 values without trend
	hilbertQuad    = hilbertDetrend + 10      // 7 values of their transform
	hilbertSize    = hilbertQuad + 7
)

// The shortest and the longest cycle that is measured.
const (
	minCycle = 6
	maxCycle = 50
)

// Hilbert makes the state of a dominant cycle. The measurement begins at the bar with
// the number start, at least 3, which matters for the first values only.
func (s *Slab) Hilbert(start int) HilbertState {
	return HilbertState{region: s.reserve(hilbertSize), start: max(start, 3)}
}

// Cycle is what a HilbertState knows at a bar.
type Cycle struct {
	InPhase, Quadrature float64   // the parts of the phasor
	Period              float64   // bars of the dominant cycle, smoothed
	Smooth              []float64 // smoothed prices, the newest first; valid until the next step
}

// Step takes the bar's value. Before the start, and where the value is missing, ok is
// false; a missing value changes nothing.
func (h *HilbertState) Step(x float64) (c Cycle, ok bool) {
	if missing(x) {
		return Cycle{}, false
	}
	m := h.mem(hilbertSize)
	prices := m[hilbertPrices:hilbertSmooth]
	enter(prices, x)
	m[hilbertSeen]++
	if int(m[hilbertSeen]) <= h.start {
		return Cycle{}, false
	}
	smooth, trendless, quad := m[hilbertSmooth:hilbertDetrend], m[hilbertDetrend:hilbertQuad], m[hilbertQuad:]
	enter(smooth, (float64(4*prices[0])+float64(3*prices[1])+float64(2*prices[2])+prices[3])/10)
	scale := float64(0.075*m[hilbertPeriod]) + 0.54
	enter(trendless, float64(scale*transform(smooth)))
	enter(quad, float64(scale*transform(trendless)))
	inPhase := trendless[3]
	advanceI, advanceQ := float64(scale*transform(trendless[3:])), float64(scale*transform(quad))
	turn(m, inPhase-advanceQ, quad[0]+advanceI)
	return Cycle{InPhase: inPhase, Quadrature: quad[0], Period: m[hilbertSmoothPeriod], Smooth: smooth}, true
}

// enter moves the values one place on and puts x before them.
func enter(values []float64, x float64) {
	copy(values[1:], values)
	values[0] = x
}

// transform is the Hilbert transform of values that begin with the newest. Values that
// are all equal give exactly 0.
func transform(v []float64) float64 {
	return float64(0.0962*(v[0]-v[6])) + float64(0.5769*(v[2]-v[4]))
}

// turn updates the period with the two parts of the advanced phasor.
func turn(m []float64, inPhase, quadrature float64) {
	i2 := float64(0.2*inPhase) + float64(0.8*m[hilbertI2])
	q2 := float64(0.2*quadrature) + float64(0.8*m[hilbertQ2])
	re := float64(0.2*(float64(i2*m[hilbertI2])+float64(q2*m[hilbertQ2]))) + float64(0.8*m[hilbertRe])
	im := float64(0.2*(float64(i2*m[hilbertQ2])-float64(q2*m[hilbertI2]))) + float64(0.8*m[hilbertIm])
	if missing(re + im + i2 + q2) {
		i2, q2, re, im = 0, 0, 0, 0 // the squares of prices near the largest number
	}
	m[hilbertI2], m[hilbertQ2], m[hilbertRe], m[hilbertIm] = i2, q2, re, im
	before := m[hilbertPeriod]
	period := before
	if angle := Atan(im / re); re != 0 && im != 0 && angle != 0 {
		period = 2 * math.Pi / angle
	}
	period = max(min(period, 1.5*before), 0.67*before)
	period = min(max(period, minCycle), maxCycle)
	m[hilbertPeriod] = float64(0.2*period) + float64(0.8*before)
	m[hilbertSmoothPeriod] = float64(0.33*m[hilbertPeriod]) + float64(0.67*m[hilbertSmoothPeriod])
}

// Bars returns the period in whole bars.
func (c Cycle) Bars() int { return int(c.Period + 0.5) }

// Phase returns the phase of the dominant cycle in degrees, from -45 to 315, or before
// where the cycle has no amplitude.
func (c Cycle) Phase(before float64) float64 {
	n := c.Bars()
	re, im := 0.0, 0.0
	for i := range n {
		sin, cos := SinCos(float64(i) * (2 * math.Pi) / float64(n))
		// The sines and the cosines of a whole turn add up to 0, so the newest price may be
		// taken off. Equal prices then give exactly 0.
		x := c.Smooth[i] - c.Smooth[0]
		re += float64(sin * x)
		im += float64(cos * x)
	}
	var phase float64
	switch {
	case im != 0:
		phase = float64(Atan(re/im) * (180 / math.Pi))
	case re > 0:
		phase = 90
	case re < 0:
		phase = -90
	default:
		return before
	}
	phase += 90 + 360/c.Period
	if im < 0 {
		phase += 180
	}
	if phase > 315 {
		phase -= 360
	}
	return phase
}

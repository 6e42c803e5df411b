package calc

import "math"

// position is where x lies between low and top, from 0 to 100; NaN where the two are
// equal, as on TradingView. It divides before it multiplies, so that no rounding leads
// above 100.
func position(x, top, low float64) float64 {
	if top == low {
		return math.NaN()
	}
	return float64(100 * ((x - low) / (top - low)))
}

// Stochastic writes %K, the mean over smoothK bars of where c lies between the lowest l
// and the highest h of the last n bars, and %D, the mean of %K over smoothD bars.
func Stochastic(k, d, h, l, c []float64, n, smoothK, smoothD int, slots Slots) {
	h, l, k, d = h[:len(c)], l[:len(c)], k[:len(c)], d[:len(c)]
	extreme(d, h, n, highest)
	extreme(k, l, n, lowest)
	for i, x := range c {
		d[i] = position(x, d[i], k[i])
	}
	centred(k, d, smoothK, slots)
	centred(d, k, smoothD, slots)
}

// StochRawState is the state of a raw stochastic value.
type StochRawState struct{ top, low ExtremeState }

// StochRaw makes the state of a raw stochastic value over n bars.
func (s *Slab) StochRaw(n int) StochRawState { return StochRawState{top: s.Max(n), low: s.Min(n)} }

// Step takes the bar's high, low and close and returns the raw value.
func (s *StochRawState) Step(h, l, c float64) float64 {
	top, low := s.top.Step(h), s.low.Step(l)
	return position(c, top, low)
}

// StochasticState is the state of a smoothed stochastic.
type StochasticState struct {
	raw  StochRawState
	k, d centredState
}

// Stochastic makes the state of a smoothed stochastic.
func (s *Slab) Stochastic(n, smoothK, smoothD int) StochasticState {
	return StochasticState{raw: s.StochRaw(n), k: s.centred(smoothK), d: s.centred(smoothD)}
}

// Step takes the high, low and close of the bar at slot and returns %K and %D.
func (s *StochasticState) Step(slot Slot, h, l, c float64) (k, d float64) {
	k = s.k.step(slot, s.raw.Step(h, l, c))
	return k, s.d.step(slot, k)
}

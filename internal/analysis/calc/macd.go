package calc

import "math"

// MACD writes the difference of a fast and a slow EMA, its own EMA, and the
// difference of the two. Each average is seeded at its own length, as on
// TradingView: with 12, 26, 9 the line begins at 25 and the signal at 33.
func MACD(line, signal, hist, src []float64, fast, slow, smoothing int) {
	line, signal, hist = line[:len(src)], signal[:len(src)], hist[:len(src)]
	f, s, g := exponential(fast), exponential(slow), exponential(smoothing)
	first := 0
	for ; first < len(src) && (!f.ready() || !s.ready() || !g.ready()); first++ {
		line[first], signal[first], hist[first] = math.NaN(), math.NaN(), math.NaN()
		if x := src[first]; !missing(x) {
			m, v := f.add(x)-s.add(x), math.NaN()
			if m == m {
				v = g.add(m)
			}
			line[first], signal[first], hist[first] = m, v, m-v
		}
	}
	src, line, signal, hist = src[first:], line[first:], signal[first:], hist[first:]
	line, signal, hist = line[:len(src)], signal[:len(src)], hist[:len(src)]
	fk, frest, fv := f.k, f.rest, f.value
	sk, srest, sv := s.k, s.rest, s.value
	gk, grest, gv := g.k, g.rest, g.value
	for i, x := range src {
		if missing(x) {
			line[i], signal[i], hist[i] = math.NaN(), math.NaN(), math.NaN()
			continue
		}
		fv = float64(fk*x) + float64(frest*fv)
		sv = float64(sk*x) + float64(srest*sv)
		m := fv - sv
		gv = float64(gk*m) + float64(grest*gv)
		line[i], signal[i], hist[i] = m, gv, m-gv
	}
}

// MACDState is the state of a MACD.
type MACDState struct{ fast, slow, signal EMAState }

// MACD makes the state of a MACD.
func (s *Slab) MACD(fast, slow, smoothing int) MACDState {
	return MACDState{fast: s.EMA(fast), slow: s.EMA(slow), signal: s.EMA(smoothing)}
}

// Step takes the bar's value and returns the line, the signal and their
// difference.
func (m *MACDState) Step(x float64) (line, signal, hist float64) {
	line, signal = math.NaN(), math.NaN()
	if missing(x) {
		return line, signal, line
	}
	line = m.fast.add(x) - m.slow.add(x)
	if line == line {
		signal = m.signal.add(line)
	}
	return line, signal, line - signal
}

package calc

import "math"

// EMA writes the exponential moving average with factor 2/(n+1), seeded with the
// mean of the first n values.
func EMA(dst, src []float64, n int) { recursive(dst, src, exponential(n)) }

// RMA writes the recursive moving average with factor 1/n, seeded with the mean of the
// first n values.
func RMA(dst, src []float64, n int) { recursive(dst, src, wilder(n)) }

func recursive(dst, src []float64, a average) {
	dst = dst[:len(src)]
	first := 0
	for ; first < len(src) && !a.ready(); first++ {
		dst[first] = math.NaN()
		if !missing(src[first]) {
			dst[first] = a.add(src[first])
		}
	}
	src, dst = src[first:], dst[first:]
	dst = dst[:len(src)]
	k, rest, value := a.k, a.rest, a.value
	for i, x := range src {
		if missing(x) {
			dst[i] = math.NaN()
			continue
		}
		value = float64(k*x) + float64(rest*value)
		dst[i] = value
	}
}

// average is a recursive mean. Batch kernels and states share its seed and step.
type average struct {
	k, rest float64 // weight of the new value, weight of the old mean
	need    int     // values in the seed
	seen    int     // values added, up to need
	value   float64 // their sum until the seed is complete, then the mean
}

func exponential(n int) average {
	checkWindow(n)
	k := 2 / (float64(n) + 1)
	return average{k: k, rest: 1 - k, need: n}
}

func wilder(n int) average {
	checkWindow(n)
	k := 1 / float64(n)
	return average{k: k, rest: 1 - k, need: n}
}

func (a *average) ready() bool { return a.seen >= a.need }

// add adds x and returns the mean, NaN before the seed is complete. The batch
// kernels repeat its last lines to keep the mean in a register. The caller checks
// whether x is missing.
func (a *average) add(x float64) float64 {
	if a.seen < a.need {
		a.value += x
		a.seen++
		if a.seen < a.need {
			return math.NaN()
		}
		a.value /= float64(a.need)
		return a.value
	}
	a.value = float64(a.k*x) + float64(a.rest*a.value)
	return a.value
}

// EMAState is the state of an EMA or, with another factor, of an RMA.
type EMAState struct {
	region
	average // k, rest and need; the changing fields live in the slab
}

const averageSize = 2

// EMA makes the state of an EMA of n bars.
func (s *Slab) EMA(n int) EMAState { return s.average(exponential(n)) }

// RMA makes the state of an RMA of n bars.
func (s *Slab) RMA(n int) EMAState { return s.average(wilder(n)) }

func (s *Slab) average(a average) EMAState {
	return EMAState{region: s.reserve(averageSize), average: a}
}

// Step takes the bar's value and returns the mean.
func (e *EMAState) Step(x float64) float64 {
	if missing(x) {
		return math.NaN()
	}
	return e.add(x)
}

// Pass is Step for many values, of which it returns none.
func (e *EMAState) Pass(src []float64) {
	a := e.load()
	i := 0
	for ; i < len(src) && !a.ready(); i++ {
		if !missing(src[i]) {
			a.add(src[i])
		}
	}
	k, rest, value := a.k, a.rest, a.value
	for _, x := range src[i:] {
		if !missing(x) {
			value = float64(k*x) + float64(rest*value)
		}
	}
	a.value = value
	e.store(a)
}

// add is average.add on the slab; with the seed complete it takes the short way.
func (e *EMAState) add(x float64) float64 {
	m := e.mem(averageSize)
	if m[1] == float64(e.need) {
		value := float64(e.k*x) + float64(e.rest*m[0])
		m[0] = value
		return value
	}
	return e.seed(x)
}

func (e *EMAState) seed(x float64) float64 {
	a := e.load()
	out := a.add(x)
	e.store(a)
	return out
}

func (e *EMAState) load() average {
	m, a := e.mem(averageSize), e.average
	a.value, a.seen = m[0], int(m[1])
	return a
}

func (e *EMAState) store(a average) {
	m := e.mem(averageSize)
	m[0], m[1] = a.value, float64(a.seen)
}

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

package calc

import "math"

// EMA writes the exponential moving average with factor 2/(n+1), seeded with the
// mean of the first n values.
func EMA(dst, src []float64, n int) {
	a := exponential(n)
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

func (e *EMAState) add(x float64) float64 {
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

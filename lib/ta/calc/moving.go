package calc

import "math"

// The moving averages of this file are made of the kernels of the others.

// ChainState is the state of an EMA of an EMA, up to six deep: the parts of DEMA, TEMA
// and T3.
type ChainState struct {
	means   [6]EMAState
	weights [6]float64 // of each EMA in the average
	depth   int
}

// DEMA makes the state of a double exponential average: twice the EMA less its EMA.
func (s *Slab) DEMA(n int) ChainState { return s.chain(n, 2, -1) }

// TEMA makes the state of a triple exponential average.
func (s *Slab) TEMA(n int) ChainState { return s.chain(n, 3, -3, 1) }

// T3 makes the state of Tillson's average with a volume factor, 0.7 as a rule.
func (s *Slab) T3(n int, factor float64) ChainState {
	square := float64(factor * factor)
	cube := float64(square * factor)
	return s.chain(n, 0, 0,
		1+float64(3*factor)+float64(3*square)+cube,
		float64(-6*square)-float64(3*factor)-float64(3*cube),
		float64(3*square)+float64(3*cube),
		-cube)
}

func (s *Slab) chain(n int, weights ...float64) ChainState {
	c := ChainState{depth: len(weights)}
	copy(c.weights[:], weights)
	for i := range weights {
		c.means[i] = s.EMA(n)
	}
	return c
}

// Step takes the bar's value and returns the average.
func (c *ChainState) Step(x float64) float64 {
	sum := 0.0
	for i := range c.depth {
		x = c.means[i].Step(x)
		if c.weights[i] != 0 {
			sum += float64(c.weights[i] * x)
		}
	}
	return sum
}

// ZLEMAState is the state of an EMA of twice the value less the value half its length
// ago, which removes most of the lag.
type ZLEMAState struct {
	lag  LagState
	mean EMAState
}

// ZLEMA makes the state of a zero-lag EMA of n bars. Half rounds down.
func (s *Slab) ZLEMA(n int) ZLEMAState {
	checkWindow(n)
	return ZLEMAState{lag: s.Lag((n - 1) / 2), mean: s.EMA(n)}
}

// Step takes the bar's value and returns the average.
func (z *ZLEMAState) Step(x float64) float64 { return z.mean.Step(float64(2*x) - z.lag.Step(x)) }

// TriangularState is the state of a mean of means, which weights the middle most.
type TriangularState struct{ inner, outer SMAState }

// Triangular makes the state of a triangular average over n bars.
func (s *Slab) Triangular(n int) TriangularState {
	checkWindow(n)
	return TriangularState{inner: s.SMA((n + 1) / 2), outer: s.SMA(n/2 + 1)}
}

// Step takes the value of the bar at slot and returns the average.
func (t *TriangularState) Step(slot Slot, x float64) float64 {
	return t.outer.Step(slot, t.inner.Step(slot, x))
}

// VWMAState is the state of a mean weighted by volume.
type VWMAState struct{ products, volumes SumState }

// VWMA makes the state of a volume-weighted mean over n bars.
func (s *Slab) VWMA(n int) VWMAState { return VWMAState{products: s.Sum(n), volumes: s.Sum(n)} }

// Step takes the value and the volume of the bar at slot and returns the mean, NaN
// without volume.
func (v *VWMAState) Step(slot Slot, x, volume float64) float64 {
	product, total := v.products.Step(slot, float64(x*volume)), v.volumes.Step(slot, volume)
	if total == 0 {
		return math.NaN()
	}
	return product / total
}

// KAMAState is the state of Kaufman's adaptive average: an EMA whose factor grows with
// how straight the way was.
type KAMAState struct {
	region
	last, back LagState
	way        SumState
	slow, fast float64 // factors
}

// KAMA makes the state over n bars with the lengths of the fastest and the slowest EMA.
func (s *Slab) KAMA(n, fast, slow int) KAMAState {
	return KAMAState{
		region: s.reserve(2), last: s.Lag(1), back: s.Lag(n), way: s.Sum(n),
		fast: 2 / (float64(fast) + 1), slow: 2 / (float64(slow) + 1),
	}
}

// Step takes the value of the bar at slot and returns the average, which begins at the
// value before the first.
func (k *KAMAState) Step(slot Slot, x float64) float64 {
	before, old := k.last.Step(x), k.back.Step(x)
	way := k.way.Step(slot, math.Abs(x-before))
	if missing(way) || missing(x-old) {
		return math.NaN()
	}
	straight := 1.0 // also where nothing moved
	if direct := math.Abs(x - old); way > direct {
		straight = direct / way
	}
	factor := float64(straight*(k.fast-k.slow)) + k.slow
	factor = float64(factor * factor)
	m := k.mem(2)
	if m[1] == 0 {
		m[0], m[1] = before, 1
	}
	m[0] += float64(factor * (x - m[0]))
	return m[0]
}

// McGinleyState is the state of McGinley's dynamic average.
type McGinleyState struct {
	region
	seed EMAState
	n    float64
}

// McGinley makes the state of the average over n bars, seeded with the mean of the first
// n values.
func (s *Slab) McGinley(n int) McGinleyState {
	return McGinleyState{region: s.reserve(2), seed: s.EMA(n), n: float64(n)}
}

// Step takes the bar's value and returns the average. A step never goes past the value,
// which the formula alone does when the value falls to a fraction of the average.
func (g *McGinleyState) Step(x float64) float64 {
	if missing(x) {
		return math.NaN()
	}
	m := g.mem(2)
	if m[1] == 0 {
		mean := g.seed.Step(x)
		if mean == mean {
			m[0], m[1] = mean, 1
		}
		return mean
	}
	ratio := x / m[0]
	ratio = float64(ratio * ratio)
	factor := 1 / float64(g.n*float64(ratio*ratio))
	if !(factor < 1) {
		factor = 1
	}
	m[0] += float64(factor * (x - m[0]))
	return m[0]
}

// FIRState is the state of a weighted sum of the last values.
type FIRState struct {
	region
	weights []float64 // the oldest value's first
}

// ALMA makes the state of a mean over n bars with the weights of a bell curve, whose top
// lies at offset (0 the oldest bar, 1 the newest) and whose deviation is n/sigma bars.
func (s *Slab) ALMA(n int, offset, sigma float64) FIRState {
	checkWindow(n)
	top, width := float64(offset*float64(n-1)), float64(n)/sigma
	weights, sum := make([]float64, n), 0.0
	for i := range weights {
		away := (float64(i) - top) / width
		weights[i] = exp(float64(away*away) * -0.5)
		sum += weights[i]
	}
	for i := range weights {
		weights[i] /= sum
	}
	return FIRState{region: s.reserve(n + 1), weights: weights}
}

// Step takes the bar's value and returns the sum.
func (f *FIRState) Step(x float64) float64 {
	n := len(f.weights)
	m := f.mem(n + 1)
	seen := int(m[n])
	m[seen%n] = x
	m[n]++
	if seen+1 < n {
		return math.NaN()
	}
	sum, at := 0.0, (seen+1)%n
	for _, w := range f.weights {
		sum += float64(w * m[at])
		if at++; at == n {
			at = 0
		}
	}
	return sum
}

// exp is e to the power of x for x from -700 to 0, the same on every processor, which
// math.Exp is not. Below it is 0.
func exp(x float64) float64 {
	if x < -700 {
		return 0
	}
	const high, low = 6.93147180369123816490e-01, 1.90821492927058770002e-10 // ln 2 in two parts
	k := math.Round(x / math.Ln2)
	r := (x - float64(k*high)) - float64(k*low)
	sum := 1.0
	for i := 17.0; i > 0; i-- {
		sum = 1 + float64(r*sum)/i
	}
	return math.Ldexp(sum, int(k))
}

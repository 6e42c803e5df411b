package performance

import (
	"math"
	"math/rand/v2"
)

// Probabilistic returns the probability that the true Sharpe ratio lies above a
// benchmark, by Bailey and López de Prado (2012). Both ratios are by bars.
func (m Moments) Probabilistic(benchmark float64) float64 {
	width := math.Sqrt(1 - float64(m.Skew*m.Sharpe) + float64((m.Kurtosis-1)/4*m.Sharpe*m.Sharpe))
	return normal((m.Sharpe - benchmark) * math.Sqrt(float64(m.N-1)) / width)
}

// Deflated returns the same after the best of many trials was chosen (2014). The
// variance is that of the trials' ratios; zero takes the variance of chance alone.
func (m Moments) Deflated(trials int, variance float64) float64 {
	if trials < 2 {
		return m.Probabilistic(0)
	}
	if variance == 0 {
		variance = 1 / float64(m.N)
	}
	const gamma = 0.5772156649015329
	n := float64(trials)
	best := math.Sqrt(variance) * (float64((1-gamma)*quantile(1-1/n)) + float64(gamma*quantile(1-1/(n*math.E))))
	return m.Probabilistic(best)
}

func normal(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

func quantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }

// Shuffled is what random orders of the same trades show.
type Shuffled struct {
	Actual, Median, High float64 // drawdown of closed trades: as it was, median, 95 % of orders
	NetLow, NetHigh      float64 // 95 % of the results when trades are drawn with replacement
}

// Shuffle reorders trades 1,000 times and draws them with replacement as often.
func Shuffle(profits []float64, seed uint64) Shuffled {
	const runs = 1000
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // G404: the same seed gives the same answer
	falls, nets := make([]float64, runs), make([]float64, runs)
	order := append([]float64(nil), profits...)
	for i := range runs {
		random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		falls[i] = fall(order)
		for range profits {
			nets[i] += profits[random.IntN(len(profits))]
		}
	}
	return Shuffled{
		Actual: fall(profits), Median: Percentile(falls, 50), High: Percentile(falls, 95),
		NetLow: Percentile(nets, 2.5), NetHigh: Percentile(nets, 97.5),
	}
}

// fall returns the largest drop of the running sum from its peak.
func fall(profits []float64) float64 {
	var sum, peak, most float64
	for _, p := range profits {
		sum += p
		peak = max(peak, sum)
		most = max(most, peak-sum)
	}
	return most
}

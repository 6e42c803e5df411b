package ta

import (
	"math"
	"slices"

	"candela/lib/ta/calc"
)

// The indicators of this file describe the distribution of the last prices.

func stdev() Def {
	return windowed{line: "StDev", length: 20, least: 1, source: "close", next: deviationOf(func(_, _, dev float64) float64 { return dev })}.def(Def{
		Name: "stdev", Aliases: []string{"stddev"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Standard deviation of the price; how far it spreads around its average.",
		Formula: "Square root of the mean squared distance from SMA(source, length).",
		Truth:   "TradingView ta.stdev, TA-Lib STDDEV",
	})
}

func variance() Def {
	return windowed{line: "Var", length: 20, least: 1, source: "close", next: deviationOf(func(_, _, dev float64) float64 { return dev * dev })}.def(Def{
		Name: "variance", Like: "stdev", Aliases: []string{"var"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Variance of the price; the square of the standard deviation.",
		Formula: "Mean squared distance from SMA(source, length).",
		Truth:   "TradingView ta.variance, TA-Lib VAR",
	})
}

func zscore() Def {
	return windowed{
		line: "Z", length: 20, least: 2, source: "close", levels: []HLine{{Y: 2}, {Y: 0, Style: Zero}, {Y: -2}},
		next: deviationOf(func(x, mean, dev float64) float64 {
			if still(mean, dev) {
				return math.NaN()
			}
			return (x - mean) / dev
		}),
	}.def(Def{
		Name: "zscore", Like: "stdev", Aliases: []string{"z_score"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Z-score: distance from average in deviations; beyond 2 is unusual.",
		Formula: "(source - SMA(source, length)) / population standard deviation. No value while the deviation is zero, or below 1e-12 of the price.",
		Truth:   "TradingView's ta.sma and ta.stdev (pandas-ta divides by the sample deviation)",
	})
}

// deviationOf returns a step with f of the price, its mean and its deviation.
func deviationOf(f func(x, mean, dev float64) float64) func(*calc.Slab, int) func(calc.Slot, float64) float64 {
	return func(m *calc.Slab, n int) func(calc.Slot, float64) float64 {
		spread := m.Deviation(n)
		return func(slot calc.Slot, x float64) float64 {
			mean, dev := spread.Step(slot, x)
			return f(x, mean, dev)
		}
	}
}

func meanDeviation() Def {
	return windowed{line: "MAD", length: 14, least: 2, source: "close", next: func(m *calc.Slab, n int) func(calc.Slot, float64) float64 {
		deviation := m.MeanDeviation(n)
		return func(slot calc.Slot, x float64) float64 {
			_, away := deviation.Step(slot, x)
			return away
		}
	}}.def(Def{
		Name: "mad", Aliases: []string{"avgdev"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Mean absolute deviation of the price; less moved by single bars than the standard deviation.",
		Formula: "Mean of |source - SMA(source, length)|.",
		Truth:   "TradingView ta.dev, TA-Lib AVGDEV",
	})
}

func medianPrice() Def {
	return windowed{line: "Median", length: 14, least: 1, most: maxSorted, source: "close", next: sorted}.def(Def{
		Name: "median", Like: "midpoint", Kind: Overlay, Group: GroupTrend,
		Doc:     "Median of the last prices; an average that single bars do not move.",
		Formula: "The middle of the last `length` values in order, or the mean of the middle two.",
		Truth:   "pandas-ta median (TradingView's ta.median has the lower of the middle two)",
	})
}

// maxSorted is the longest window that is sorted at each bar.
const maxSorted = 500

// sorted returns a step with the median.
func sorted(m *calc.Slab, n int) func(calc.Slot, float64) float64 {
	recent, room := m.Recent(n), make([]float64, n)
	return func(_ calc.Slot, x float64) float64 {
		last := recent.Step(x)
		if last == nil {
			return math.NaN()
		}
		copy(room, last)
		slices.Sort(room)
		if math.IsNaN(room[0]) { // they come first
			return math.NaN()
		}
		return room[(n-1)/2] + (room[n/2]-room[(n-1)/2])/2
	}
}

func skew() Def {
	return windowed{line: "Skew", length: 30, least: 3, source: "close", levels: []HLine{{Y: 0, Style: Zero}}, next: moments(func(n, m2, m3, _ float64) float64 {
		return float64(n*math.Sqrt(n-1)) / (n - 2) * m3 / float64(m2*math.Sqrt(m2))
	})}.def(Def{
		Name: "skew", Aliases: []string{"skewness"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Skewness of the price; above zero when the far prices lie above the average.",
		Formula: "n sqrt(n-1) / (n-2) x sum of d^3 / (sum of d^2)^1.5, d the distance from the mean. No value while all prices are equal.",
		Truth:   "pandas-ta skew, as spreadsheets",
	})
}

func kurtosis() Def {
	return windowed{line: "Kurtosis", length: 30, least: 4, source: "close", levels: []HLine{{Y: 0, Style: Zero}}, next: moments(func(n, m2, _, m4 float64) float64 {
		scale := float64(n*(n+1)) * (n - 1) / float64((n-2)*(n-3))
		return float64(scale*(m4/float64(m2*m2))) - float64(3*float64((n-1)*(n-1)))/float64((n-2)*(n-3))
	})}.def(Def{
		Name: "kurtosis", Like: "skew", Kind: Panel, Group: GroupVolatility,
		Doc:     "Excess kurtosis of the price; above zero when far prices are more frequent than in a normal distribution.",
		Formula: "n (n+1) (n-1) / ((n-2) (n-3)) x sum of d^4 / (sum of d^2)^2 - 3 (n-1)^2 / ((n-2) (n-3)), d the distance from the mean. No value while all prices are equal.",
		Truth:   "pandas-ta kurtosis, as spreadsheets",
	})
}

// moments returns a step with f of the number of values and the sums of the powers 2, 3
// and 4 of their distances from the mean.
func moments(f func(n, m2, m3, m4 float64) float64) func(*calc.Slab, int) func(calc.Slot, float64) float64 {
	return func(m *calc.Slab, n int) func(calc.Slot, float64) float64 {
		recent, count := m.Recent(n), float64(n)
		return func(_ calc.Slot, x float64) float64 {
			last := recent.Step(x)
			if last == nil {
				return math.NaN()
			}
			shift, sum := last[0], 0.0
			for _, x := range last {
				sum += x - shift
			}
			mean := shift + sum/count
			m2, m3, m4 := 0.0, 0.0, 0.0
			for _, x := range last {
				d := x - mean
				square := float64(d * d)
				m2 += square
				m3 += float64(square * d)
				m4 += float64(square * square)
			}
			if still(mean, math.Sqrt(m2/count)) {
				return math.NaN()
			}
			return f(count, m2, m3, m4)
		}
	}
}

func percentRank() Def {
	return windowed{line: "Rank", length: 100, least: 1, past: 1, source: "close", yRange: &[2]float64{0, 100}, levels: []HLine{{Y: 50}}, next: func(m *calc.Slab, n int) func(calc.Slot, float64) float64 {
		recent := m.Recent(n + 1)
		return func(_ calc.Slot, x float64) float64 {
			last := recent.Step(x)
			if last == nil {
				return math.NaN()
			}
			atMost := 0
			for _, before := range last[:n] {
				if math.IsNaN(before) {
					return before
				}
				if before <= x {
					atMost++
				}
			}
			return 100*float64(atMost)/float64(n) + 0*x
		}
	}}.def(Def{
		Name: "percent_rank", Aliases: []string{"percentrank"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Percent rank, 0 to 100; the share of earlier prices that are not above this one.",
		Formula: "100 x number of the `length` values before this one that are at most this one / length.",
		Truth:   "TradingView ta.percentrank (TA-Lib counts equal values as above)",
	})
}

// Package performance measures the result of a run: returns, drawdowns, ratios and how
// likely they are to be luck. It works on slices of numbers and knows nothing of markets.
package performance

import (
	"math"
	"slices"
	"time"
)

// Curve is the equity at the close of each bar.
type Curve struct {
	Capital float64
	Times   []int64 // milliseconds, ascending
	Equity  []float64
	PerYear float64 // bars a year
}

// Summary is what a curve shows. A value that cannot be computed is NaN.
type Summary struct {
	Drawdown, DrawdownPercent float64 // from the highest close
	DrawdownBars              int     // longest run below the highest close
	CAGR                      float64 // percent a year of 365 days
	Volatility                float64 // percent a year
	Sharpe, Sortino, Calmar   float64 // by bars
	Monthly                   Ratios
	Months                    []Month
	Moments                   Moments
}

// Ratios are Sharpe and Sortino as TradingView computes them: by months, not
// annualised, less a rate of 2 % a year; by days when the curve has under three months.
type Ratios struct {
	Sharpe, Sortino float64
	Daily           bool
}

// Month is the return of one calendar month in UTC.
type Month struct {
	Year    int
	Month   time.Month
	Percent float64
}

// Moments describe the returns by bars.
type Moments struct {
	N              int
	Sharpe         float64 // not annualised
	Skew, Kurtosis float64 // a normal distribution has 0 and 3
}

// Measure computes the summary of a curve.
func Measure(c Curve) Summary {
	var s Summary
	s.Drawdown, s.DrawdownPercent, s.DrawdownBars = drawdown(c.Capital, c.Equity)
	s.CAGR = growth(c)
	returns := changes(c.Equity)
	mean, sd := meanAndDeviation(returns, 1)
	year := math.Sqrt(c.PerYear)
	s.Volatility = sd * year * 100
	s.Sharpe = ratio(mean, sd) * year
	s.Sortino = ratio(mean, below(returns, 0)) * year
	s.Calmar = ratio(s.CAGR, s.DrawdownPercent)
	s.Months = months(c)
	s.Monthly = monthly(c, s.Months)
	s.Moments = moments(returns, mean, sd)
	return s
}

// ratio divides, and returns NaN where the divisor is zero.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// drawdown returns the largest fall from the running peak in money and in percent of
// that peak, and the longest run of bars below it.
func drawdown(capital float64, equity []float64) (most, percent float64, bars int) {
	peak, run := capital, 0
	for _, e := range equity {
		if e >= peak {
			peak, run = e, 0
			continue
		}
		run++
		bars = max(bars, run)
		most = max(most, peak-e)
		percent = max(percent, 100*(peak-e)/peak)
	}
	return most, percent, bars
}

// growth returns the yearly growth in percent, NaN for a curve without a span or with no
// equity left.
func growth(c Curve) float64 {
	if len(c.Times) < 2 {
		return math.NaN()
	}
	const year = 365 * 24 * 60 * 60 * 1000
	years := float64(c.Times[len(c.Times)-1]-c.Times[0]) / year
	last := c.Equity[len(c.Equity)-1]
	if years <= 0 || last <= 0 {
		return math.NaN()
	}
	return (math.Pow(last/c.Capital, 1/years) - 1) * 100
}

// changes returns the relative changes between neighbours.
func changes(v []float64) []float64 {
	if len(v) < 2 {
		return nil
	}
	out := make([]float64, len(v)-1)
	for i := range out {
		out[i] = v[i+1]/v[i] - 1
	}
	return out
}

// meanAndDeviation returns the mean and the deviation with n-less as divisor.
func meanAndDeviation(v []float64, less int) (mean, sd float64) {
	if len(v) <= less {
		return math.NaN(), math.NaN()
	}
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		sd += float64((x - mean) * (x - mean))
	}
	return mean, math.Sqrt(sd / float64(len(v)-less))
}

// below returns the root of the mean square of what lies below a target.
func below(v []float64, target float64) float64 {
	var sum float64
	for _, x := range v {
		d := min(0, x-target)
		sum += float64(d * d)
	}
	return math.Sqrt(sum / float64(len(v)))
}

// months returns the returns of the calendar months, the first from the capital.
func months(c Curve) []Month {
	var out []Month
	before := c.Capital
	for i, ms := range c.Times {
		at := time.UnixMilli(ms).UTC()
		if i+1 < len(c.Times) {
			next := time.UnixMilli(c.Times[i+1]).UTC()
			if next.Month() == at.Month() && next.Year() == at.Year() {
				continue
			}
		}
		out = append(out, Month{at.Year(), at.Month(), (c.Equity[i]/before - 1) * 100})
		before = c.Equity[i]
	}
	return out
}

const riskFree = 0.02 // a year

// monthly returns the ratios by months, or by days when there are under three months.
func monthly(c Curve, all []Month) Ratios {
	if len(all) >= 3 {
		returns := make([]float64, len(all))
		for i := range all {
			returns[i] = all[i].Percent / 100
		}
		return ratios(returns, riskFree/12, false)
	}
	return ratios(days(c), riskFree/365, true)
}

func ratios(returns []float64, free float64, daily bool) Ratios {
	if len(returns) < 3 {
		return Ratios{Sharpe: math.NaN(), Sortino: math.NaN(), Daily: daily}
	}
	mean, sd := meanAndDeviation(returns, 0)
	return Ratios{Sharpe: ratio(mean-free, sd), Sortino: ratio(mean-free, below(returns, free)), Daily: daily}
}

// days returns the returns of calendar days in UTC, the first from the capital.
func days(c Curve) []float64 {
	const day = 24 * 60 * 60 * 1000
	var out []float64
	before := c.Capital
	for i, ms := range c.Times {
		if i+1 < len(c.Times) && c.Times[i+1]/day == ms/day {
			continue
		}
		out = append(out, c.Equity[i]/before-1)
		before = c.Equity[i]
	}
	return out
}

func moments(returns []float64, mean, sd float64) Moments {
	m := Moments{N: len(returns), Sharpe: ratio(mean, sd), Skew: math.NaN(), Kurtosis: math.NaN()}
	_, whole := meanAndDeviation(returns, 0)
	if m.N < 2 || whole == 0 {
		return m
	}
	var third, fourth float64
	for _, r := range returns {
		d := (r - mean) / whole
		third += float64(d * d * d)
		fourth += float64(d * d * d * d)
	}
	m.Skew, m.Kurtosis = third/float64(m.N), fourth/float64(m.N)
	return m
}

// Trades is what a list of closed trades shows.
type Trades struct {
	Count, Winners, Losers    int
	Net, Gain, Loss           float64 // sums of all, of winners, of losers (positive)
	ProfitFactor, WinRate     float64 // WinRate in percent
	Expectancy, Win, LossMean float64 // means
	Payoff, SQN               float64
	LongestLosing             int
}

// MeasureTrades computes the figures of the results of closed trades, after costs.
func MeasureTrades(profits []float64) Trades {
	t := Trades{Count: len(profits)}
	run := 0
	for _, p := range profits {
		t.Net += p
		switch {
		case p > 0:
			t.Winners++
			t.Gain += p
		case p < 0:
			t.Losers++
			t.Loss -= p
		}
		if p < 0 {
			run++
			t.LongestLosing = max(t.LongestLosing, run)
		} else {
			run = 0
		}
	}
	n := float64(t.Count)
	t.ProfitFactor = ratio(t.Gain, t.Loss)
	t.WinRate = ratio(100*float64(t.Winners), n)
	t.Expectancy = ratio(t.Net, n)
	t.Win, t.LossMean = ratio(t.Gain, float64(t.Winners)), ratio(t.Loss, float64(t.Losers))
	t.Payoff = ratio(t.Win, t.LossMean)
	mean, sd := meanAndDeviation(profits, 1)
	t.SQN = math.Sqrt(n) * ratio(mean, sd)
	return t
}

// Percentile returns the value below which p percent of v lie, between neighbours by a
// straight line. It sorts v.
func Percentile(v []float64, p float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	at := p / 100 * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + float64((at-float64(i))*(v[i+1]-v[i]))
}

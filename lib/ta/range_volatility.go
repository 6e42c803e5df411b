package ta

import (
	"math"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

// The indicators of this file estimate the volatility of a year from the four prices of
// each bar, which needs fewer bars than closes alone.

// barVariance is an indicator of the mean over `length` bars of a term that estimates
// the variance of one bar.
func barVariance(d Def, short string, term func(market.Bar) float64) Def {
	d.Kind, d.Group = Panel, GroupVolatility
	d.Formula += " Annualised as `histvol`: 100 x root x square root of the bars in a year."
	d.Truth = "published formula; second derivation in the tests"
	d.Params, d.Lines = []Param{lengthFrom(20, 1, "bars in the mean")}, []string{short}
	d.New = func(v Values) Instance {
		n := v.Int("length")
		return single(labelOf(short, v, "length"), short, n-1, n, func(m *calc.Slab, env Env) func(*Row) float64 {
			mean, year := m.SMA(n), env.Calendar.PerYear(env.Interval)
			return func(r *Row) float64 { return yearly(mean.Step(r.Slot, term(r.Bar)), year) }
		})
	}
	return d
}

// yearly turns the variance of a bar into the percent volatility of a year.
func yearly(variance, barsAYear float64) float64 {
	if variance < 0 {
		variance = 0 // only from bars whose close lies outside their range
	}
	return 100 * math.Sqrt(float64(variance*barsAYear))
}

func parkinson() Def {
	return barVariance(Def{
		Name:    "parkinson",
		Doc:     "Parkinson volatility, percent per year; from highs and lows.",
		Formula: "Root of the mean of ln(h/l)^2 / (4 ln 2).",
	}, "Parkinson", func(b market.Bar) float64 {
		wide := calc.Log(b.H / b.L)
		return float64(wide*wide) / (4 * math.Ln2)
	})
}

func garmanKlass() Def {
	return barVariance(Def{
		Name: "garman_klass", Like: "parkinson",
		Doc:     "Garman-Klass volatility, percent per year; from all four prices.",
		Formula: "Root of the mean of ln(h/l)^2 / 2 - (2 ln 2 - 1) ln(c/o)^2.",
	}, "GK", func(b market.Bar) float64 {
		wide, move := calc.Log(b.H/b.L), calc.Log(b.C/b.O)
		return float64(0.5*float64(wide*wide)) - float64((2*math.Ln2-1)*float64(move*move))
	})
}

func rogersSatchell() Def {
	return barVariance(Def{
		Name: "rogers_satchell", Like: "parkinson",
		Doc:     "Rogers-Satchell volatility, percent per year; right also in a trend.",
		Formula: "Root of the mean of ln(h/c) ln(h/o) + ln(l/c) ln(l/o).",
	}, "RS", rogersSatchellTerm)
}

func rogersSatchellTerm(b market.Bar) float64 {
	return float64(calc.Log(b.H/b.C)*calc.Log(b.H/b.O)) + float64(calc.Log(b.L/b.C)*calc.Log(b.L/b.O))
}

func yangZhang() Def {
	return Def{
		Name: "yang_zhang", Like: "parkinson", Kind: Panel, Group: GroupVolatility,
		Doc: "Yang-Zhang volatility, percent per year; includes gaps between bars.",
		Formula: "Root of o + k c + (1-k) rs: o and c are the sample variances of ln(open / previous close) and ln(close / open) over `length` bars, " +
			"rs the Rogers-Satchell mean, k = 0.34 / (1.34 + (n+1)/(n-1)). Annualised as `histvol`.",
		Truth:  "published formula; second derivation in the tests",
		Params: []Param{lengthFrom(20, 2, "bars in the variances")}, Lines: []string{"YZ"},
		New: func(v Values) Instance {
			n := v.Int("length")
			count := float64(n)
			k, sample := 0.34/(1.34+(count+1)/(count-1)), count/(count-1)
			return single(labelOf("YZ", v, "length"), "YZ", n, n+1, func(m *calc.Slab, env Env) func(*Row) float64 {
				last, night, day, rs := m.Lag(1), m.Deviation(n), m.Deviation(n), m.SMA(n)
				year := env.Calendar.PerYear(env.Interval)
				return func(r *Row) float64 {
					_, gap := night.Step(r.Slot, calc.Log(r.Bar.O/last.Step(r.Bar.C)))
					_, move := day.Step(r.Slot, calc.Log(r.Bar.C/r.Bar.O))
					within := rs.Step(r.Slot, rogersSatchellTerm(r.Bar))
					between := float64(float64(gap*gap)*sample) + float64(float64(k*sample)*float64(move*move))
					return yearly(between+float64((1-k)*within), year)
				}
			})
		},
	}
}

// hurstLags are the distances whose moves the Hurst exponent compares: 2 to the power of
// 0 to 4.
const hurstLags = 5

func hurst() Def {
	return windowed{
		line: "Hurst", length: 100, least: 32, source: "close", yRange: &[2]float64{0, 1}, levels: []HLine{{Y: 0.5}}, next: hurstStep,
	}.def(Def{
		Name: "hurst", Kind: Panel, Group: GroupTrend,
		Doc: "Hurst exponent; above 0.5 moves continue, below they revert.",
		Formula: "Least squares slope of ln(root mean square of ln(source / source k bars ago)) against ln(k), k = 1, 2, 4, 8, 16, over all pairs within `length` bars. " +
			"No value while the price stands still.",
		Truth: "generalised Hurst exponent of order 2; second derivation in the tests",
	})
}

func hurstStep(m *calc.Slab, n int) func(calc.Slot, float64) float64 {
	var back [hurstLags]calc.LagState
	var sums [hurstLags]calc.SumState
	for k := range hurstLags {
		back[k], sums[k] = m.Lag(1<<k), m.Sum(n-1<<k)
	}
	return func(slot calc.Slot, x float64) float64 {
		level := calc.Log(x)
		slope := 0.0
		for k := range hurstLags {
			move := level - back[k].Step(level)
			if math.Abs(move) < 1e-12 {
				move = 0 // rounding of equal prices
			}
			square := sums[k].Step(slot, float64(move*move)) / float64(n-1<<k)
			// The places -2 to 2 have a sum of squares of 10; half of a logarithm of a mean
			// square is that of its root.
			slope += float64(float64(k-2) / 20 * calc.Log(square))
		}
		return slope / math.Ln2
	}
}

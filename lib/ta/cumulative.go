package ta

import (
	"fmt"
	"math"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

func obv() Def {
	return Def{
		Name: "obv", Kind: Panel, Group: GroupVolume,
		Doc:     "On-balance volume; volume added on rising closes and taken off on falling ones. Only its direction matters, not its level.",
		Formula: "Sum of volume signed by the change of the close, from 0 at the first bar shown, whose time is `anchored_at` in answers.",
		Truth:   "TradingView ta.obv (TA-Lib starts at the first bar's volume)",
		Lines:   []string{"OBV"},
		New: func(Values) Instance {
			return running("OBV", func(before float64, b market.Bar) float64 {
				switch {
				case b.C > before:
					return b.V
				case b.C < before:
					return -b.V
				}
				return 0
			})
		},
	}
}

func ad() Def {
	return Def{
		Name: "ad", Aliases: []string{"ad_line"}, Kind: Panel, Group: GroupVolume,
		Doc:     "Accumulation/distribution; volume weighted by where each bar closed in its range, added up. Only its direction matters, not its level.",
		Formula: "Sum of ((c-l)-(h-c))/(h-l) x volume from the first bar shown, whose time is `anchored_at` in answers; a bar without range adds nothing.",
		Truth:   "TradingView ta.accdist, TA-Lib AD",
		Lines:   []string{"A/D"},
		New: func(Values) Instance {
			return running("A/D", func(_ float64, b market.Bar) float64 { return accumulated(b) })
		},
	}
}

// running is a sum of what each bar adds after the close before it. It starts at 0.
func running(name string, adds func(before float64, b market.Bar) float64) *series {
	s := single(name, name, 0, 1, func(m *calc.Slab, _ Env) func(*Row) float64 {
		last, total := m.Lag(1), m.Cells(1)
		return func(r *Row) float64 {
			sum := total.Mem()
			if x := adds(last.Step(r.Bar.C), r.Bar); finite(x) {
				sum[0] += x
			}
			return sum[0]
		}
	})
	s.sum = true
	return s
}

func atr() Def {
	return Def{
		Name: "atr", Kind: Panel, Group: GroupVolatility,
		Doc:     "Average true range: price movement per bar; used for stops and position size.",
		Formula: "Wilder average of the true range max(h, previous c) - min(l, previous c); the first bar's is h - l and takes part in the seed.",
		Truth:   "TradingView ta.atr (TA-Lib and Skender leave the first bar out and agree within 1e-6 from bar 200 on)",
		Params:  []Param{Int("period", 14, 1, 5000, "bars in the average").As("length")},
		Lines:   []string{"ATR"},
		New: func(v Values) Instance {
			n := v.Int("period")
			s := single(fmt.Sprintf("ATR(%d)", n), "ATR", n-1, wilderStable(n), func(m *calc.Slab, _ Env) func(*Row) float64 {
				average := m.ATR(n)
				return func(r *Row) float64 { return average.Step(r.Bar.H, r.Bar.L, r.Bar.C) }
			})
			s.batch = func(in Input, col [][]float64) { calc.ATR(col[0], in.Bars.H, in.Bars.L, in.Bars.C, n) }
			return s
		},
	}
}

func histVol() Def {
	return Def{
		Name: "histvol", Aliases: []string{"hv"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Historical volatility, percent per year.",
		Formula: "100 x population standard deviation of ln(close / previous close) over `period` returns x square root of the bars in a year of this interval and market (365 days round the clock, 252 sessions for stocks).",
		Truth:   "TradingView historical volatility, with the market's own number of bars a year",
		Params:  []Param{Int("period", 20, 1, 5000, "returns in the deviation").As("length")},
		Lines:   []string{"HV"},
		New: func(v Values) Instance {
			n := v.Int("period")
			return single(fmt.Sprintf("HV(%d)", n), "HV", n, n+1, func(m *calc.Slab, env Env) func(*Row) float64 {
				last, spread := m.Lag(1), m.Deviation(n)
				year := math.Sqrt(env.Calendar.PerYear(env.Interval))
				return func(r *Row) float64 {
					_, deviation := spread.Step(r.Slot, logReturn(last.Step(r.Bar.C), r.Bar.C))
					return 100 * deviation * year
				}
			})
		},
	}
}

// logReturn is ln(to/from), and no value where a price is not positive.
func logReturn(from, to float64) float64 {
	if !(from > 0) || !(to > 0) {
		return math.NaN()
	}
	return calc.Log(to / from)
}

func adx() Def {
	return Def{
		Name: "adx", Aliases: []string{"dmi"}, Kind: Panel, Group: GroupTrend,
		Doc:     "Average directional index: trend strength, +DI, -DI; above 25 is a trend, and the DI lines show its direction.",
		Formula: "Wilder averages of +DM, -DM and true range over `period` changes; DI = 100 x DM / TR; ADX = Wilder average of 100 x |+DI - -DI| / (+DI + -DI).",
		Truth:   "TradingView ta.dmi, Skender (TA-Lib seeds its averages with one bar less and agrees within 1e-6 from bar 200 on)",
		Params:  []Param{Int("period", 14, 1, 5000, "bars in the averages").As("length")},
		Lines:   []string{"ADX", "+DI", "-DI"}, Signals: crossTriggers("+DI", "-DI"),
		New: func(v Values) Instance {
			n := v.Int("period")
			return &series{
				label: fmt.Sprintf("ADX(%d)", n), first: n, stable: 2 * wilderStable(n), columns: 3,
				lines: solid("ADX", "+DI", "-DI"), levels: []HLine{{Y: 25}}, yRange: &[2]float64{0, 100},
				begin: func(m *calc.Slab, _ Env) step {
					s := m.ADX(n)
					return func(r *Row) { r.Values[0], r.Values[1], r.Values[2] = s.Step(r.Bar.H, r.Bar.L, r.Bar.C) }
				},
				detect: func(r *Row) { r.crosses(1, 2) },
				batch: func(in Input, col [][]float64) {
					calc.ADX(col[0], col[1], col[2], in.Bars.H, in.Bars.L, in.Bars.C, n)
				},
			}
		},
	}
}

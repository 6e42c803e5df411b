package ta

import (
	"math"

	"candela/lib/ta/calc"
)

func natr() Def {
	return Def{
		Name: "natr", Aliases: []string{"atr_percent"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Average true range in percent; comparable between markets.",
		Formula: "100 x `atr` / close.",
		Truth:   "Tulip natr, as TradingView ta.atr over close (TA-Lib leaves the first bar out and agrees within 1e-6 from bar 200 on)",
		Params:  []Param{lengthFrom(14, 1, "bars in the average")},
		Lines:   []string{"NATR"},
		New: func(v Values) Instance {
			n := v.Int("length")
			return single(labelOf("NATR", v, "length"), "NATR", n-1, wilderStable(n), func(m *calc.Slab, _ Env) func(*Row) float64 {
				average := m.ATR(n)
				return func(r *Row) float64 { return 100 * ratio(average.Step(r.Bar.H, r.Bar.L, r.Bar.C), r.Bar.C) }
			})
		},
	}
}

func chop() Def {
	return Def{
		Name: "chop", Aliases: []string{"choppiness"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Choppiness index, 0 to 100; above 61.8 sideways, below 38.2 a trend.",
		Formula: "100 x log10(sum of true range / (highest high - lowest low)) / log10(length), over `length` bars. No value while the range is zero.",
		Truth:   "TradingView choppiness index",
		Params:  []Param{lengthFrom(14, 2, "bars in the sums")},
		Lines:   []string{"CHOP"},
		New: func(v Values) Instance {
			n := v.Int("length")
			s := single(labelOf("CHOP", v, "length"), "CHOP", n-1, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				tr, sum, high, low := m.TrueRange(), m.Sum(n), m.Max(n), m.Min(n)
				scale := calc.Log(float64(n))
				return func(r *Row) float64 {
					moved := sum.Step(r.Slot, tr.Step(r.Bar.H, r.Bar.L, r.Bar.C))
					return 100 * (calc.Log(moved/(high.Step(r.Bar.H)-low.Step(r.Bar.L))) / scale)
				}
			})
			s.levels, s.yRange = []HLine{{Y: 61.8}, {Y: 38.2}}, &[2]float64{0, 100}
			return s
		},
	}
}

func massIndex() Def {
	const smoothing = 9
	return Def{
		Name: "mass_index", Aliases: []string{"massi"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Mass index; with length 25, a rise above 27 and a fall below 26.5 often precede a reversal.",
		Formula: "Sum over `length` bars of EMA(h-l, 9) / EMA(EMA(h-l, 9), 9).",
		Truth:   "TradingView mass index, TA-Lib MASSI",
		Params:  []Param{lengthFrom(10, 1, "bars in the sum")},
		Lines:   []string{"Mass"},
		New: func(v Values) Instance {
			n := v.Int("length")
			first := 2*(smoothing-1) + n - 1
			s := single(labelOf("Mass", v, "length"), "Mass", first, 2*emaStable(smoothing)+n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				once, twice, sum := m.EMA(smoothing), m.EMA(smoothing), m.Sum(n)
				return func(r *Row) float64 {
					a := once.Step(r.Bar.H - r.Bar.L)
					return sum.Step(r.Slot, ratio(a, twice.Step(a)))
				}
			})
			if n == 25 { // the length that Dorsey's levels are for
				s.levels = []HLine{{Y: 27}, {Y: 26.5}}
			}
			return s
		},
	}
}

func relativeVolatility() Def {
	return Def{
		Name: "rvi", Aliases: []string{"relative_volatility"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Relative volatility index, 0 to 100; above 50 the volatility is on rising bars.",
		Formula: "100 x u / (u + d): EMAs over ema_length bars of the population standard deviation over `length` bars, u of rising bars, d of the others. No value while both are zero.",
		Truth:   "TradingView relative volatility index (it also counts bars before the first deviation, which changes its first values; TA-Lib smooths by Wilder)",
		Params:  []Param{lengthFrom(10, 2, "bars in the deviation"), Int("ema_length", 14, 1, longest, "bars in the averages"), source("close")},
		Order:   []string{"length", "ema_length"}, Lines: []string{"RVI"},
		New: func(v Values) Instance {
			n, smooth, price := v.Int("length"), v.Int("ema_length"), sourceOf(v.Text("source"))
			s := single(labelOf("RVI", v, "length", "ema_length"), "RVI", n+smooth-2, n+signedStable(smooth), func(m *calc.Slab, _ Env) func(*Row) float64 {
				spread, last, up, down := m.Deviation(n), m.Lag(1), m.EMA(smooth), m.EMA(smooth)
				return func(r *Row) float64 {
					x := price(r.Bar)
					_, dev := spread.Step(r.Slot, x)
					rise, fall := 0*dev, dev
					if calc.Difference(x, last.Step(x)) > 0 {
						rise, fall = dev, 0*dev
					}
					u, d := up.Step(rise), down.Step(fall)
					return 100 * ratio(u, u+d)
				}
			})
			s.levels, s.yRange = []HLine{{Y: 80}, {Y: 50}, {Y: 20}}, &[2]float64{0, 100}
			return s
		},
	}
}

func chaikinVolatility() Def {
	return Def{
		Name: "cvi", Aliases: []string{"chaikin_volatility"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Chaikin volatility: change of the average range.",
		Formula: "100 x (e / e roc_length bars ago - 1), e = EMA(h-l, length). An e below 1e-12 of the price is zero, and no value follows from it.",
		Truth:   "TradingView Chaikin volatility, TA-Lib CVI",
		Params:  []Param{lengthFrom(10, 1, "bars in the average"), Int("roc_length", 10, 1, longest, "bars to look back")},
		Order:   []string{"length", "roc_length"}, Lines: []string{"CVI"},
		New: func(v Values) Instance {
			n, back := v.Int("length"), v.Int("roc_length")
			s := single(labelOf("CVI", v, "length", "roc_length"), "CVI", n-1+back, emaStable(n)+back, func(m *calc.Slab, _ Env) func(*Row) float64 {
				mean, change := m.EMA(n), m.ROC(back)
				return func(r *Row) float64 { return change.Step(unless(mean.Step(r.Bar.H-r.Bar.L), r.Bar.C)) }
			})
			s.levels = []HLine{{Y: 0, Style: Zero}}
			return s
		},
	}
}

func ulcer() Def {
	return Def{
		Name: "ulcer", Aliases: []string{"ulcer_index"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Ulcer index: depth and length of falls, percent; only falls count, not rises.",
		Formula: "Square root of SMA(d^2, length), d = 100 x (source / highest source of `length` bars - 1).",
		Truth:   "the library ta, pandas-ta ui",
		Params:  []Param{lengthFrom(14, 1, "bars in the high and in the mean"), source("close")},
		Lines:   []string{"Ulcer"},
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			return single(labelOf("Ulcer", v, "length"), "Ulcer", 2*n-2, 2*n-1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				high, mean := m.Max(n), m.SMA(n)
				return func(r *Row) float64 {
					x := price(r.Bar)
					below := 100 * (ratio(x, high.Step(x)) - 1)
					return math.Sqrt(mean.Step(r.Slot, float64(below*below)))
				}
			})
		},
	}
}

func adr() Def {
	return Def{
		Name: "adr", Kind: Panel, Group: GroupVolatility,
		Doc: "Average daily range, price or percent; how far a day usually moves.",
		Formula: "price: mean of high - low of the last `length` whole days of the market's calendar; percent: 100 x (mean of high / low - 1). " +
			"Bars of a day or more count each as one. The first day of a history is not counted: it may be a part of one.",
		Truth:  "TradingView average day range and TA-Lib ADR on daily bars",
		Params: []Param{lengthFrom(14, 1, "days in the mean"), Choice("unit", "price", []string{"price", "percent"}, "unit of the range")},
		Lines:  []string{"ADR"},
		New: func(v Values) Instance {
			n, percent := v.Int("length"), v.Text("unit") == "percent"
			s := single(labelOf("ADR", v, "length", "unit"), "ADR", 0, 0, func(m *calc.Slab, env Env) func(*Row) float64 {
				d := newDays(m, env)
				mean, held := m.SMA(n), m.Cells(1)
				return func(r *Row) float64 {
					high, low, day, ended := d.next(r)
					if r.Index == 0 {
						held.Mem()[0] = math.NaN()
					}
					if !ended {
						return held.Mem()[0]
					}
					width := high - low
					if percent {
						width = float64(100 * (ratio(high, low) - 1))
					}
					value := mean.Step(day, width)
					held.Mem()[0] = value
					return value
				}
			})
			s.warm = func(env Env) (first, stable int) {
				perDay := periodBars(env.Interval, "day")
				if perDay == 1 {
					return n - 1, n
				}
				return (n + 1) * perDay, (n+2)*perDay + 1
			}
			return s
		},
	}
}

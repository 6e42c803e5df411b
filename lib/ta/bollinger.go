package ta

import (
	"math"

	"candela/lib/ta/calc"
)

// The indicators of this file are derived from Bollinger bands, or drawn like them.

func bandParams() []Param {
	return []Param{lengthFrom(20, 2, "bars in the average"), Num("std_dev", 2, 0.01, 100, "band distance in standard deviations").As("mult"), source("close")}
}

func bbPercent() Def {
	return Def{
		Name: "bb_percent", Aliases: []string{"bbp", "%b"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Bollinger %b: where the price lies between the bands; 0 is the lower, 1 the upper.",
		Formula: "(source - lower) / (upper - lower) of `bbands`. No value while the bands meet.",
		Truth:   "TradingView Bollinger bands %b, pandas-ta bbands",
		Params:  bandParams(), Order: []string{"length", "std_dev"}, Lines: []string{"%B"},
		Signals: []Trigger{
			{"breakout_up", "%B goes from at or below 1 to above it; y is %B"},
			{"breakout_down", "%B goes from at or above 0 to below it; y is %B"},
		},
		New: func(v Values) Instance {
			n, k, price := v.Int("length"), v.Num("std_dev"), sourceOf(v.Text("source"))
			s := single(labelOf("%B", v, "length", "std_dev"), "%B", n-1, n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				spread := m.Deviation(n)
				return func(r *Row) float64 {
					x := price(r.Bar)
					mean, dev := spread.Step(r.Slot, x)
					if still(mean, dev) {
						return math.NaN()
					}
					return 0.5 + (x-mean)/float64(2*k*dev)
				}
			})
			s.levels = []HLine{{Y: 1}, {Y: 0.5}, {Y: 0}}
			s.detect = func(r *Row) {
				if r.Prev[0] <= 1+levelNoise && above(r.Values[0], 1) {
					r.Signal("breakout_up", r.Values[0])
				}
				if r.Prev[0] >= -levelNoise && below(r.Values[0], 0) {
					r.Signal("breakout_down", r.Values[0])
				}
			}
			return s
		},
	}
}

func bbWidth() Def {
	return Def{
		Name: "bb_width", Aliases: []string{"bbw"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Bollinger band width in percent of the average; near its Lowest the market is in a squeeze.",
		Formula: "100 x (upper - lower) / mid of `bbands`; Highest and Lowest of it over `range` bars.",
		Truth:   "TradingView Bollinger BandWidth, pandas-ta bbands",
		Params:  append(bandParams(), Int("range", 125, 1, longest, "bars of Highest and Lowest")),
		Order:   []string{"length", "std_dev", "range"}, Lines: []string{"BBW", "Highest", "Lowest"},
		New: func(v Values) Instance {
			n, k, price, reach := v.Int("length"), v.Num("std_dev"), sourceOf(v.Text("source")), v.Int("range")
			return &series{
				label: labelOf("BBW", v, "length", "std_dev"), first: n - 1, stable: n + reach, columns: 3,
				lines: []Line{{Label: "BBW"}, {Label: "Highest", Style: Band}, {Label: "Lowest", Style: Band}},
				begin: func(m *calc.Slab, _ Env) step {
					spread, high, low := m.Deviation(n), m.Max(reach), m.Min(reach)
					return func(r *Row) {
						mean, dev := spread.Step(r.Slot, price(r.Bar))
						width := ratio(float64(200*k*dev), mean)
						r.Values[0], r.Values[1], r.Values[2] = width, high.Step(width), low.Step(width)
					}
				},
			}
		},
	}
}

func accbands() Def {
	return Def{
		Name: "accbands", Kind: Overlay, Group: GroupVolatility,
		Doc:     "Acceleration bands; wide where bars are long.",
		Formula: "Upper = SMA(h (1 + 4 (h-l)/(h+l))), lower = SMA(l (1 - 4 (h-l)/(h+l))), mid = SMA(close), all over `length` bars.",
		Truth:   "TA-Lib ACCBANDS",
		Params:  []Param{lengthFrom(20, 1, "bars in the averages")},
		Lines:   bandLabels("ACC"), Signals: breakouts("band"),
		New: func(v Values) Instance {
			n := v.Int("length")
			return &series{
				label: labelOf("ACC", v, "length"), first: n - 1, stable: n, columns: bandColumns,
				begin: func(m *calc.Slab, _ Env) step {
					// The mean of a deviation is exact where nothing moves: rounding is no breakout.
					up, mid, low := m.Deviation(n), m.Deviation(n), m.Deviation(n)
					return func(r *Row) {
						b, wider := r.Bar, 0.0
						if b.H+b.L != 0 {
							wider = 4 * (b.H - b.L) / (b.H + b.L)
						}
						r.Values[bandUpper], _ = up.Step(r.Slot, float64(b.H*(1+wider)))
						r.Values[bandMid], _ = mid.Step(r.Slot, b.C)
						r.Values[bandLower], _ = low.Step(r.Slot, float64(b.L*(1-wider)))
						r.Values[bandClose] = b.C
					}
				},
				detect: detectBreakout, lines: bandLines("ACC"), present: fillBands, byBar: true,
			}
		},
	}
}

package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

// The indicators of this file say where a value lies within its recent range.

func stochRSI() Def {
	return Def{
		Name: "stoch_rsi", Aliases: []string{"stochrsi", "srsi"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Stochastic RSI: the RSI within its range, 0 to 100.",
		Formula: "Raw = 100 x (RSI - lowest RSI) / (highest RSI - lowest RSI) over `stoch_length`; K = SMA(raw, smooth_k); D = SMA(K, smooth_d). No value while the RSI stays within 1e-12 of itself.",
		Truth:   "TradingView Stochastic RSI, TA-Lib STOCHRSI, whose fast D is K",
		Params: []Param{
			barsParam("rsi_length", 14, "bars of the RSI").As("length", "period"), barsParam("stoch_length", 14, "bars in the range"),
			barsParam("smooth_k", 3, "bars of the smoothing of K").As("k"), barsParam("smooth_d", 3, "bars of the smoothing of D").As("d"),
			source("close"),
		},
		Lines: []string{"K", "D"}, Signals: stochTriggers("K", "D"),
		New: func(v Values) Instance {
			n, window, k, d := v.Int("rsi_length"), v.Int("stoch_length"), v.Int("smooth_k"), v.Int("smooth_d")
			price := sourceOf(v.Text("source"))
			s := twoLines(fmt.Sprintf("Stoch RSI(%d, %d, %d, %d)", n, window, k, d), "K", "D", n+window+k-2, wilderStable(n)+window+k+d,
				func(m *calc.Slab) func(*Row) (float64, float64) {
					index, place, smoothK, smoothD := m.RSI(n), placeIn(m, window), m.SMA(k), m.SMA(d)
					return func(r *Row) (float64, float64) {
						x := smoothK.Step(r.Slot, place(index.Step(price(r.Bar))))
						return x, smoothD.Step(r.Slot, x)
					}
				})
			s.detect = func(r *Row) { r.stochCrosses(0, 1) }
			s.levels, s.yRange = []HLine{{Y: 80, Label: "overbought"}, {Y: 20, Label: "oversold"}}, &[2]float64{0, 100}
			s.present = func(r *Result, col [][]float64) { r.Fills = []Fill{{Y1: col[0], Y2: col[1], Style: Cloud}} }
			return s
		},
	}
}

// placeIn returns the step of where a value lies between its lowest and its highest of n
// bars, from 0 to 100. There is no value while these differ by rounding only.
func placeIn(m *calc.Slab, n int) func(x float64) float64 {
	top, low := m.Max(n), m.Min(n)
	return func(x float64) float64 {
		high, bottom := top.Step(x), low.Step(x)
		return 100 * share(x-bottom, calc.Difference(high, bottom))
	}
}

func kdj() Def {
	return Def{
		Name: "kdj", Kind: Panel, Group: GroupMomentum,
		Doc:     "KDJ: a smoothed stochastic and its lead J.",
		Formula: "Raw = 100 x (close - lowest low) / (highest high - lowest low) over `length`; K = RMA(raw, signal); D = RMA(K, signal); J = 3K - 2D. A bar without range in the window is left out.",
		Truth:   "TA-Lib KDJ, which begins all lines with D",
		Params:  []Param{lengthParam(9, "bars in the range"), barsParam("signal", 3, "bars of both averages").As("smooth")},
		Lines:   []string{"K", "D", "J"}, Signals: crossTriggers("K", "D"),
		New: func(v Values) Instance {
			n, k := v.Int("length"), v.Int("signal")
			return &series{
				label: fmt.Sprintf("KDJ(%d, %d)", n, k), first: n + k - 2, stable: n + 2*wilderStable(k), columns: 3,
				lines: append(solid("K", "D"), Line{Label: "J", Style: Band}), levels: []HLine{{Y: 80}, {Y: 20}},
				begin: func(m *calc.Slab, _ Env) step {
					raw, smooth, again := m.StochRaw(n), m.RMA(k), m.RMA(k)
					return func(r *Row) {
						x := smooth.Step(raw.Step(r.Bar.H, r.Bar.L, r.Bar.C))
						y := again.Step(x)
						r.Values[0], r.Values[1], r.Values[2] = x, y, float64(3*x)-float64(2*y)
					}
				},
				detect: func(r *Row) { r.crosses(0, 1) },
			}
		},
	}
}

func smi() Def {
	return Def{
		Name: "smi", Aliases: []string{"stochastic_momentum"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Stochastic momentum: distance from mid-range.",
		Formula: "SMI = 200 x EMA(EMA(close - middle)) / EMA(EMA(range)), where range is highest high - lowest low of `length` bars, middle their mean, and both EMAs have `smooth` bars; Signal = EMA(SMI, signal). No value while there is no range.",
		Truth:   "TradingView Stochastic Momentum Index (TA-Lib SMI smooths with two lengths)",
		Params: []Param{
			lengthParam(10, "bars in the range"), barsParam("smooth", 3, "bars of both averages"), barsParam("signal", 3, "bars of the signal line"),
		},
		Lines: []string{"SMI", "Signal"}, Signals: crossTriggers("SMI", "Signal"),
		New: func(v Values) Instance {
			n, k, signal := v.Int("length"), v.Int("smooth"), v.Int("signal")
			s := twoLines(fmt.Sprintf("SMI(%d, %d, %d)", n, k, signal), "SMI", "Signal", n+2*k-3, n+2*emaStable(k)+emaStable(signal),
				func(m *calc.Slab) func(*Row) (float64, float64) {
					top, low := m.Max(n), m.Min(n)
					away, span, last := twice(m, k, k), twice(m, k, k), m.EMA(signal)
					return func(r *Row) (float64, float64) {
						high, bottom := top.Step(r.Bar.H), low.Step(r.Bar.L)
						x := 200 * share(away(r.Bar.C-(high+bottom)/2), span(high-bottom))
						return x, last.Step(x)
					}
				})
			s.levels = []HLine{{Y: 40, Label: "overbought"}, {Y: -40, Label: "oversold"}, {Y: 0, Style: Zero}}
			return s
		},
	}
}

// twice returns the step of an EMA of an EMA.
func twice(m *calc.Slab, first, second int) func(x float64) float64 {
	inner, outer := m.EMA(first), m.EMA(second)
	return func(x float64) float64 { return outer.Step(inner.Step(x)) }
}

func stc() Def {
	return Def{
		Name: "stc", Aliases: []string{"schaff"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Schaff trend cycle: twice stochastic of MACD.",
		Formula: "MACD = EMA(fast) - EMA(slow); its place within its range of `length` bars, from 0 to 100, is smoothed by `factor`; the place of that within its own range is smoothed again. Where the range is zero, or below 1e-12 of the value, the place is the one before, at first 0.",
		Truth:   "TradingView Schaff Trend Cycle (pandas-ta stc takes a place only where the lowest MACD is above zero)",
		Params: []Param{
			lengthParam(10, "bars in the ranges"), barsParam("fast", 23, "bars of the fast average"), barsParam("slow", 50, "bars of the slow average"),
			Num("factor", 0.5, 0.01, 1, "weight of the newest value"), source("close"),
		},
		Lines: []string{"STC"}, Signals: exitTriggers("STC", "75", "25"),
		New: func(v Values) Instance {
			n, fast, slow, factor := v.Int("length"), v.Int("fast"), v.Int("slow"), v.Num("factor")
			price, longer := sourceOf(v.Text("source")), max(fast, slow)
			return single(fmt.Sprintf("STC(%d, %d, %d)", n, fast, slow), "STC", longer+2*n-3, emaStable(longer)+2*(n+int(40/factor)),
				func(m *calc.Slab, _ Env) func(*Row) float64 {
					short, long := m.EMA(fast), m.EMA(slow)
					first, second := newSchaff(m, n, factor), newSchaff(m, n, factor)
					return func(r *Row) float64 {
						x := price(r.Bar)
						return second.next(first.next(calc.Difference(short.Step(x), long.Step(x))))
					}
				}).bounded(75, 25, &[2]float64{0, 100})
		},
	}
}

// schaff is the smoothed place of a value within its range.
type schaff struct {
	top, low calc.ExtremeState
	factor   float64
	cells    calc.Cells // the last place, the mean, and whether there is one
}

func newSchaff(m *calc.Slab, n int, factor float64) *schaff {
	return &schaff{top: m.Max(n), low: m.Min(n), factor: factor, cells: m.Cells(3)}
}

func (s *schaff) next(x float64) float64 {
	high, bottom := s.top.Step(x), s.low.Step(x)
	m, span := s.cells.Mem(), calc.Difference(high, bottom)
	if span != span {
		return span
	}
	if span != 0 {
		m[0] = 100 * ((x - bottom) / span)
	}
	if m[2] == 0 {
		m[1], m[2] = m[0], 1
		return m[1]
	}
	m[1] += float64(s.factor * (m[0] - m[1]))
	return m[1]
}

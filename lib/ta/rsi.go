package ta

import (
	"fmt"
	"slices"

	"candela/lib/ta/calc"
)

func rsi() Def {
	return Def{
		Name: "rsi", Kind: Panel, Group: GroupMomentum,
		Doc:     "Relative strength index, 0 to 100; below 30 oversold, above 70 overbought.",
		Formula: "100 x mean rise / (mean rise + mean fall) of the source, both Wilder averages of `length` changes. Where the price has not fallen, also where it has not moved at all, it is 100.",
		Truth:   "TradingView ta.rsi, TA-Lib RSI (TA-Lib gives 0 for an unchanged price)",
		Params: []Param{
			Int("length", 14, 1, 5000, "bars in the averages").As("period"),
			Num("overbought", 70, 0, 100, "upper level"),
			Num("oversold", 30, 0, 100, "lower level"),
			Bool("show_divergences", false, "find divergences between the RSI and the price"),
			zoneSwitch(), source("close"),
		},
		Lines: []string{"RSI"},
		Signals: slices.Concat([]Trigger{
			{"rsi_oversold", "RSI comes back from below `oversold`: the bar before was below it, this one is not; y is the RSI"},
			{"rsi_overbought", "RSI comes back from above `overbought`: the bar before was above it, this one is not; y is the RSI"},
		}, divergenceTriggers("rsi", "RSI", "; on charts only with `show_divergences`"),
			enterTriggers("rsi_", "RSI", "`overbought`", "`oversold`")),
		Switches: []string{"show_divergences", zoneSignals},
		New: func(v Values) Instance {
			price, from := sourceOf(v.Text("source")), v.Text("source")
			n, top, bottom := v.Int("length"), v.Num("overbought"), v.Num("oversold")
			s := single(sourced(v, fmt.Sprintf("RSI(%d)", n)), "RSI", n, wilderStable(n), func(m *calc.Slab, _ Env) func(*Row) float64 {
				index := m.RSI(n)
				return func(r *Row) float64 { return index.Step(price(r.Bar)) }
			})
			s.detect = zoneDetector(v, 0, bottom, "rsi_oversold", top, "rsi_overbought", "rsi_")
			s.batch = func(in Input, col [][]float64) { calc.RSI(col[0], in.prices(from), n) }
			s.levels = []HLine{{Y: top, Label: "overbought"}, {Y: bottom, Label: "oversold"}, {Y: 50}}
			s.yRange = &[2]float64{0, 100}
			if v.Bool("show_divergences") {
				return s.withDivergences("rsi", 0)
			}
			return s
		},
	}
}

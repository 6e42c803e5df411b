package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

func macd() Def {
	return Def{
		Name: "macd", Kind: Panel, Group: GroupMomentum,
		Doc:     "MACD: fast minus slow average, signal line, histogram; the histogram is their difference.",
		Formula: "MACD = EMA(source, fast) - EMA(source, slow), each seeded at its own length; Signal = EMA(MACD, signal); histogram = MACD - Signal.",
		Truth:   "TradingView ta.macd, Skender (TA-Lib starts the fast average where the slow one starts and agrees within 1e-6 from bar 200 on)",
		Params: []Param{
			Int("fast", 12, 1, 5000, "bars of the fast average").As("fast_length", "fast_period"),
			Int("slow", 26, 1, 5000, "bars of the slow average").As("slow_length", "slow_period"),
			Int("signal", 9, 1, 5000, "bars of the signal line").As("signal_length", "signal_period"),
			source("close"),
		},
		Order: []string{"fast", "slow", "signal"},
		Lines: []string{"MACD", "Signal"}, Signals: crossTriggers("MACD", "Signal"),
		New: func(v Values) Instance {
			fast, slow, signal := v.Int("fast"), v.Int("slow"), v.Int("signal")
			longest, from := max(fast, slow), v.Text("source")
			return &series{
				label: sourced(v, fmt.Sprintf("MACD(%d, %d, %d)", fast, slow, signal)),
				first: longest - 1, stable: emaStable(longest) + emaStable(signal), columns: 3,
				lines: solid("MACD", "Signal"), levels: []HLine{{Y: 0, Style: Zero}},
				begin: func(m *calc.Slab, _ Env) step {
					s, price := m.MACD(fast, slow, signal), sourceOf(from)
					return func(r *Row) { r.Values[0], r.Values[1], r.Values[2] = s.Step(price(r.Bar)) }
				},
				detect: func(r *Row) { r.crosses(0, 1) },
				batch: func(in Input, col [][]float64) {
					calc.MACD(col[0], col[1], col[2], in.prices(from), fast, slow, signal)
				},
				byBar: true,
				present: func(r *Result, col [][]float64) {
					r.Hist = []Hist{{Label: "Histogram", Values: col[2], Style: Momentum}}
				},
			}
		},
	}
}

package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

func stoch() Def {
	return Def{
		Name: "stoch", Aliases: []string{"stochastic"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Stochastic: the close within the range, 0 to 100; smoothed.",
		Formula: "Raw = 100 x (close - lowest low) / (highest high - lowest low) over `period`; %K = SMA(raw, k_smooth); %D = SMA(%K, d_smooth). No value while the range is zero.",
		Truth:   "TradingView ta.stoch with SMA smoothing",
		Params: []Param{
			Int("period", 14, 1, 5000, "bars in the range").As("length", "k"),
			Int("k_smooth", 3, 1, 1000, "bars of the smoothing of %K").As("smooth"),
			Int("d_smooth", 3, 1, 1000, "bars of the smoothing of %D").As("d"),
		},
		Order: []string{"period", "k_smooth", "d_smooth"},
		Lines: []string{"%K", "%D"}, Signals: stochTriggers("%K", "%D"),
		New: func(v Values) Instance {
			n, k, d := v.Int("period"), v.Int("k_smooth"), v.Int("d_smooth")
			return &series{
				label: fmt.Sprintf("Stoch(%d, %d, %d)", n, k, d), first: n + k - 2, stable: n + k + d, columns: 2, lines: solid("%K", "%D"),
				levels: []HLine{{Y: 80, Label: "overbought"}, {Y: 20, Label: "oversold"}}, yRange: &[2]float64{0, 100},
				begin: func(m *calc.Slab, _ Env) step {
					s := m.Stochastic(n, k, d)
					return func(r *Row) { r.Values[0], r.Values[1] = s.Step(r.Slot, r.Bar.H, r.Bar.L, r.Bar.C) }
				},
				detect: func(r *Row) { r.stochCrosses(0, 1) },
				batch: func(in Input, col [][]float64) {
					b := in.Bars
					calc.Stochastic(col[0], col[1], b.H, b.L, b.C, n, k, d, in.slots())
				},
				byBar:   true,
				present: func(r *Result, col [][]float64) { r.Fills = []Fill{{Y1: col[0], Y2: col[1], Style: Cloud}} },
			}
		},
	}
}

func stochTriggers(k, d string) []Trigger {
	return []Trigger{
		{"stoch_oversold", k + " goes from at or below " + d + " to above it while below 20; y is " + k},
		{"stoch_overbought", k + " goes from at or above " + d + " to below it while above 80; y is " + k},
	}
}

// stochCrosses raises the signals of a stochastic in columns k and d.
func (r *Row) stochCrosses(k, d int) {
	if r.CrossedUp(k, d) && below(r.Values[k], 20) {
		r.Signal("stoch_oversold", r.Values[k])
	}
	if r.CrossedDown(k, d) && above(r.Values[k], 80) {
		r.Signal("stoch_overbought", r.Values[k])
	}
}

package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

func vixFix() Def {
	return Def{
		Name: "wvf", Aliases: []string{"vix_fix"}, Kind: Panel, Group: GroupVolatility,
		Doc: "Williams VIX fix: fear near lows; how far the low is below recent closes. Spikes come with panic, near lows.",
		Formula: "WVF = 100 x (highest close of `length` bars - low) / that close. Band = mean + std_dev x population deviation of WVF over 20 bars; Range = 0.85 x highest WVF of 50 bars. " +
			"It spikes while it is above zero and at or above one of them.",
		Truth: "Williams VIX fix as published for TradingView (22, 20, 2, 50, 0.85); second derivation in the tests",
		Params: []Param{
			Int("length", 22, 1, 5000, "bars of the highest close").As("period"), Num("std_dev", 2, 0, 100, "deviations of the band").As("mult"),
		},
		Lines: []string{"WVF", "Band", "Range"},
		Signals: []Trigger{
			{"oversold_enter", "WVF begins to spike; y is WVF"},
			{"oversold_exit", "WVF no longer spikes; y is WVF"},
		},
		New: func(v Values) Instance {
			const wvf, band, peak, spikes, bandBars, peakBars = 0, 1, 2, 3, 20, 50
			n, k := v.Int("length"), v.Num("std_dev")
			return &series{
				label: fmt.Sprintf("WVF(%d, %s)", n, number(k)), first: n - 1, stable: n + peakBars, columns: 4,
				lines: append(solid("WVF"), styled(Band, "Band", "Range")...),
				begin: func(m *calc.Slab, _ Env) step {
					top, spread, highest := m.Max(n), m.Deviation(bandBars), m.Max(peakBars)
					return func(r *Row) {
						high := top.Step(r.Bar.C)
						x := 100 * (high - r.Bar.L) / high
						mean, deviation := spread.Step(r.Slot, x)
						r.Values[wvf], r.Values[band], r.Values[peak] = x, mean+float64(k*deviation), 0.85*highest.Step(x)
						switch {
						case x > 0 && (x >= r.Values[band] || x >= r.Values[peak]):
							r.Values[spikes] = 1
						case x == x:
							r.Values[spikes] = 0
						}
					}
				},
				detect: func(r *Row) {
					if r.Prev[spikes] == 0 && r.Values[spikes] == 1 {
						r.Signal("oversold_enter", r.Values[wvf])
					}
					if r.Prev[spikes] == 1 && r.Values[spikes] == 0 {
						r.Signal("oversold_exit", r.Values[wvf])
					}
				},
			}
		},
	}
}

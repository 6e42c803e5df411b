package ta

import (
	"fmt"
	"slices"

	"candela/lib/ta/calc"
)

func rsiMFIStoch() Def {
	return Def{
		Name: "rsi_mfi_stoch", Aliases: []string{"rsi_combo", "combo"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "RSI, money flow index and stochastic in one panel; a strip shows where momentum and money flow agree.",
		Formula: "RSI, MFI and stochastic as in their own entries. The strip is +1 where RSI and MFI are both above 50, -1 where both are below, else 0.",
		Truth:   "as rsi, mfi and stoch",
		Params: []Param{
			Int("rsi_length", 14, 1, 5000, "bars of the RSI"),
			Int("mfi_length", 14, 1, 5000, "bars of the MFI"),
			Int("stoch_k", 14, 1, 5000, "bars of the stochastic's range"),
			Int("stoch_d", 3, 1, 1000, "bars of the smoothing of D"),
			Int("stoch_smooth", 3, 1, 1000, "bars of the smoothing of K"),
			Num("overbought", 70, 0, 100, "upper level of the RSI"),
			Num("oversold", 30, 0, 100, "lower level of the RSI"),
			Bool("show_entry_dots", true, "give signals"),
			Bool("show_trend_bars", true, "draw the strip"),
			zoneSwitch(),
		},
		Lines: []string{"RSI", "MFI", "Stoch K", "Stoch D"},
		Signals: slices.Concat([]Trigger{
			{"rsi_oversold", "RSI comes back from below `oversold`: the bar before was below it, this one is not; y is the RSI"},
			{"rsi_overbought", "RSI comes back from above `overbought`: the bar before was above it, this one is not; y is the RSI"},
		}, stochTriggers("K", "D"), enterTriggers("rsi_", "RSI", "`overbought`", "`oversold`")),
		Switches: []string{zoneSignals},
		New:      newRSIMFIStoch,
	}
}

func newRSIMFIStoch(v Values) Instance {
	nr, nm, nk := v.Int("rsi_length"), v.Int("mfi_length"), v.Int("stoch_k")
	smooth, nd := v.Int("stoch_smooth"), v.Int("stoch_d")
	top, bottom := v.Num("overbought"), v.Num("oversold")
	const rsi, mfi, k, d, strip = 0, 1, 2, 3, 4
	s := &series{
		label: fmt.Sprintf("RSI/MFI/Stoch(%d, %d, %d)", nr, nm, nk),
		first: min(nr, nm, nk+smooth-2), stable: max(wilderStable(nr), nm+1, nk+smooth+nd), columns: 5,
		lines:  append(solid("RSI", "MFI"), styled(Band, "Stoch K", "Stoch D")...),
		levels: []HLine{{Y: top, Label: "overbought"}, {Y: 50}, {Y: bottom, Label: "oversold"}}, yRange: &[2]float64{0, 100},
		begin: func(m *calc.Slab, _ Env) step {
			index, flow, stochastic := m.RSI(nr), moneyFlow(m, nm), m.Stochastic(nk, smooth, nd)
			return func(r *Row) {
				b := r.Bar
				r.Values[rsi], r.Values[mfi] = index.Step(b.C), flow(r)
				r.Values[k], r.Values[d] = stochastic.Step(r.Slot, b.H, b.L, b.C)
				r.Values[strip] = agreement(r.Values[rsi], r.Values[mfi])
			}
		},
		byBar: true,
		present: func(r *Result, col [][]float64) {
			if v.Bool("show_trend_bars") {
				r.Hist = []Hist{{Label: "Trend", Values: col[strip], Style: State}}
			}
		},
	}
	if v.Bool("show_entry_dots") {
		zones := zoneDetector(v, rsi, bottom, "rsi_oversold", top, "rsi_overbought", "rsi_")
		s.detect = func(r *Row) {
			zones(r)
			r.stochCrosses(k, d)
		}
	}
	return s
}

// agreement is the side of 50 that both values are on, or 0.
func agreement(a, b float64) float64 {
	switch {
	case above(a, 50) && above(b, 50):
		return 1
	case below(a, 50) && below(b, 50):
		return -1
	}
	return 0 * (a + b) // no value while one of them has none
}

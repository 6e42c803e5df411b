package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

// The columns of an indicator that draws a channel around the price. The close
// detects breakouts.
const (
	bandUpper = iota
	bandMid
	bandLower
	bandClose
	bandColumns
)

// breakouts are the signals of every channel.
func breakouts(channel string) []Trigger {
	return []Trigger{
		{"breakout_up", "the close goes from at or below the upper " + channel + " to above it; y is the close"},
		{"breakout_down", "the close goes from at or above the lower " + channel + " to below it; y is the close"},
	}
}

func detectBreakout(r *Row) {
	if r.CrossedUp(bandClose, bandUpper) {
		r.Signal("breakout_up", r.Bar.C)
	}
	if r.CrossedDown(bandClose, bandLower) {
		r.Signal("breakout_down", r.Bar.C)
	}
}

// bandLines are the three lines of a channel.
func bandLines(short string) []Line {
	return []Line{{Label: short + " Upper", Style: Band}, {Label: short + " Mid"}, {Label: short + " Lower", Style: Band}}
}

// fillBands draws the area between the outer two.
func fillBands(r *Result, col [][]float64) {
	r.Fills = []Fill{{Y1: col[bandUpper], Y2: col[bandLower], Style: Channel}}
}

func bandLabels(short string) []string {
	return []string{short + " Upper", short + " Mid", short + " Lower"}
}

func bbands() Def {
	return Def{
		Name: "bbands", Aliases: []string{"bollinger", "bb"}, Kind: Overlay, Group: GroupVolatility,
		Doc:     "Bollinger bands: an average and its deviations; wide when the market is volatile.",
		Formula: "Mid = SMA(source, period); bands = mid +- std_dev x population standard deviation over the period.",
		Truth:   "TradingView ta.bb, TA-Lib BBANDS",
		Params: []Param{
			Int("period", 20, 1, 5000, "bars in the average").As("length"),
			Num("std_dev", 2, 0, 100, "band distance in standard deviations").As("mult", "multiplier"),
			source("close"),
		},
		Order: []string{"period", "std_dev"},
		Lines: bandLabels("BB"), Signals: breakouts("band"),
		New: func(v Values) Instance {
			n, k, from := v.Int("period"), v.Num("std_dev"), v.Text("source")
			return &series{
				label: sourced(v, fmt.Sprintf("BB(%d, %s)", n, number(k))), first: n - 1, stable: n, columns: bandColumns,
				begin: func(m *calc.Slab, _ Env) step {
					bb, price := m.Bollinger(n, k), sourceOf(from)
					return func(r *Row) {
						r.Values[bandUpper], r.Values[bandMid], r.Values[bandLower] = bb.Step(r.Slot, price(r.Bar))
						r.Values[bandClose] = r.Bar.C
					}
				},
				detect: detectBreakout,
				batch: func(in Input, col [][]float64) {
					calc.Bollinger(col[bandUpper], col[bandMid], col[bandLower], in.prices(from), n, k, in.slots())
					copy(col[bandClose], in.Bars.C)
				},
				lines: bandLines("BB"), present: fillBands, byBar: true,
			}
		},
	}
}

func keltner() Def {
	return Def{
		Name: "keltner", Aliases: []string{"kc"}, Kind: Overlay, Group: GroupVolatility,
		Doc:     "Keltner channel: an average and multiples of ATR.",
		Formula: "Mid = EMA(source, period); bands = mid +- multiplier x range, where range is ATR (Wilder) or true range of atr_length bars, or the Wilder average of high - low over the period.",
		Truth:   "TradingView Keltner channels; the default multiplier is 1.5 for clients that know it so (TradingView's is 2; Skender leaves the first bar out of the range and agrees within 1e-6 from bar 200 on)",
		Params: []Param{
			Int("period", 20, 1, 5000, "bars in the average").As("length"),
			Num("multiplier", 1.5, 0, 100, "band distance in ranges").As("mult", "std_dev"),
			Int("atr_length", 10, 1, 5000, "bars in the average true range"),
			Choice("bands_style", "atr", []string{"atr", "true_range", "range"}, "what the bands are measured in"),
			priceSource("close"),
		},
		Order: []string{"period", "multiplier"},
		Lines: bandLabels("KC"), Signals: breakouts("band"),
		New: func(v Values) Instance {
			n, k, style := v.Int("period"), v.Num("multiplier"), v.Text("bands_style")
			atr, price := v.Int("atr_length"), sourceOf(v.Text("source"))
			first, stable := n-1, emaStable(n)
			switch style {
			case "atr":
				first, stable = max(first, atr-1), max(stable, wilderStable(atr))
			case "range":
				stable = wilderStable(n)
			}
			return &series{
				label: sourced(v, fmt.Sprintf("KC(%d, %s, %d)", n, number(k), atr)), first: first, stable: stable, columns: bandColumns,
				begin: func(m *calc.Slab, _ Env) step {
					mid, width := m.EMA(n), keltnerWidth(m, style, n, atr)
					return func(r *Row) {
						middle, away := mid.Step(price(r.Bar)), float64(k*width(r))
						r.Values[bandUpper], r.Values[bandMid], r.Values[bandLower] = middle+away, middle, middle-away
						r.Values[bandClose] = r.Bar.C
					}
				},
				detect: detectBreakout,
				lines:  bandLines("KC"), present: fillBands, byBar: true,
			}
		},
	}
}

// keltnerWidth returns the unit of the band distance.
func keltnerWidth(m *calc.Slab, style string, n, atr int) func(*Row) float64 {
	switch style {
	case "true_range":
		tr := m.TrueRange()
		return func(r *Row) float64 { return tr.Step(r.Bar.H, r.Bar.L, r.Bar.C) }
	case "range":
		mean := m.RMA(n)
		return func(r *Row) float64 { return mean.Step(r.Bar.H - r.Bar.L) }
	}
	average := m.ATR(atr)
	return func(r *Row) float64 { return average.Step(r.Bar.H, r.Bar.L, r.Bar.C) }
}

func donchian() Def {
	return Def{
		Name: "donchian", Aliases: []string{"dc"}, Kind: Overlay, Group: GroupVolatility,
		Doc:     "Donchian channel: highest high and lowest low; a close outside the channel of the bars before is a breakout.",
		Formula: "Upper = highest high, lower = lowest low of the last `period` bars including this one; mid = their mean.",
		Truth:   "TradingView Donchian channels",
		Params:  []Param{Int("period", 20, 1, 5000, "bars in the channel").As("length")},
		Lines:   bandLabels("DC"),
		Signals: []Trigger{
			{"breakout_up", "the close is above the upper line of the bar before, and the close before was not above its own; y is the close"},
			{"breakout_down", "the close is below the lower line of the bar before, and the close before was not below its own; y is the close"},
		},
		New: func(v Values) Instance {
			n := v.Int("period")
			// A row also keeps on which side of the previous channel it closed.
			const side = bandClose
			return &series{
				label: fmt.Sprintf("DC(%d)", n), first: n - 1, stable: n + 1, columns: bandColumns,
				begin: func(m *calc.Slab, _ Env) step {
					high, low := m.Max(n), m.Min(n)
					return func(r *Row) {
						top, bottom := high.Step(r.Bar.H), low.Step(r.Bar.L)
						r.Values[bandUpper], r.Values[bandMid], r.Values[bandLower] = top, (top+bottom)/2, bottom
						r.Values[side] = outsideOf(r.Bar.C, r.Prev[bandLower], r.Prev[bandUpper])
					}
				},
				detect: func(r *Row) { detectOutside(r, side, r.Bar.C) },
				lines:  bandLines("DC"), present: fillBands, byBar: true,
			}
		},
	}
}

// outsideOf returns 1 above the range, -1 below it and 0 inside or without one.
func outsideOf(x, low, high float64) float64 {
	switch {
	case x > high:
		return 1
	case x < low:
		return -1
	}
	return 0
}

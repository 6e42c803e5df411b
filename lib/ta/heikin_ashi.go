package ta

import (
	"math"

	"candela/lib/ta/calc"
)

func heikinAshi() Def {
	return Def{
		Name: "heikin_ashi", Aliases: []string{"ha"}, Kind: Overlay, Group: GroupTrend,
		Doc:     "Heikin-Ashi: averaged candles, not traded prices; they show the trend and hide small reversals.",
		Formula: "Close = (o+h+l+c)/4. Open = mean of the previous Heikin-Ashi open and close, at first (o+c)/2. High and low include both.",
		Truth:   "TradingView, Skender",
		Lines:   []string{"HA Open", "HA High", "HA Low", "HA Close"},
		Signals: []Trigger{
			{"flip_up", "the candle is rising (close at or above open) and the one before was falling; y is its close"},
			{"flip_down", "the candle is falling and the one before was rising; y is its close"},
		},
		New: func(Values) Instance {
			const open, high, low, last = 0, 1, 2, 3
			return &series{
				// Each bar halves the influence of earlier opens: after 53 bars the first is
				// below the precision of a float64; a few more absorb the rounding.
				label: "HA", stable: 70, columns: 4,
				lines: []Line{
					{Label: "HA Open", Style: CandleOpen},
					{Label: "HA High", Style: CandleHigh},
					{Label: "HA Low", Style: CandleLow},
					{Label: "HA Close", Style: CandleClose},
				},
				begin: func(*calc.Slab, Env) step {
					return func(r *Row) {
						b := r.Bar
						c := (b.O + b.H + b.L + b.C) / 4
						o := (r.Prev[open] + r.Prev[last]) / 2
						if math.IsNaN(o) {
							o = (b.O + b.C) / 2
						}
						r.Values[open], r.Values[high] = o, max(b.H, o, c)
						r.Values[low], r.Values[last] = min(b.L, o, c), c
					}
				},
				detect: func(r *Row) {
					if math.IsNaN(r.Prev[open]) {
						return
					}
					rose, rises := r.Prev[last] >= r.Prev[open], r.Values[last] >= r.Values[open]
					if rises && !rose {
						r.Signal("flip_up", r.Values[last])
					}
					if !rises && rose {
						r.Signal("flip_down", r.Values[last])
					}
				},
			}
		},
	}
}

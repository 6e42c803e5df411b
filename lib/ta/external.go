package ta

import (
	"slices"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

// The indicators of this file read external series, given as of each bar's close.

func cvd() Def {
	return Def{
		Name: "cvd", Kind: External, Group: GroupVolume,
		Doc:     "Cumulative volume delta: taker buys minus taker sells; added up since the start of the session. Needs a venue that reports taker-buy volume (Binance does).",
		Formula: "Sum of 2 x taker-buy volume - volume since the start of the anchor period. No value where the venue does not report taker-buy volume.",
		Truth:   "definition of the kline field; second derivation in the tests",
		Params:  []Param{anchor()},
		Lines:   []string{"CVD"},
		New: func(v Values) Instance {
			const value, began = 0, 1
			a := anchored{v, began}
			return &series{
				label: "CVD(" + v.Text("anchor") + ")", warm: a.warm, columns: 2, lines: solid("CVD"), levels: []HLine{{Y: 0, Style: Zero}},
				begin: func(m *calc.Slab, env Env) step {
					const period, delta, known, size = 0, 1, 2, 3
					cells := m.Cells(size)
					return func(r *Row) {
						c := cells.Mem()
						if a.enters(r, env, &c[period]) {
							c[delta], c[known] = 0, 0
						}
						if d := float64(2*r.Bar.TakerBuy) - r.Bar.V; d == d {
							c[delta] += d
							c[known] = 1
						}
						if c[known] == 1 {
							r.Values[value] = c[delta]
						}
					}
				},
				present: func(r *Result, col [][]float64) {
					if !slices.ContainsFunc(col[value], func(v float64) bool { return v == v }) {
						r.Label += noData
					}
					r.Restarts = restarts(col[began])
				},
			}
		},
	}
}

// noData ends the label of an indicator without data.
const noData = " (no data)"

func funding() Def {
	return Def{
		Name: "funding", Aliases: []string{"funding_rate"}, Kind: External, Group: GroupSentiment,
		Doc:     "Funding rate of the perpetual future, percent; positive when longs pay shorts.",
		Formula: "Last funding rate known at the bar's close, times 100. Times count in whole seconds: a rate stamped some milliseconds after the close counts as known. No value before the first known one.",
		Truth:   "the venue's own series, joined as of the bar's close",
		New: func(Values) Instance {
			return outside("Funding", []market.SeriesName{market.FundingRate}, func(in Input, r *Result) {
				percent := mapped(in.Series[market.FundingRate], func(x float64) float64 { return 100 * x })
				r.Hist = []Hist{{Label: "Funding", Values: percent, Style: Signed}}
				r.HLines = []HLine{{Y: 0, Style: Zero}}
			})
		},
	}
}

func openInterest() Def {
	return Def{
		Name: "oi", Aliases: []string{"open_interest"}, Kind: External, Group: GroupSentiment,
		Doc:     "Open interest of the perpetual future, quote currency; the money in open positions. Venues keep about 30 days of it.",
		Formula: "Last open interest value known at the bar's close.",
		Truth:   "the venue's own series, joined as of the bar's close",
		Lines:   []string{"OI"},
		New: func(Values) Instance {
			return outside("OI", []market.SeriesName{market.OpenInterest}, func(in Input, r *Result) {
				interest := in.Series[market.OpenInterest]
				r.Lines = []Line{{Label: "OI", Values: interest}}
				r.Fills = []Fill{{Y1: interest, Y2: level(interest, 0), Style: Channel}}
			})
		},
	}
}

func longShort() Def {
	return Def{
		Name: "long_short", Aliases: []string{"ls_ratio"}, Kind: External, Group: GroupSentiment,
		Doc:     "Shares of futures accounts long and short, 0 to 1; how the crowd is positioned.",
		Formula: "Last share of long accounts known at the bar's close; the short share is the rest.",
		Truth:   "the venue's own series, joined as of the bar's close",
		Lines:   []string{"Long", "Short"},
		New: func(Values) Instance {
			return outside("L/S", []market.SeriesName{market.LongAccounts}, func(in Input, r *Result) {
				long := in.Series[market.LongAccounts]
				short := mapped(long, func(x float64) float64 { return 1 - x })
				r.Lines = []Line{{Label: "Long", Values: long}, {Label: "Short", Values: short}}
				r.Fills = []Fill{{Y1: long, Y2: short, Style: Cloud}}
				r.HLines = []HLine{{Y: 0.5, Style: Reference}}
				r.YRange = &[2]float64{0, 1}
			})
		},
	}
}

func fearGreed() Def {
	return Def{
		Name: "fear_greed", Aliases: []string{"fng"}, Kind: External, Group: GroupSentiment,
		Doc:     "Crypto fear and greed index, 0 to 100; 0 is extreme fear. One value a day for the whole market.",
		Formula: "Last index value known at the bar's close.",
		Truth:   "the publisher's own series, joined as of the bar's close",
		Lines:   []string{"F&G"},
		New: func(Values) Instance {
			return outside("F&G", []market.SeriesName{market.FearGreed}, func(in Input, r *Result) {
				r.Lines = []Line{{Label: "F&G", Values: in.Series[market.FearGreed]}}
				r.HLines = []HLine{{Y: 25, Style: Reference}, {Y: 50, Style: Reference}, {Y: 75, Style: Reference}}
				r.YRange = &[2]float64{0, 100}
			})
		},
	}
}

// mapped returns a column with f applied to every value.
func mapped(values []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(values))
	for i, x := range values {
		out[i] = f(x)
	}
	return out
}

// level is a column of one value wherever like has one.
func level(like []float64, y float64) []float64 {
	return mapped(like, func(x float64) float64 { return y + 0*x })
}

// outside is an instance drawn from external series. If one of them is unavailable or
// does not match the bars, the label says so and nothing is drawn.
func outside(label string, needs []market.SeriesName, draw func(Input, *Result)) Instance {
	return &whole{label: label, needs: needs, compute: func(in Input, r *Result) {
		for _, name := range needs {
			if values, given := in.Series[name]; !given || len(values) != in.Bars.Len() {
				r.Label += noData
				return
			}
		}
		draw(in, r)
	}}
}

package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

// several returns the series of several averages of one source, a line each.
func several(v Values, labels []string, means ...mean) *series {
	price, first, stable := sourceOf(v.Text("source")), -1, 0
	for i := range means {
		f, n := means[i].warmup()
		if first < 0 || f < first {
			first = f
		}
		stable = max(stable, n)
	}
	return &series{
		first: first, stable: stable, columns: len(means), lines: solid(labels...),
		begin: func(m *calc.Slab, _ Env) step {
			next := make([]func(*Row, float64) float64, len(means))
			for i := range means {
				next[i] = means[i].begin(m)
			}
			return func(r *Row) {
				x := price(r.Bar)
				for i := range next {
					r.Values[i] = next[i](r, x)
				}
			}
		},
	}
}

func maCross() Def {
	return Def{
		Name: "ma_cross", Aliases: []string{"golden_cross", "death_cross"}, Kind: Overlay, Group: GroupTrend,
		Doc:     "Two moving averages and their crosses; a golden cross is the fast one going above the slow one.",
		Formula: "Two averages as in `ma`, of the same source.",
		Truth:   "TradingView MA cross, whose lengths are 9 and 21; second derivation in the tests",
		Params: []Param{
			Int("fast", 50, 1, 5000, "bars of the fast average"), Int("slow", 200, 1, 5000, "bars of the slow average"),
			meanType(), source("close"),
		},
		Order: []string{"fast", "slow"}, Lines: []string{"Fast", "Slow"},
		Signals: []Trigger{
			{"golden_cross", "the fast average goes from at or below the slow one to above it; y is the fast one"},
			{"death_cross", "the fast average goes from at or above the slow one to below it; y is the fast one"},
		},
		New: func(v Values) Instance {
			fast, slow := simpleMean(v.Text("type"), v.Int("fast")), simpleMean(v.Text("type"), v.Int("slow"))
			s := several(v, []string{"Fast", "Slow"}, fast, slow)
			s.label = sourced(v, fmt.Sprintf("%s Cross(%d, %d)", fast.name(), fast.n, slow.n))
			s.detect = func(r *Row) {
				if r.CrossedUp(0, 1) {
					r.Signal("golden_cross", r.Values[0])
				}
				if r.CrossedDown(0, 1) {
					r.Signal("death_cross", r.Values[0])
				}
			}
			return s
		},
	}
}

func maRibbon() Def {
	names := []string{"MA 1", "MA 2", "MA 3", "MA 4"}
	return Def{
		Name: "ma_ribbon", Aliases: []string{"ribbon"}, Kind: Overlay, Group: GroupTrend,
		Doc:     "Four moving averages of one type; in order of length when the trend is clear.",
		Formula: "Four averages as in `ma`, of the same source.",
		Truth:   "TradingView moving average ribbon; second derivation in the tests",
		Params: []Param{
			meanType(), Int("length1", 20, 1, 5000, "bars of the first"), Int("length2", 50, 1, 5000, "bars of the second"),
			Int("length3", 100, 1, 5000, "bars of the third"), Int("length4", 200, 1, 5000, "bars of the fourth"), source("close"),
		},
		Order: []string{"length1", "length2", "length3", "length4"}, Lines: names,
		New: func(v Values) Instance {
			n := [4]int{v.Int("length1"), v.Int("length2"), v.Int("length3"), v.Int("length4")}
			means := make([]mean, len(n))
			for i := range n {
				means[i] = simpleMean(v.Text("type"), n[i])
			}
			s := several(v, names, means...)
			s.label = sourced(v, fmt.Sprintf("%s Ribbon(%d, %d, %d, %d)", means[0].name(), n[0], n[1], n[2], n[3]))
			return s
		},
	}
}

func envelope() Def {
	return Def{
		Name: "envelope", Aliases: []string{"env"}, Kind: Overlay, Group: GroupVolatility,
		Doc:     "Moving average envelope: an average and lines a percentage above and below it.",
		Formula: "Mid = an average as in `ma`; lines = mid x (1 +- percent/100).",
		Truth:   "TradingView envelope; second derivation in the tests",
		Params: []Param{
			length(20), Num("percent", 10, 0, 1000, "distance of the lines in percent"), meanType(), source("close"),
		},
		Order: []string{"length", "percent"}, Lines: bandLabels("Env"), Signals: breakouts("line"),
		New: func(v Values) Instance {
			a, part := simpleMean(v.Text("type"), v.Int("length")), v.Num("percent")/100
			first, stable := a.warmup()
			return &series{
				label: sourced(v, fmt.Sprintf("Env(%d, %s)", a.n, number(v.Num("percent")))), first: first, stable: stable, columns: bandColumns,
				begin: func(m *calc.Slab, _ Env) step {
					next, price := a.begin(m), sourceOf(v.Text("source"))
					return func(r *Row) {
						middle := next(r, price(r.Bar))
						away := float64(middle * part)
						r.Values[bandUpper], r.Values[bandMid], r.Values[bandLower] = middle+away, middle, middle-away
						r.Values[bandClose] = r.Bar.C
					}
				},
				detect: detectBreakout, lines: bandLines("Env"), present: fillBands, byBar: true,
			}
		},
	}
}

func alligator() Def {
	names := []string{"Jaw", "Teeth", "Lips"}
	return Def{
		Name: "alligator", Kind: Overlay, Group: GroupTrend,
		Doc:     "Williams alligator: three smoothed averages drawn ahead; apart in a trend, together without one.",
		Formula: "Wilder averages of the source over 13, 8 and 5 bars (`jaw`, `teeth`, `lips`), drawn 8, 5 and 3 bars ahead.",
		Truth:   "TradingView Williams alligator; second derivation in the tests",
		Params: []Param{
			Int("jaw", 13, 1, 5000, "bars of the slow average"), Int("teeth", 8, 1, 5000, "bars of the middle average"),
			Int("lips", 5, 1, 5000, "bars of the fast average"), source("hl2"),
		},
		Order: []string{"jaw", "teeth", "lips"}, Lines: names, Signals: crossTriggers("Lips", "Jaw"),
		New: func(v Values) Instance {
			n, ahead := [3]int{v.Int("jaw"), v.Int("teeth"), v.Int("lips")}, [3]int{8, 5, 3}
			first, stable := n[0]-1+ahead[0], 0
			for i := range n {
				first, stable = min(first, n[i]-1+ahead[i]), max(stable, wilderStable(n[i])+ahead[i])
			}
			return &series{
				label: sourced(v, fmt.Sprintf("Alligator(%d, %d, %d)", n[0], n[1], n[2])), first: first, stable: stable, columns: 3, lines: solid(names...),
				begin: func(m *calc.Slab, _ Env) step {
					price := sourceOf(v.Text("source"))
					var means [3]calc.EMAState
					var lags [3]calc.LagState
					for i := range n {
						means[i], lags[i] = m.RMA(n[i]), m.Lag(ahead[i])
					}
					return func(r *Row) {
						x := price(r.Bar)
						for i := range means {
							r.Values[i] = lags[i].Step(means[i].Step(x))
						}
					}
				},
				detect: func(r *Row) { r.crosses(2, 0) },
			}
		},
	}
}

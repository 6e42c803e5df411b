package ta

import "candela/lib/ta/calc"

func emaStack() Def {
	lengths := []int{8, 21, 50, 200}
	names := []string{"EMA 8", "EMA 21", "EMA 50", "EMA 200"}
	return Def{
		Name: "ema_stack", Aliases: []string{"ema"}, Kind: Overlay, Group: GroupTrend,
		Doc:     "Four exponential moving averages of the close (8, 21, 50, 200); fast above slow is an uptrend.",
		Formula: "EMA with factor 2/(n+1), seeded with the mean of the first n closes.",
		Truth:   "TradingView ta.ema, TA-Lib EMA",
		Lines:   names, Signals: crossTriggers("EMA 8", "EMA 21"),
		New: func(Values) Instance {
			return &series{
				label: "EMA(8, 21, 50, 200)", first: 7, stable: emaStable(200), columns: 4, lines: solid(names...),
				begin: func(m *calc.Slab, _ Env) step {
					averages := make([]calc.EMAState, 0, len(lengths))
					for _, n := range lengths {
						averages = append(averages, m.EMA(n))
					}
					return func(r *Row) {
						for i := range averages {
							r.Values[i] = averages[i].Step(r.Bar.C)
						}
					}
				},
				detect: func(r *Row) { r.crosses(0, 1) },
				batch: func(in Input, col [][]float64) {
					for i, n := range lengths {
						calc.EMA(col[i], in.Bars.C, n)
					}
				},
			}
		},
	}
}

// emaStable is the number of bars after which an EMA of n does not depend on its start
// in any bit: measured at about 17n.
func emaStable(n int) int { return 17*n + 10 }

// signedStable is emaStable for values on both sides of zero, near which a rest of the
// start is in the last bit for longer.
func signedStable(n int) int { return 2 * emaStable(n) }

// wilderStable is the same for Wilder's average, measured at about 35n.
func wilderStable(n int) int { return 36*n + 10 }

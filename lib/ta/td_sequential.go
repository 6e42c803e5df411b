package ta

import (
	"math"

	"candela/lib/ta/calc"
)

// The bars that a close is compared over, the count that completes a setup and the count
// at which counting ends.
const (
	tdBack  = 4
	tdSetup = 9
	tdMost  = 13
)

func tdSequential() Def {
	return Def{
		Name: "td_sequential", Aliases: []string{"td_seq", "td9"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "TD setup: closes beyond those of four bars ago.",
		Formula: "Counts up from 1 while the price is above that of 4 bars ago, and down from -1 while it is below; 0 where they are equal. Counting ends at 13. The countdown that follows a setup is not computed.",
		Truth:   "pandas-ta td_seq, whose two columns have the counts of either side",
		Params:  []Param{source("close")},
		Lines:   []string{"TD"},
		Signals: []Trigger{
			{"td_buy", "the count reaches -9; y is the count"},
			{"td_sell", "the count reaches 9; y is the count"},
		},
		New: func(v Values) Instance {
			price := sourceOf(v.Text("source"))
			s := single("TD Setup", "TD", tdBack, tdBack+tdMost+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				back, cells := m.Lag(tdBack), m.Cells(1)
				return func(r *Row) float64 {
					x, count := price(r.Bar), cells.Mem()
					switch change := calc.Difference(x, back.Step(x)); {
					case change > 0:
						count[0] = min(max(count[0], 0)+1, tdMost)
					case change < 0:
						count[0] = max(min(count[0], 0)-1, -tdMost)
					default:
						count[0] = 0
						return 0 * change // keeps a missing value
					}
					return count[0]
				}
			})
			s.detect = func(r *Row) {
				switch count := r.Values[0]; {
				case math.Abs(count) != tdSetup || math.Abs(r.Prev[0]) != tdSetup-1:
				case count < 0:
					r.Signal("td_buy", count)
				default:
					r.Signal("td_sell", count)
				}
			}
			s.levels = []HLine{{Y: tdSetup}, {Y: -tdSetup}, {Y: 0, Style: Zero}}
			return s.histogram(Signed)
		},
	}
}

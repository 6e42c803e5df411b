package indicator

import (
	"fmt"

	"candela/internal/analysis/calc"
)

func momentum() Def {
	return Def{
		Name: "momentum", Aliases: []string{"mom"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Momentum: change of the price over the last bars.",
		Formula: "Price - price `length` bars ago. A difference below 1e-12 of the price is zero.",
		Truth:   "TradingView Momentum, TA-Lib MOM, Tulip mom",
		Params:  []Param{lengthParam(10, "bars to look back"), source("close")},
		Lines:   []string{"Mom"}, Signals: crossTriggers("Mom", "zero"),
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			return single(fmt.Sprintf("Mom(%d)", n), "Mom", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				back := m.Lag(n)
				return func(r *Row) float64 {
					now := price(r.Bar)
					return calc.Difference(now, back.Step(now))
				}
			}).zeroed(nil)
		},
	}
}

package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

func ultimate() Def {
	return Def{
		Name: "ultimate", Aliases: []string{"uo"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Ultimate oscillator: buying pressure, 0 to 100.",
		Formula: "Pressure is close - min(low, close before), range is max(high, close before) - min(low, close before). UO = 100 x (4 A + 2 B + C) / 7, where A, B and C are sum of pressure / sum of range over the three lengths. No value while one of them has no range.",
		Truth:   "TradingView Ultimate Oscillator, TA-Lib ULTOSC, Tulip ultosc",
		Params: []Param{
			barsParam("fast", 7, "bars of the short sums"), barsParam("medium", 14, "bars of the middle sums"), barsParam("slow", 28, "bars of the long sums"),
		},
		Lines: []string{"UO"}, Signals: exitTriggers("UO", "70", "30"),
		New: func(v Values) Instance {
			lengths := [...]int{v.Int("fast"), v.Int("medium"), v.Int("slow")}
			n := max(lengths[0], lengths[1], lengths[2])
			return single(fmt.Sprintf("UO(%d, %d, %d)", lengths[0], lengths[1], lengths[2]), "UO", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				back := m.Lag(1)
				var pressures, ranges [len(lengths)]calc.SumState
				for i, n := range lengths {
					pressures[i], ranges[i] = m.Sum(n), m.Sum(n)
				}
				return func(r *Row) float64 {
					before := back.Step(r.Bar.C)
					low, high := min(r.Bar.L, before), max(r.Bar.H, before)
					sum, weight := 0.0, 4.0
					for i := range lengths {
						part := share(pressures[i].Step(r.Slot, r.Bar.C-low), ranges[i].Step(r.Slot, high-low))
						sum += float64(weight * part)
						weight /= 2
					}
					return 100 * (sum / 7)
				}
			}).bounded(70, 30, &[2]float64{0, 100})
		},
	}
}

func fosc() Def {
	return Def{
		Name: "fosc", Aliases: []string{"forecast_oscillator"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Forecast oscillator: price less its forecast, percent.",
		Formula: "100 x (price - forecast) / price, where forecast is the line of least squares through the `length` bars before, one bar ahead. A difference below 1e-12 of the price is zero.",
		Truth:   "TA-Lib FOSC, Tulip fosc",
		Params:  []Param{lengthParam(14, "bars in the line"), source("close")},
		Lines:   []string{"FOSC"}, Signals: crossTriggers("FOSC", "zero"),
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			return single(fmt.Sprintf("FOSC(%d)", n), "FOSC", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				line, back := m.LinReg(n), m.Lag(1)
				return func(r *Row) float64 {
					x := price(r.Bar)
					slope, _, end := line.Step(r.Slot, x)
					return 100 * share(calc.Difference(x, back.Step(end+slope)), x)
				}
			}).zeroed(nil)
		},
	}
}

func cog() Def {
	return Def{
		Name: "cog", Aliases: []string{"center_of_gravity"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Center of gravity of recent prices.",
		Formula: "-(1 x newest + 2 x the one before + ... + length x oldest) / their sum.",
		Truth:   "TradingView ta.cog, pandas-ta cg",
		Params:  []Param{lengthParam(10, "bars in the sums"), source("close")},
		Lines:   []string{"COG"},
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			return single(fmt.Sprintf("COG(%d)", n), "COG", n-1, n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				weighted, plain := m.WMA(n), m.SMA(n)
				most := float64(n + 1)
				return func(r *Row) float64 {
					// The weights here and those of a WMA add up to n+1 at every bar.
					x := price(r.Bar)
					return float64(most/2*share(weighted.Step(r.Slot, x), plain.Step(r.Slot, x))) - most
				}
			})
		},
	}
}

package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

// The indicators of this file say whether the market trends, and which way.

// aroonSteps returns the step of both Aroon lines.
func aroonSteps(m *calc.Slab, n int) func(*Row) (up, down float64) {
	high, low := m.SinceMax(n+1), m.SinceMin(n+1)
	return func(r *Row) (up, down float64) {
		since := func(bars float64) float64 { return 100 * (float64(n) - bars) / float64(n) }
		return since(high.Step(r.Bar.H)), since(low.Step(r.Bar.L))
	}
}

func aroon() Def {
	return Def{
		Name: "aroon", Kind: Panel, Group: GroupTrend,
		Doc:     "Aroon: how recent high and low are, 0 to 100.",
		Formula: "100 x (length - bars since the highest high, or lowest low, of length + 1 bars) / length; of equal ones the newest counts.",
		Truth:   "TradingView Aroon, TA-Lib AROON, Tulip aroon",
		Params:  []Param{lengthParam(14, "bars to look back")},
		Lines:   []string{"Aroon Up", "Aroon Down"}, Signals: crossTriggers("Aroon Up", "Aroon Down"),
		New: func(v Values) Instance {
			n := v.Int("length")
			s := twoLines(fmt.Sprintf("Aroon(%d)", n), "Aroon Up", "Aroon Down", n, n+1, func(m *calc.Slab) func(*Row) (float64, float64) {
				return aroonSteps(m, n)
			})
			s.yRange = &[2]float64{0, 100}
			return s
		},
	}
}

func aroonOsc() Def {
	return Def{
		Name: "aroon_osc", Like: "aroon", Aliases: []string{"aroonosc"}, Kind: Panel, Group: GroupTrend,
		Doc:     "Aroon oscillator: Aroon up less Aroon down, -100 to 100.",
		Formula: "Aroon Up - Aroon Down.",
		Truth:   "TA-Lib AROONOSC, Tulip aroonosc",
		Params:  []Param{lengthParam(14, "bars to look back")},
		Lines:   []string{"Aroon Osc"}, Signals: crossTriggers("Aroon Osc", "zero"),
		New: func(v Values) Instance {
			n := v.Int("length")
			return single(fmt.Sprintf("Aroon Osc(%d)", n), "Aroon Osc", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				both := aroonSteps(m, n)
				return func(r *Row) float64 {
					up, down := both(r)
					return up - down
				}
			}).zeroed(&[2]float64{-100, 100})
		},
	}
}

func vortex() Def {
	return Def{
		Name: "vortex", Aliases: []string{"vi"}, Kind: Panel, Group: GroupTrend,
		Doc:     "Vortex: upward and downward movement.",
		Formula: "VI+ = sum of |high - low before| / sum of true range over `length` bars; VI- = sum of |low - high before| / the same. No value while there is no range.",
		Truth:   "TradingView Vortex Indicator, TA-Lib VORTEX, pandas-ta vortex",
		Params:  []Param{lengthParam(14, "bars in the sums")},
		Lines:   []string{"VI+", "VI-"}, Signals: crossTriggers("VI+", "VI-"),
		New: func(v Values) Instance {
			n := v.Int("length")
			return twoLines(fmt.Sprintf("VI(%d)", n), "VI+", "VI-", n, n+1, func(m *calc.Slab) func(*Row) (float64, float64) {
				high, low, tr := m.Lag(1), m.Lag(1), m.TrueRange()
				rises, falls, ranges := m.Sum(n), m.Sum(n), m.Sum(n)
				return func(r *Row) (float64, float64) {
					top, bottom := high.Step(r.Bar.H), low.Step(r.Bar.L)
					up := rises.Step(r.Slot, math.Abs(r.Bar.H-bottom))
					down := falls.Step(r.Slot, math.Abs(r.Bar.L-top))
					whole := ranges.Step(r.Slot, tr.Step(r.Bar.H, r.Bar.L, r.Bar.C))
					return share(up, whole), share(down, whole)
				}
			})
		},
	}
}

func adxr() Def {
	return Def{
		Name: "adxr", Kind: Panel, Group: GroupTrend,
		Doc:     "ADX rating: mean of the ADX now and a length ago.",
		Formula: "(ADX + ADX of length - 1 bars ago) / 2.",
		Truth:   "TA-Lib ADXR, which sums the first n-1 bars where TradingView's ADX averages n and agrees within 1e-6 from bar 200 on",
		Params:  []Param{lengthParam(14, "bars of the ADX")},
		Lines:   []string{"ADXR"},
		New: func(v Values) Instance {
			n := v.Int("length")
			return single(fmt.Sprintf("ADXR(%d)", n), "ADXR", 3*n-2, 2*wilderStable(n)+n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				index, back := m.ADX(n), m.Lag(n-1)
				return func(r *Row) float64 {
					adx, _, _ := index.Step(r.Bar.H, r.Bar.L, r.Bar.C)
					return (adx + back.Step(adx)) / 2
				}
			})
		},
	}
}

func dx() Def {
	return Def{
		Name: "dx", Like: "adxr", Kind: Panel, Group: GroupTrend,
		Doc:     "Directional index: the ADX before its smoothing, 0 to 100.",
		Formula: "100 x |+DI - -DI| / (+DI + -DI), and 0 while both are 0; the indicators are those of adx.",
		Truth:   "TA-Lib DX, which sums the first n-1 bars where TradingView averages n and agrees within 1e-6 from bar 200 on",
		Params:  []Param{lengthParam(14, "bars of the directional indicators")},
		Lines:   []string{"DX"},
		New: func(v Values) Instance {
			n := v.Int("length")
			s := single(fmt.Sprintf("DX(%d)", n), "DX", n, wilderStable(n), func(m *calc.Slab, _ Env) func(*Row) float64 {
				index := m.ADX(n)
				return func(r *Row) float64 {
					_, plus, minus := index.Step(r.Bar.H, r.Bar.L, r.Bar.C)
					if plus+minus == 0 {
						return 0
					}
					return 100 * (math.Abs(plus-minus) / (plus + minus))
				}
			})
			s.yRange = &[2]float64{0, 100}
			return s
		},
	}
}

func dm() Def {
	return Def{
		Name: "dm", Aliases: []string{"directional_movement"}, Kind: Panel, Group: GroupTrend,
		Doc:     "Directional movement, plus and minus.",
		Formula: "A bar's upward movement is its high less the high before where that is positive and more than the low before less its low, else 0; the downward one is mirrored. +DM and -DM are `length` x RMA of these.",
		Truth:   "TA-Lib PLUS_DM and MINUS_DM, which sum the first n-1 bars where this averages n and agree within 1e-6 from bar 200 on",
		Params:  []Param{lengthParam(14, "bars of the sums")},
		Lines:   []string{"+DM", "-DM"}, Signals: crossTriggers("+DM", "-DM"),
		New: func(v Values) Instance {
			n := v.Int("length")
			return twoLines(fmt.Sprintf("DM(%d)", n), "+DM", "-DM", n, wilderStable(n), func(m *calc.Slab) func(*Row) (float64, float64) {
				moves, rises, falls := m.DM(), m.RMA(n), m.RMA(n)
				return func(r *Row) (float64, float64) {
					up, down := moves.Step(r.Bar.H, r.Bar.L)
					return float64(n) * rises.Step(up), float64(n) * falls.Step(down)
				}
			})
		},
	}
}

func efficiency() Def {
	return Def{
		Name: "er", Aliases: []string{"efficiency_ratio"}, Kind: Panel, Group: GroupTrend,
		Doc:     "Efficiency ratio, 0 to 1.",
		Formula: "|price - price `length` bars ago| / sum of |changes| of these bars. No value while the price stands still.",
		Truth:   "TA-Lib ER, pandas-ta er",
		Params:  []Param{lengthParam(10, "changes in the sum"), source("close")},
		Lines:   []string{"ER"},
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			s := single(fmt.Sprintf("ER(%d)", n), "ER", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				back, way := m.Lag(n), wayOf(m, n)
				return func(r *Row) float64 {
					x := price(r.Bar)
					return min(share(math.Abs(calc.Difference(x, back.Step(x))), way(r.Slot, x)), 1)
				}
			})
			s.yRange = &[2]float64{0, 1}
			return s
		},
	}
}

// wayOf returns the step of the sum of the sizes of n changes.
func wayOf(m *calc.Slab, n int) func(slot calc.Slot, x float64) float64 {
	back, sum := m.Lag(1), m.Sum(n)
	return func(slot calc.Slot, x float64) float64 {
		return sum.Step(slot, math.Abs(calc.Difference(x, back.Step(x))))
	}
}

func vhf() Def {
	return Def{
		Name: "vhf", Aliases: []string{"vertical_horizontal"}, Kind: Panel, Group: GroupTrend,
		Doc:     "Vertical horizontal filter: trend or range.",
		Formula: "(highest - lowest price of `length` bars) / sum of |changes| of these bars. No value while the price stands still.",
		Truth:   "TA-Lib VHF, Tulip vhf",
		Params:  []Param{lengthParam(28, "bars in the range"), source("close")},
		Lines:   []string{"VHF"},
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			return single(fmt.Sprintf("VHF(%d)", n), "VHF", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				top, low, way := m.Max(n), m.Min(n), wayOf(m, n)
				return func(r *Row) float64 {
					x := price(r.Bar)
					return share(calc.Difference(top.Step(x), low.Step(x)), way(r.Slot, x))
				}
			})
		},
	}
}

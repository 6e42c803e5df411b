package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

// The indicators of this file compare rises with falls, or closes with opens, over a
// window.

// barsParam describes the length of one part of an indicator.
func barsParam(name string, def int, doc string) Param { return Int(name, def, 1, 5000, doc) }

// exitTriggers describes the signals of leaving an extreme zone.
func exitTriggers(name, top, bottom string) []Trigger { return zoneTriggers(name, top, bottom)[:2] }

// bounded adds an extreme zone at each end, and the signals of leaving them, without the
// switch for entries.
func (s *series) bounded(top, bottom float64, yRange *[2]float64) *series {
	s.detect = func(r *Row) { r.exits(0, bottom, "cross_up_os", top, "cross_down_ob") }
	s.levels, s.yRange = []HLine{{Y: top, Label: "overbought"}, {Y: bottom, Label: "oversold"}}, yRange
	return s
}

// histogram draws the first line as a histogram. Clients read the line.
func (s *series) histogram(style HistStyle) *series {
	label := s.lines[0].Label
	s.lines[0].Style = Hidden
	s.present = func(r *Result, col [][]float64) {
		r.Hist = []Hist{{Label: label, Values: col[0], Style: style}}
	}
	return s
}

// twoLines is a series with two lines whose crosses are signals.
func twoLines(label, a, b string, first, stable int, next func(m *calc.Slab) func(*Row) (float64, float64)) *series {
	return &series{
		label: label, first: first, stable: stable, columns: 2, lines: solid(a, b),
		begin: func(m *calc.Slab, _ Env) step {
			values := next(m)
			return func(r *Row) { r.Values[0], r.Values[1] = values(r) }
		},
		detect: func(r *Row) { r.crosses(0, 1) },
	}
}

// share is a in parts of b, and no value where b is zero.
func share(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// unless returns x, or 0 where it is below 1e-12 of the level: the rounding of a sum.
func unless(x, level float64) float64 {
	if calc.Difference(math.Abs(level)+math.Abs(x), math.Abs(level)) == 0 {
		return 0
	}
	return x
}

// split separates a change into its rise and its fall; without a change there is
// neither.
func split(change float64) (rise, fall float64) {
	if math.IsNaN(change) {
		return change, change
	}
	return max(change, 0), max(-change, 0)
}

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

func cmo() Def {
	return Def{
		Name: "cmo", Aliases: []string{"chande_momentum"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Chande momentum: rises less falls, -100 to 100.",
		Formula: "100 x (sum of rises - sum of falls) / (sum of both) over `length` changes. No value while the price stands still.",
		Truth:   "TradingView ta.cmo, TA-Lib CMOU, Tulip cmo (TA-Lib CMO smooths the sums as the RSI does)",
		Params:  []Param{lengthParam(9, "changes in the sums"), source("close")},
		Lines:   []string{"CMO"}, Signals: crossTriggers("CMO", "zero"),
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			return single(fmt.Sprintf("CMO(%d)", n), "CMO", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				back, rises, falls := m.Lag(1), m.Sum(n), m.Sum(n)
				return func(r *Row) float64 {
					now := price(r.Bar)
					rise, fall := split(calc.Difference(now, back.Step(now)))
					up, down := rises.Step(r.Slot, rise), falls.Step(r.Slot, fall)
					return 100 * share(up-down, up+down)
				}
			}).zeroed(&[2]float64{-100, 100})
		},
	}
}

func imi() Def {
	return Def{
		Name: "imi", Aliases: []string{"intraday_momentum"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Intraday momentum index: RSI of bodies.",
		Formula: "100 x sum of rising bodies / sum of all bodies over `length` bars. No value while no bar has a body.",
		Truth:   "TA-Lib IMI",
		Params:  []Param{lengthParam(14, "bars in the sums")},
		Lines:   []string{"IMI"}, Signals: exitTriggers("IMI", "70", "30"),
		New: func(v Values) Instance {
			n := v.Int("length")
			return single(fmt.Sprintf("IMI(%d)", n), "IMI", n-1, n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				rises, falls := m.Sum(n), m.Sum(n)
				return func(r *Row) float64 {
					rise, fall := split(calc.Difference(r.Bar.C, r.Bar.O))
					up, down := rises.Step(r.Slot, rise), falls.Step(r.Slot, fall)
					return 100 * share(up, up+down)
				}
			}).bounded(70, 30, &[2]float64{0, 100})
		},
	}
}

func psl() Def {
	return Def{
		Name: "psl", Aliases: []string{"psychological_line"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Psychological line: percent of rising bars.",
		Formula: "100 x number of closes above the one before / `length`.",
		Truth:   "pandas-ta psl",
		Params:  []Param{lengthParam(12, "bars counted"), source("close")},
		Lines:   []string{"PSL"}, Signals: exitTriggers("PSL", "75", "25"),
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			return single(fmt.Sprintf("PSL(%d)", n), "PSL", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				back, count := m.Lag(1), m.Sum(n)
				return func(r *Row) float64 {
					now := price(r.Bar)
					change := calc.Difference(now, back.Step(now))
					rose := 0 * change // keeps a missing value
					if change > 0 {
						rose = 1
					}
					return 100 * (count.Step(r.Slot, rose) / float64(n))
				}
			}).bounded(75, 25, &[2]float64{0, 100})
		},
	}
}

func bop() Def {
	return Def{
		Name: "bop", Aliases: []string{"balance_of_power"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Balance of power: body within range, -1 to 1.",
		Formula: "(close - open) / (high - low); 0 for a bar without range.",
		Truth:   "TradingView Balance of Power, TA-Lib BOP, Tulip bop",
		Lines:   []string{"BOP"}, Signals: crossTriggers("BOP", "zero"),
		New: func(Values) Instance {
			return single("BOP", "BOP", 0, 1, func(*calc.Slab, Env) func(*Row) float64 {
				return func(r *Row) float64 {
					if r.Bar.H == r.Bar.L {
						return 0
					}
					return (r.Bar.C - r.Bar.O) / (r.Bar.H - r.Bar.L)
				}
			}).zeroed(&[2]float64{-1, 1})
		},
	}
}

func qstick() Def {
	return Def{
		Name: "qstick", Kind: Panel, Group: GroupMomentum,
		Doc:     "Qstick: average of close less open.",
		Formula: "SMA(close - open, length). Below 1e-12 of the price it is zero.",
		Truth:   "TA-Lib QSTICK, Tulip qstick, pandas-ta qstick",
		Params:  []Param{lengthParam(10, "bars in the average")},
		Lines:   []string{"QStick"}, Signals: crossTriggers("QStick", "zero"),
		New: func(v Values) Instance {
			n := v.Int("length")
			return single(fmt.Sprintf("QStick(%d)", n), "QStick", n-1, n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				mean := m.SMA(n)
				return func(r *Row) float64 {
					return unless(mean.Step(r.Slot, calc.Difference(r.Bar.C, r.Bar.O)), r.Bar.C)
				}
			}).zeroed(nil)
		},
	}
}

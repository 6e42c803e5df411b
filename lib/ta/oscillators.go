package ta

import (
	"fmt"
	"math"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

// The oscillators of this file have one line and signal when it leaves an extreme
// zone or crosses zero.

// single is a series with one line.
func single(label, line string, first, stable int, next func(m *calc.Slab, env Env) func(*Row) float64) *series {
	return &series{
		label: label, first: first, stable: stable, columns: 1, lines: solid(line),
		begin: func(m *calc.Slab, env Env) step {
			value := next(m, env)
			return func(r *Row) { r.Values[0] = value(r) }
		},
	}
}

// zones adds an extreme zone at each end, and the signals of leaving them.
func (s *series) zones(v Values, top, bottom float64, yRange *[2]float64) *series {
	s.detect = zoneDetector(v, 0, bottom, "cross_up_os", top, "cross_down_ob", "")
	s.levels, s.yRange = []HLine{{Y: top, Label: "overbought"}, {Y: bottom, Label: "oversold"}}, yRange
	return s
}

// zeroed adds the zero line and the signals of crossing it. Without a fixed range
// there is no scale for a tolerance, so the comparison with zero is exact.
func (s *series) zeroed(yRange *[2]float64) *series {
	near := 0.0
	if yRange != nil {
		near = levelNoise
	}
	s.detect = func(r *Row) {
		if r.Prev[0] <= near && r.Values[0] > near {
			r.Signal("cross_up", r.Values[0])
		}
		if r.Prev[0] >= -near && r.Values[0] < -near {
			r.Signal("cross_down", r.Values[0])
		}
	}
	s.levels, s.yRange = []HLine{{Y: 0, Style: Zero}}, yRange
	return s
}

func zoneTriggers(name, top, bottom string) []Trigger {
	return append([]Trigger{
		{"cross_up_os", name + " comes back from below " + bottom + ": the bar before was below it, this one is not; y is " + name},
		{"cross_down_ob", name + " comes back from above " + top + ": the bar before was above it, this one is not; y is " + name},
	}, enterTriggers("", name, top, bottom)...)
}

func cci() Def {
	return Def{
		Name: "cci", Kind: Panel, Group: GroupMomentum,
		Doc:     "Commodity channel index: distance from average; beyond 100 is a strong move.",
		Formula: "(source - SMA(source)) / (0.015 x mean absolute deviation of the source from that average). No value while the deviation is zero, or below 1e-12 of the price.",
		Truth:   "TradingView ta.cci, TA-Lib CCI",
		Params:  []Param{Int("period", 20, 1, 5000, "bars in the average").As("length"), zoneSwitch(), source("hlc3")},
		Lines:   []string{"CCI"}, Signals: zoneTriggers("CCI", "100", "-100"), Switches: []string{zoneSignals},
		New: func(v Values) Instance {
			n := v.Int("period")
			from := sourceOf(v.Text("source"))
			return single(sourced(v, fmt.Sprintf("CCI(%d)", n)), "CCI", n-1, n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				deviation := m.MeanDeviation(n)
				return func(r *Row) float64 {
					price := from(r.Bar)
					mean, away := deviation.Step(r.Slot, price)
					if calc.Difference(math.Abs(mean)+away, math.Abs(mean)) == 0 {
						return math.NaN() // all prices are the same but for rounding
					}
					return (price - mean) / float64(0.015*away)
				}
			}).zones(v, 100, -100, &[2]float64{-250, 250})
		},
	}
}

func roc() Def {
	return Def{
		Name: "roc", Kind: Panel, Group: GroupMomentum,
		Doc:     "Rate of change: percent moved over the last bars.",
		Formula: "100 x (source - source n bars ago) / source n bars ago; a fraction is a hundredth of it, a ratio source / source n bars ago.",
		Truth:   "TradingView ta.roc, TA-Lib ROC, ROCP and ROCR",
		Params: []Param{
			Int("period", 14, 1, 5000, "bars to look back").As("length"),
			Choice("mode", "percent", []string{"percent", "fraction", "ratio"}, "how the change is written"), source("close"),
		},
		Lines: []string{"ROC"}, Signals: crossTriggers("ROC", "zero (a ratio: 1)"),
		New: func(v Values) Instance {
			n, mode, price := v.Int("period"), v.Text("mode"), sourceOf(v.Text("source"))
			s := single(sourced(v, fmt.Sprintf("ROC(%d)", n)), "ROC", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				back := m.Lag(n)
				return func(r *Row) float64 {
					x := price(r.Bar)
					return changeOf(mode, x, back.Step(x))
				}
			}).zeroed(nil)
			if mode == "ratio" {
				s.detect = func(r *Row) { r.crossesLevel(0, 1) }
				s.levels = []HLine{{Y: 1, Style: Zero}}
			}
			return s
		},
	}
}

// changeOf returns the change from before to now.
func changeOf(mode string, now, before float64) float64 {
	switch {
	case before == 0:
		return math.NaN()
	case mode == "fraction":
		return (now - before) / before
	case mode == "ratio":
		return now / before
	}
	return 100 * (now - before) / before
}

// crossesLevel raises cross_up and cross_down where column a crosses a level.
func (r *Row) crossesLevel(a int, level float64) {
	if r.Prev[a] <= level && r.Values[a] > level {
		r.Signal("cross_up", r.Values[a])
	}
	if r.Prev[a] >= level && r.Values[a] < level {
		r.Signal("cross_down", r.Values[a])
	}
}

func williamsR() Def {
	return Def{
		Name: "williams_r", Aliases: []string{"willr"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Williams %R: the close within the range, 0 to -100.",
		Formula: "100 x (close - highest high) / (highest high - lowest low). No value while the range is zero.",
		Truth:   "TradingView Williams %R, TA-Lib WILLR",
		Params:  []Param{Int("period", 14, 1, 5000, "bars in the range").As("length"), zoneSwitch()},
		Lines:   []string{"%R"}, Signals: zoneTriggers("%R", "-20", "-80"), Switches: []string{zoneSignals},
		New: func(v Values) Instance {
			n := v.Int("period")
			return single(fmt.Sprintf("W%%R(%d)", n), "%R", n-1, n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				high, low := m.Max(n), m.Min(n)
				return func(r *Row) float64 {
					top, bottom := high.Step(r.Bar.H), low.Step(r.Bar.L)
					if top == bottom {
						return math.NaN()
					}
					return 100 * (r.Bar.C - top) / (top - bottom)
				}
			}).zones(v, -20, -80, &[2]float64{-100, 0})
		},
	}
}

func mfi() Def {
	return Def{
		Name: "mfi", Kind: Panel, Group: GroupVolume,
		Doc:     "Money flow index: volume-weighted RSI, 0 to 100; below 20 oversold, above 80 overbought.",
		Formula: "100 x rising money flow / (rising + falling) over `period` changes, where flow is hlc3 x volume and its side is that of the change of hlc3; no change, or one below 1e-12 of the price, counts for neither. No value while nothing flows.",
		Truth:   "TA-Lib MFI (TradingView counts the first bar as a rise)",
		Params:  []Param{Int("period", 14, 1, 5000, "changes in the sums").As("length"), zoneSwitch()},
		Lines:   []string{"MFI"}, Signals: zoneTriggers("MFI", "80", "20"), Switches: []string{zoneSignals},
		New: func(v Values) Instance {
			n := v.Int("period")
			return single(fmt.Sprintf("MFI(%d)", n), "MFI", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				return moneyFlow(m, n)
			}).zones(v, 80, 20, &[2]float64{0, 100})
		},
	}
}

// moneyFlow returns the step of a money flow index over n changes. Typical prices are
// compared with a tolerance, because equal ones may differ in rounding.
func moneyFlow(m *calc.Slab, n int) func(*Row) float64 {
	rise, fall, last := m.Sum(n), m.Sum(n), m.Lag(1)
	return func(r *Row) float64 {
		price := hlc3(r.Bar)
		before, flow := last.Step(price), float64(price*r.Bar.V)
		up, down := 0.0, 0.0
		switch change := calc.Difference(price, before); {
		case change > 0:
			up = flow
		case change < 0:
			down = flow
		case change != 0: // one of them is missing
			up, down = math.NaN(), math.NaN()
		}
		u, d := rise.Step(r.Slot, up), fall.Step(r.Slot, down)
		if u+d == 0 {
			return math.NaN()
		}
		return 100 * (u / (u + d))
	}
}

func cmf() Def {
	return Def{
		Name: "cmf", Kind: Panel, Group: GroupVolume,
		Doc:     "Chaikin money flow, -1 to 1; volume weighted by where each bar closed in its range, above zero is buying.",
		Formula: "Sum of ((c-l)-(h-c))/(h-l) x volume over sum of volume, over `period` bars; a bar without range counts as zero. No value without volume.",
		Truth:   "TradingView Chaikin money flow",
		Params:  []Param{Int("period", 20, 1, 5000, "bars in the sums").As("length")},
		Lines:   []string{"CMF"}, Signals: crossTriggers("CMF", "zero"),
		New: func(v Values) Instance {
			n := v.Int("period")
			return single(fmt.Sprintf("CMF(%d)", n), "CMF", n-1, n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				flow, volume := m.Sum(n), m.Sum(n)
				return func(r *Row) float64 {
					f, w := flow.Step(r.Slot, accumulated(r.Bar)), volume.Step(r.Slot, r.Bar.V)
					if w == 0 {
						return math.NaN()
					}
					return f / w
				}
			}).zeroed(&[2]float64{-1, 1})
		},
	}
}

// accumulated is the part of a bar's volume that its close puts on the buyers'
// side: all of it at the high, minus all of it at the low.
func accumulated(b market.Bar) float64 {
	if b.H == b.L {
		return 0
	}
	return float64(((b.C - b.L) - (b.H - b.C)) / (b.H - b.L) * b.V)
}

// zoneSignals is the switch for separate entry and exit signals of an extreme zone. It
// is off on charts, where older labels already mark the exits.
const zoneSignals = "zone_signals"

func zoneSwitch() Param {
	return Bool(zoneSignals, false, "also signal when a zone is entered, and under a second name when it is left")
}

// enterTriggers describes the entries and exits of both zones.
func enterTriggers(prefix, name, top, bottom string) []Trigger {
	where := "; y is " + name + "; on charts with `" + zoneSignals + "`"
	return []Trigger{
		{prefix + "oversold_enter", name + " falls below " + bottom + where},
		{prefix + "oversold_exit", name + " comes back from below " + bottom + where},
		{prefix + "overbought_enter", name + " rises above " + top + where},
		{prefix + "overbought_exit", name + " comes back from above " + top + where},
	}
}

// zoneDetector raises low and high when column a leaves a zone and, if the switch is
// on, entries and exits under the labels of enterTriggers.
func zoneDetector(v Values, a int, bottom float64, low string, top float64, high, prefix string) func(*Row) {
	if !v.Bool(zoneSignals) {
		return func(r *Row) { r.exits(a, bottom, low, top, high) }
	}
	lowIn, lowOut := prefix+"oversold_enter", prefix+"oversold_exit"
	highIn, highOut := prefix+"overbought_enter", prefix+"overbought_exit"
	return func(r *Row) {
		r.exits(a, bottom, low, top, high)
		r.exits(a, bottom, lowOut, top, highOut)
		if r.Prev[a] >= bottom && r.Values[a] < bottom {
			r.Signal(lowIn, r.Values[a])
		}
		if r.Prev[a] <= top && r.Values[a] > top {
			r.Signal(highIn, r.Values[a])
		}
	}
}

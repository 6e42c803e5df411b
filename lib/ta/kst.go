package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

// The indicators of this file are averages of changes.

func tsi() Def {
	return Def{
		Name: "tsi", Aliases: []string{"true_strength"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "True strength index, -100 to 100.",
		Formula: "TSI = 100 x EMA(EMA(change, long), short) / EMA(EMA(|change|, long), short); Signal = EMA(TSI, signal). A change below 1e-12 of the price is none. No value before the first change.",
		Truth:   "TradingView True Strength Indicator, TA-Lib TSI",
		Params: []Param{
			barsParam("long", 25, "bars of the first average"), barsParam("short", 13, "bars of the second"),
			barsParam("signal", 13, "bars of the signal line"), source("close"),
		},
		Lines: []string{"TSI", "Signal"}, Signals: crossTriggers("TSI", "Signal"),
		New: func(v Values) Instance {
			long, short, signal := v.Int("long"), v.Int("short"), v.Int("signal")
			price := sourceOf(v.Text("source"))
			s := twoLines(fmt.Sprintf("TSI(%d, %d, %d)", long, short, signal), "TSI", "Signal",
				long+short-1, emaStable(long)+emaStable(short)+emaStable(signal),
				func(m *calc.Slab) func(*Row) (float64, float64) {
					back, change, size, smooth := m.Lag(1), twice(m, long, short), twice(m, long, short), m.EMA(signal)
					return func(r *Row) (float64, float64) {
						now := price(r.Bar)
						d := calc.Difference(now, back.Step(now))
						x := 100 * share(change(d), size(math.Abs(d)))
						return x, smooth.Step(x)
					}
				})
			s.levels = []HLine{{Y: 0, Style: Zero}}
			return s
		},
	}
}

func pmo() Def {
	return Def{
		Name: "pmo", Aliases: []string{"price_momentum_oscillator"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Price momentum oscillator: smoothed change.",
		Formula: "PMO = mean of 10 x mean of (percent change of one bar), the means recursive with the factors 2/second and 2/first and seeded with as many values less one; Signal = EMA(PMO, signal).",
		Truth:   "DecisionPoint's definition, with averages of TA-Lib",
		Params: []Param{
			Int("first", 35, 2, 5000, "bars of the first mean"), Int("second", 20, 2, 5000, "bars of the second"),
			barsParam("signal", 10, "bars of the signal line"), source("close"),
		},
		Lines: []string{"PMO", "Signal"}, Signals: crossTriggers("PMO", "Signal"),
		New: func(v Values) Instance {
			// A mean with the factor 2/n is an EMA of n-1 bars.
			first, second, signal := v.Int("first")-1, v.Int("second")-1, v.Int("signal")
			price := sourceOf(v.Text("source"))
			s := twoLines(fmt.Sprintf("PMO(%d, %d, %d)", first+1, second+1, signal), "PMO", "Signal",
				first+second-1, emaStable(first)+emaStable(second)+emaStable(signal),
				func(m *calc.Slab) func(*Row) (float64, float64) {
					change, inner, outer, smooth := m.ROC(1), m.EMA(first), m.EMA(second), m.EMA(signal)
					return func(r *Row) (float64, float64) {
						x := outer.Step(10 * inner.Step(change.Step(price(r.Bar))))
						return x, smooth.Step(x)
					}
				})
			s.levels = []HLine{{Y: 0, Style: Zero}}
			return s
		},
	}
}

func coppock() Def {
	return Def{
		Name: "coppock", Kind: Panel, Group: GroupMomentum,
		Doc:     "Coppock curve: average of two rates of change.",
		Formula: "WMA(ROC(long) + ROC(short), length), in percent.",
		Truth:   "TradingView Coppock Curve, TA-Lib COPPOCK, pandas-ta coppock",
		Params: []Param{
			lengthParam(10, "bars of the average"), barsParam("long", 14, "bars of the long change"),
			barsParam("short", 11, "bars of the short change"), source("close"),
		},
		Lines: []string{"Coppock"}, Signals: crossTriggers("Coppock", "zero"),
		New: func(v Values) Instance {
			n, long, short, price := v.Int("length"), v.Int("long"), v.Int("short"), sourceOf(v.Text("source"))
			bars := n + max(long, short)
			return single(fmt.Sprintf("Coppock(%d, %d, %d)", n, long, short), "Coppock", bars-1, bars, func(m *calc.Slab, _ Env) func(*Row) float64 {
				a, b, mean := m.ROC(long), m.ROC(short), m.WMA(n)
				return func(r *Row) float64 {
					x := price(r.Bar)
					return unless(mean.Step(r.Slot, a.Step(x)+b.Step(x)), 100)
				}
			}).zeroed(nil)
		},
	}
}

// kstParts are the four lengths of changes and of their averages.
const kstParts = 4

func kst() Def {
	roc, sma := [kstParts]int{10, 15, 20, 30}, [kstParts]int{10, 10, 10, 15}
	params := make([]Param, 0, 2*kstParts+2)
	for i, n := range roc {
		params = append(params, barsParam(fmt.Sprintf("roc%d", i+1), n, "bars of a change"))
	}
	for i, n := range sma {
		params = append(params, barsParam(fmt.Sprintf("sma%d", i+1), n, "bars of its average"))
	}
	return Def{
		Name: "kst", Aliases: []string{"know_sure_thing"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Know sure thing: sum of four smoothed changes.",
		Formula: "KST = SMA(ROC(roc1), sma1) + 2 SMA(ROC(roc2), sma2) + 3 SMA(ROC(roc3), sma3) + 4 SMA(ROC(roc4), sma4), in percent; Signal = SMA(KST, signal).",
		Truth:   "TradingView Know Sure Thing, pandas-ta kst",
		Params:  append(params, barsParam("signal", 9, "bars of the signal line"), source("close")),
		Lines:   []string{"KST", "Signal"}, Signals: crossTriggers("KST", "Signal"),
		New: newKST,
	}
}

func newKST(v Values) Instance {
	var roc, sma [kstParts]int
	bars := 0
	for i := range kstParts {
		roc[i], sma[i] = v.Int(fmt.Sprintf("roc%d", i+1)), v.Int(fmt.Sprintf("sma%d", i+1))
		bars = max(bars, roc[i]+sma[i])
	}
	signal, price := v.Int("signal"), sourceOf(v.Text("source"))
	s := twoLines(fmt.Sprintf("KST(%d, %d, %d, %d, %d)", roc[0], roc[1], roc[2], roc[3], signal), "KST", "Signal", bars-1, bars+signal,
		func(m *calc.Slab) func(*Row) (float64, float64) {
			var changes [kstParts]calc.ROCState
			var means [kstParts]calc.SMAState
			for i := range kstParts {
				changes[i], means[i] = m.ROC(roc[i]), m.SMA(sma[i])
			}
			last := m.SMA(signal)
			return func(r *Row) (float64, float64) {
				x, sum := price(r.Bar), 0.0
				for i := range kstParts {
					sum += float64(float64(i+1) * means[i].Step(r.Slot, changes[i].Step(x)))
				}
				return sum, last.Step(r.Slot, sum)
			}
		})
	s.levels = []HLine{{Y: 0, Style: Zero}}
	return s
}

func rvgi() Def {
	return Def{
		Name: "rvgi", Aliases: []string{"relative_vigor"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Relative vigor index: bodies within ranges.",
		Formula: "RVGI = sum of S(close - open) / sum of S(high - low) over `length` bars, Signal = S(RVGI), where S weights the last four values 1, 2, 2, 1. No value while no bar has a range.",
		Truth:   "TradingView Relative Vigor Index, pandas-ta rvgi",
		Params:  []Param{lengthParam(10, "bars in the sums")},
		Lines:   []string{"RVGI", "Signal"}, Signals: crossTriggers("RVGI", "Signal"),
		New: func(v Values) Instance {
			n := v.Int("length")
			s := twoLines(fmt.Sprintf("RVGI(%d)", n), "RVGI", "Signal", n+2, n+6, func(m *calc.Slab) func(*Row) (float64, float64) {
				body, span, last := symmetric(m), symmetric(m), symmetric(m)
				bodies, spans := m.Sum(n), m.Sum(n)
				return func(r *Row) (float64, float64) {
					a := bodies.Step(r.Slot, body(r.Bar.C-r.Bar.O))
					x := share(a, spans.Step(r.Slot, span(r.Bar.H-r.Bar.L)))
					return x, last(x)
				}
			})
			s.levels = []HLine{{Y: 0, Style: Zero}}
			return s
		},
	}
}

// symmetric returns the step of the mean of four values with the weights 1, 2, 2, 1.
func symmetric(m *calc.Slab) func(x float64) float64 {
	one, two, three := m.Lag(1), m.Lag(2), m.Lag(3)
	return func(x float64) float64 {
		a, b, c := one.Step(x), two.Step(x), three.Step(x)
		return ((x + c) + float64(2*(a+b))) / 6
	}
}

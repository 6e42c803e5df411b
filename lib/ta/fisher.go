package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

func trix() Def {
	return Def{
		Name: "trix", Kind: Panel, Group: GroupMomentum,
		Doc:     "TRIX: change of a triple average.",
		Formula: "10000 x change of EMA(EMA(EMA(ln price))), all of `length` bars. A change below 1e-12 of the average is zero.",
		Truth:   "TradingView TRIX (TA-Lib TRIX and Tulip trix are percent changes of the average of the price itself)",
		Params:  []Param{lengthParam(18, "bars of each average"), source("close")},
		Lines:   []string{"TRIX"}, Signals: crossTriggers("TRIX", "zero"),
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			return single(fmt.Sprintf("TRIX(%d)", n), "TRIX", 3*n-2, 3*emaStable(n), func(m *calc.Slab, _ Env) func(*Row) float64 {
				twiceOver, third, back := twice(m, n, n), m.EMA(n), m.Lag(1)
				return func(r *Row) float64 {
					x := third.Step(twiceOver(calc.Log(price(r.Bar))))
					return 10_000 * calc.Difference(x, back.Step(x))
				}
			}).zeroed(nil)
		},
	}
}

func fisher() Def {
	return Def{
		Name: "fisher", Aliases: []string{"fisher_transform"}, Kind: Panel, Group: GroupMomentum,
		Doc: "Fisher transform: sharp turns of the price.",
		Formula: "Value = 0.66 x (place within the range of `length` bars, 0 to 1, - 0.5) + 0.67 x value before, at most 0.999 in size once beyond 0.99; Fisher = 0.5 ln((1 + value) / (1 - value)) + 0.5 x Fisher before; Trigger = Fisher before. " +
			"A window without range has no value, and what was before it counts as 0.",
		Truth:  "TradingView Fisher Transform, Tulip fisher (pandas-ta fisher begins at 0 and agrees within 1e-6 from bar 200 on)",
		Params: []Param{lengthParam(9, "bars in the range"), source("hl2")},
		Lines:  []string{"Fisher", "Trigger"}, Signals: crossTriggers("Fisher", "Trigger"),
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			s := twoLines(fmt.Sprintf("Fisher(%d)", n), "Fisher", "Trigger", n-1, n+200, func(m *calc.Slab) func(*Row) (float64, float64) {
				f := newFisher(m, n)
				return func(r *Row) (float64, float64) { return f.next(price(r.Bar)) }
			})
			s.levels = []HLine{{Y: 1.5}, {Y: -1.5}, {Y: 0, Style: Zero}}
			return s
		},
	}
}

// fishers is the state of a Fisher transform: the value and the transform before, and
// whether there is one.
type fishers struct {
	top, low calc.ExtremeState
	cells    calc.Cells
}

func newFisher(m *calc.Slab, n int) *fishers {
	return &fishers{top: m.Max(n), low: m.Min(n), cells: m.Cells(3)}
}

func (f *fishers) next(x float64) (fisher, trigger float64) {
	high, bottom := f.top.Step(x), f.low.Step(x)
	m := f.cells.Mem()
	trigger = math.NaN()
	if m[2] != 0 {
		trigger = m[1]
	}
	place := share(x-bottom, calc.Difference(high, bottom))
	if place-place != 0 {
		clear(m)
		return math.NaN(), math.NaN()
	}
	value := float64(0.66*(place-0.5)) + float64(0.67*m[0])
	if math.Abs(value) > 0.99 {
		value = math.Copysign(0.999, value)
	}
	fisher = float64(0.5*calc.Log((1+value)/(1-value))) + float64(0.5*m[1])
	m[0], m[1], m[2] = value, fisher, 1
	return fisher, trigger
}

func connorsRSI() Def {
	return Def{
		Name: "connors_rsi", Aliases: []string{"crsi"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Connors RSI: RSI, streak and rank of change.",
		Formula: "Mean of RSI(price, length), RSI(streak, streak_length) and the percent of the last `rank_length` one-bar changes, in percent, that are at or below this one. The streak counts bars of rises (positive) or falls (negative) in a row.",
		Truth:   "TradingView Connors RSI",
		Params: []Param{
			lengthParam(3, "bars of the RSI"), barsParam("streak_length", 2, "bars of the RSI of the streak"),
			Int("rank_length", 100, 1, 1000, "changes that are ranked"), source("close"),
		},
		Lines: []string{"CRSI"}, Signals: exitTriggers("CRSI", "70", "30"),
		New: func(v Values) Instance {
			n, run, rank, price := v.Int("length"), v.Int("streak_length"), v.Int("rank_length"), sourceOf(v.Text("source"))
			first := max(n, run+1, rank+1)
			return single(fmt.Sprintf("CRSI(%d, %d, %d)", n, run, rank), "CRSI", first, max(wilderStable(n), 100+wilderStable(run), rank+2),
				func(m *calc.Slab, _ Env) func(*Row) float64 {
					index, streaks, streak := m.RSI(n), m.RSI(run), newStreak(m)
					change, changes := m.ROC(1), m.Recent(rank+1)
					return func(r *Row) float64 {
						x := price(r.Bar)
						sum := index.Step(x) + streaks.Step(streak(x))
						return (sum + rankOf(changes.Step(change.Step(x)))) / 3
					}
				}).bounded(70, 30, &[2]float64{0, 100})
		},
	}
}

// newStreak returns the step of the number of rises or falls in a row.
func newStreak(m *calc.Slab) func(x float64) float64 {
	back, cells := m.Lag(1), m.Cells(1)
	return func(x float64) float64 {
		change, count := calc.Difference(x, back.Step(x)), cells.Mem()
		switch {
		case change > 0:
			count[0] = max(count[0], 0) + 1
		case change < 0:
			count[0] = min(count[0], 0) - 1
		case change == 0:
			count[0] = 0
		default:
			return math.NaN()
		}
		return count[0]
	}
}

// rankOf returns the percent of the values before the last that are at or below it.
func rankOf(values []float64) float64 {
	if values == nil {
		return math.NaN()
	}
	last, count := values[len(values)-1], 0
	for _, x := range values[:len(values)-1] {
		switch {
		case x <= last:
			count++
		case x != x:
			return x
		}
	}
	return 100*float64(count)/float64(len(values)-1) + 0*last
}

func rci() Def {
	return Def{
		Name: "rci", Aliases: []string{"rank_correlation"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Rank correlation index, -100 to 100.",
		Formula: "100 x correlation of the rank in time with the rank in price of the last `length` bars; equal prices share their mean rank. No value while all are equal.",
		Truth:   "TradingView Rank Correlation Index, which starts one bar later",
		Params:  []Param{Int("length", 10, 2, 200, "bars ranked").As("period"), source("close")},
		Lines:   []string{"RCI"}, Signals: exitTriggers("RCI", "80", "-80"),
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			return single(fmt.Sprintf("RCI(%d)", n), "RCI", n-1, n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				recent := m.Recent(n)
				return func(r *Row) float64 { return rankCorrelation(recent.Step(price(r.Bar))) }
			}).bounded(80, -80, &[2]float64{-100, 100})
		},
	}
}

// rankCorrelation is Pearson's correlation of the order in time with the order in size.
// Both are twice the distance of a rank from the middle one, and so whole numbers.
func rankCorrelation(values []float64) float64 {
	product, times, sizes := 0, 0, 0
	for i, x := range values {
		size := 0 // how many are smaller less how many are larger
		for _, y := range values {
			switch d := calc.Difference(x, y); {
			case d > 0:
				size++
			case d < 0:
				size--
			case d != d:
				return d
			}
		}
		time := 2*i - (len(values) - 1)
		product += time * size
		times += time * time
		sizes += size * size
	}
	if sizes == 0 {
		return math.NaN()
	}
	return 100 * float64(product) / math.Sqrt(float64(times)*float64(sizes))
}

package ta

import (
	"fmt"
	"math"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

func vwap() Def {
	return Def{
		Name: "vwap", Kind: Overlay, Group: GroupVolume,
		Doc:     "Volume-weighted average price of the session; the average price paid today.",
		Formula: "Sum of source x volume over sum of volume, both from the start of the anchor period (session days of the market's own calendar, weeks from Monday).",
		Truth:   "TradingView ta.vwap",
		Params:  []Param{anchor(), source("hlc3")},
		Lines:   []string{"VWAP"},
		New: func(v Values) Instance {
			const mean, began = 0, 1
			a := anchored{v: v, began: began}
			return &series{
				label: "VWAP(" + v.Text("anchor") + ")", warm: a.warm, columns: 2, lines: solid("VWAP"), begin: a.begin,
				byBar:   true,
				present: func(r *Result, col [][]float64) { r.Restarts = restarts(col[began]) },
			}
		},
	}
}

func vwapBands() Def {
	return Def{
		Name: "vwap_bands", Kind: Overlay, Group: GroupVolume,
		Doc:     "VWAP with volume-weighted standard deviations; how far the price is from the average paid.",
		Formula: "VWAP as in `vwap`; deviation = square root of the volume-weighted variance of the source around it since the anchor.",
		Truth:   "TradingView ta.vwap with bands",
		Params: []Param{
			Num("std_dev", 2, 0, 100, "band distance in standard deviations").As("mult", "multiplier"),
			anchor(), source("hlc3"),
		},
		Lines: []string{"VWAP Upper", "VWAP", "VWAP Lower"},
		New: func(v Values) Instance {
			const upper, middle, lower, began = 0, 1, 2, 3
			a, k := anchored{v: v, began: began}, v.Num("std_dev")
			return &series{
				label: fmt.Sprintf("VWAP Bands(%s, %s)", number(k), v.Text("anchor")), warm: a.warm, columns: 4,
				lines: []Line{{Label: "VWAP Upper", Style: Band}, {Label: "VWAP"}, {Label: "VWAP Lower", Style: Band}},
				begin: func(m *calc.Slab, env Env) step {
					next := a.begin(m, env)
					return func(r *Row) {
						next(r)
						mean, width := r.Values[0], float64(k*r.Values[2])
						r.Values[upper], r.Values[middle], r.Values[lower] = mean+width, mean, mean-width
					}
				},
				byBar: true,
				present: func(r *Result, col [][]float64) {
					r.Restarts = restarts(col[began])
					r.Fills = []Fill{{Y1: col[upper], Y2: col[lower], Style: Channel}}
				},
			}
		},
	}
}

func anchor() Param {
	return Choice("anchor", "session", []string{"session", "week", "month", "quarter", "year"}, "period after which the average restarts")
}

// anchored is a volume-weighted mean that restarts with every period.
type anchored struct {
	v     Values
	began int // the column that is 1 at the first bar of a period, else 0
}

// restarts returns the bars whose mark is 1.
func restarts(marks []float64) []int {
	var at []int
	for i, mark := range marks {
		if mark == 1 {
			at = append(at, i)
		}
	}
	return at
}

// warm: the mean is known from the first bar, and stable once a period has begun
// inside the history.
func (a anchored) warm(env Env) (first, stable int) {
	return 0, periodBars(env.Interval, a.unitOf(env)) + 1
}

// unitOf returns the period after which the mean restarts.
func (a anchored) unitOf(env Env) string {
	if unit := a.v.Text("anchor"); unit != "auto" {
		return unit
	}
	return autoUnit(env)
}

// enters reports whether the bar is the first of a period, whose number it keeps in
// period, and marks it in the column.
func (a anchored) enters(r *Row, env Env, period *float64) bool {
	r.Values[a.began] = 0
	p := float64(periodOf(env.Calendar, a.unitOf(env), r.Bar.T))
	if r.Index > 0 && p == *period {
		return false
	}
	if r.Index > 0 {
		r.Values[a.began] = 1
	}
	*period = p
	return true
}

// begin returns a step that writes the mean to column 0 and, if the row has one,
// the deviation to column 2.
func (a anchored) begin(m *calc.Slab, env Env) step {
	period, mean := m.Cells(1), newVolumeMean(m, a.v.Text("source"))
	return func(r *Row) {
		if a.enters(r, env, &period.Mem()[0]) {
			mean.restart()
		}
		mean.write(r)
	}
}

// volumeMean is a volume-weighted mean since it was restarted.
type volumeMean struct {
	src   func(market.Bar) float64
	cells calc.Cells
}

func newVolumeMean(m *calc.Slab, source string) volumeMean {
	return volumeMean{sourceOf(source), m.Cells(4)}
}

func (w volumeMean) restart() { clear(w.cells.Mem()) }

// add takes a bar and returns the mean and the deviation, NaN before there is volume.
// The variance is summed around the running mean (West 1979), because mean square minus
// squared mean cancels at high prices.
func (w volumeMean) add(b market.Bar) (value, deviation float64) {
	const volume, amount, mean, squares = 0, 1, 2, 3
	c := w.cells.Mem()
	if x := w.src(b); b.V > 0 && !math.IsNaN(x) {
		c[volume] += b.V
		c[amount] += float64(x * b.V)
		away := x - c[mean]
		c[mean] += float64(away * (b.V / c[volume]))
		c[squares] += float64(float64(b.V*away) * (x - c[mean]))
	}
	if !(c[volume] > 0) {
		return math.NaN(), math.NaN()
	}
	return c[amount] / c[volume], math.Sqrt(max(c[squares], 0) / c[volume])
}

// write adds the row's bar and writes the mean to column 0 and, if there is one, the
// deviation to column 2.
func (w volumeMean) write(r *Row) {
	value, deviation := w.add(r.Bar)
	r.Values[0] = value
	if len(r.Values) > 2 {
		r.Values[2] = deviation
	}
}

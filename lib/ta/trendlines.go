package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

func trendlines() Def {
	return Def{
		Name: "trendlines", Aliases: []string{"trendline"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Trend lines from swings; they fall from highs and rise from lows, and the first close beyond one is a breakout.",
		Formula: "From the last swing high (as in `swings`) a line falls by slope x ATR(length) / length a bar, with the range of the bar that confirmed the swing; from the last swing low one rises so. " +
			"A line is drawn from the bar on that confirmed the swing to the first close beyond it.",
		Truth:  "own definition; second derivation in the tests",
		Params: []Param{sideBars(14), Num("slope", 1, 0, 20, "steepness in average true ranges over `length` bars").As("mult")},
		Lines:  []string{"Upper", "Lower"},
		Signals: []Trigger{
			{"breakout_up", "the first close above the line from the last swing high; y is the line"},
			{"breakout_down", "the first close below the line from the last swing low; y is the line"},
		},
		New: func(v Values) Instance {
			n, slope := v.Int("length"), v.Num("slope")
			return &series{
				label: fmt.Sprintf("Trend Lines(%d, %s)", n, number(slope)), first: 2 * n,
				stable: wilderStable(n) + 2*n + 1000, columns: 3, lines: solid("Upper", "Lower"),
				begin: func(m *calc.Slab, _ Env) step {
					find, atr, cells := newSwingFinder(m, n), m.ATR(n), m.Cells(2*trendlineCells)
					return func(r *Row) {
						top, bottom := find.next(r)
						fall := float64(slope * atr.Step(r.Bar.H, r.Bar.L, r.Bar.C) / float64(n))
						c := cells.Mem()
						began := r.trendline(c[:trendlineCells], 0, n, top, fall, -1, "breakout_up")
						if r.trendline(c[trendlineCells:], 1, n, bottom, fall, 1, "breakout_down") || began {
							r.Values[2] = 1
						}
					}
				},
				present: func(r *Result, col [][]float64) { r.Restarts = restarts(col[2]) },
			}
		},
	}
}

// The cells of a trend line.
const (
	trendlineX     = iota // index of its swing, plus one: 0 is none
	trendlinePrice        // of its swing
	trendlineFall         // a bar
	trendlineBroken
	trendlineCells
)

// trendline begins a line at a swing that is no NaN, writes its value to a column and
// signals the first close beyond it. The sign is that of its slope. It reports whether
// a line began.
func (r *Row) trendline(c []float64, column, back int, swing, fall, sign float64, label string) (began bool) {
	if !math.IsNaN(swing) && !math.IsNaN(fall) {
		c[trendlineX], c[trendlinePrice], c[trendlineFall], c[trendlineBroken] = float64(r.Index-back+1), swing, fall, 0
		began = true
	}
	if c[trendlineX] == 0 || c[trendlineBroken] == 1 {
		return began
	}
	bars := float64(r.Index+1) - c[trendlineX]
	level := c[trendlinePrice] + float64(sign*float64(c[trendlineFall]*bars))
	r.Values[column] = level
	if float64(sign*r.Bar.C) < float64(sign*level) {
		c[trendlineBroken] = 1
		r.Signal(label, level)
	}
	return began
}

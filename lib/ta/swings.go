package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

// sideBars describes the parameter of how many bars confirm a swing.
func sideBars(def int) Param {
	return Int("length", def, 1, 500, "bars on each side of a swing; the swing is known that many bars later").As("period", "left")
}

// swingFinder finds the highs that are above, and the lows that are below, those of n
// bars on each side.
type swingFinder struct {
	n         int
	high, low calc.PivotState
}

func newSwingFinder(m *calc.Slab, n int) swingFinder {
	return swingFinder{n: n, high: m.Pivot(n, n), low: m.Pivot(n, n)}
}

// next returns the high and the low that the bar confirms, n bars back; NaN for none.
func (f *swingFinder) next(r *Row) (top, bottom float64) {
	top, _ = f.high.Step(r.Bar.H)
	_, bottom = f.low.Step(r.Bar.L)
	return top, bottom
}

func swings() Def {
	return Def{
		Name: "swings", Aliases: []string{"pivots_hl"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Swing highs and lows: HH, HL, LH, LL; each is known `length` bars later, and the lines show the last ones known.",
		Formula: "A swing high is a high above those of the `length` bars before and after it, a swing low a low below them; equal neighbours make none. " +
			"It is compared with the swing of its kind before. The lines hold the last swing from the bar that confirmed it on.",
		Truth:  "TradingView ta.pivothigh and ta.pivotlow, Skender pivots; second derivation in the tests",
		Params: []Param{sideBars(5)},
		Lines:  []string{"Swing High", "Swing Low"},
		Signals: []Trigger{
			{"higher_high", "a swing high is confirmed above the one before; drawn at the swing; y is the high"},
			{"lower_high", "a swing high is confirmed at or below the one before; drawn at the swing; y is the high"},
			{"higher_low", "a swing low is confirmed at or above the one before; drawn at the swing; y is the low"},
			{"lower_low", "a swing low is confirmed below the one before; drawn at the swing; y is the low"},
		},
		New: func(v Values) Instance {
			n := v.Int("length")
			return &series{
				label: fmt.Sprintf("Swings(%d)", n), first: 2 * n,
				// The levels are those of the last swings, however long ago they were.
				stable: 2*n + 500, columns: 2, lines: styled(Steps, "Swing High", "Swing Low"),
				begin: func(m *calc.Slab, _ Env) step {
					find, cells := newSwingFinder(m, n), m.Cells(4)
					return func(r *Row) {
						c := cells.Mem()
						top, bottom := find.next(r)
						r.compareSwing(c[:2], top, n, "higher_high", "lower_high", true)
						r.compareSwing(c[2:], bottom, n, "higher_low", "lower_low", false)
						r.Values[0], r.Values[1] = known(c[:2]), known(c[2:])
					}
				},
			}
		},
	}
}

// compareSwing stores a swing that is no NaN in last, which holds whether there was one
// and its price, and signals how it compares with the one before. Equal highs are not
// higher, equal lows not lower.
func (r *Row) compareSwing(last []float64, x float64, back int, higher, lower string, high bool) {
	if math.IsNaN(x) {
		return
	}
	if last[0] == 1 {
		label := lower
		if x > last[1] || !high && x == last[1] {
			label = higher
		}
		r.SignalAt(r.Index-back, label, x)
	}
	last[0], last[1] = 1, x
}

// known returns a stored price, NaN before there is one.
func known(cell []float64) float64 {
	if cell[0] == 0 {
		return math.NaN()
	}
	return cell[1]
}

package indicator

import (
	"math"

	"candela/internal/analysis/calc"
)

// A divergence is a disagreement of price and oscillator at two neighbouring
// pivots of the oscillator. The figures are those of the public definition.
const (
	pivotSide = 5  // bars on each side of a pivot
	nearest   = 6  // bars between the two confirmations, at least
	farthest  = 61 // and at most
)

func divergenceTriggers(prefix, name, when string) []Trigger {
	return []Trigger{
		{prefix + "_bull_div", "a pivot low of the " + name + " (5 bars on each side, compared to nine decimals) is above the one before while the price low is below; pivots 6 to 61 bars apart; drawn at the pivot, confirmed 5 bars later" + when},
		{prefix + "_bear_div", "a pivot high of the " + name + " (5 bars on each side, compared to nine decimals) is below the one before while the price high is above; pivots 6 to 61 bars apart; drawn at the pivot, confirmed 5 bars later" + when},
	}
}

// withDivergences adds the divergences between column c and the price.
func (s *series) withDivergences(prefix string, c int) *series {
	s.stable += farthest + 2*pivotSide // until both pivots of every divergence are settled
	s.trace = func(m *calc.Slab) step {
		d := newDivergence(m, prefix)
		return func(r *Row) { d.next(r, r.Values[c]) }
	}
	return s
}

// divergence looks for divergences of one oscillator.
type divergence struct {
	bull, bear string
	osc        calc.PivotState
	low, high  calc.LagState // the price extremes of the bar at the pivot
	cells      calc.Cells
}

// Where divergence keeps the last pivot low, then the last pivot high.
const (
	divX = iota // index of the pivot, plus one: 0 is none
	divOsc
	divPrice
	divSide // numbers a side takes
)

func newDivergence(m *calc.Slab, prefix string) *divergence {
	return &divergence{
		bull: prefix + "_bull_div", bear: prefix + "_bear_div",
		osc: m.Pivot(pivotSide, pivotSide), low: m.Lag(pivotSide), high: m.Lag(pivotSide),
		cells: m.Cells(2 * divSide),
	}
}

func (d *divergence) next(r *Row, osc float64) {
	low, high := d.low.Step(r.Bar.L), d.high.Step(r.Bar.H)
	// With an unchanged price only the last bits of the oscillator move, which must not
	// turn a plateau into a pivot: nine decimals are compared.
	osc = math.Round(osc*1e9) / 1e9
	top, bottom := d.osc.Step(osc)
	m := d.cells.Mem()
	if !math.IsNaN(bottom) {
		d.side(r, m[:divSide], bottom, low, true)
	}
	if !math.IsNaN(top) {
		d.side(r, m[divSide:], top, high, false)
	}
}

// side compares a new pivot with the last of its kind and stores it.
func (d *divergence) side(r *Row, last []float64, osc, price float64, bull bool) {
	x := r.Index - pivotSide
	before := int(last[divX]) - 1
	if apart := x - before; before >= 0 && apart >= nearest && apart <= farthest {
		label, found := d.bull, osc > last[divOsc] && price < last[divPrice]
		if !bull {
			label, found = d.bear, osc < last[divOsc] && price > last[divPrice]
		}
		if found {
			r.SignalAt(x, label, osc)
			r.DivLines = append(r.DivLines, DivLine{X1: before, Y1: last[divOsc], X2: x, Y2: osc, Dashed: true, Bull: bull})
		}
	}
	last[divX], last[divOsc], last[divPrice] = float64(x+1), osc, price
}

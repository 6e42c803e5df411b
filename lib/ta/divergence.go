package ta

import (
	"math"

	"candela/lib/ta/calc"
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
	bull, bear             string
	hiddenBull, hiddenBear string // empty: not looked for
	side                   int    // bars after a pivot that confirm it
	solid                  bool   // whether the segments of those that are not hidden are solid
	osc                    calc.PivotState
	low, high              calc.LagState // the price extremes of the bar at the pivot
	cells                  calc.Cells
}

// Where divergence keeps the last pivot low, then the last pivot high.
const (
	divX = iota // index of the pivot, plus one: 0 is none
	divOsc
	divPrice
	divSide // numbers a side takes
)

func newDivergence(m *calc.Slab, prefix string) *divergence {
	d := divergenceAt(m, pivotSide, pivotSide)
	d.bull, d.bear = prefix+"_bull_div", prefix+"_bear_div"
	return d
}

// divergenceAt returns a detector of divergences at pivots with so many bars on each
// side.
func divergenceAt(m *calc.Slab, left, right int) *divergence {
	return &divergence{side: right, osc: m.Pivot(left, right), low: m.Lag(right), high: m.Lag(right), cells: m.Cells(2 * divSide)}
}

// next takes a bar with a bounded oscillator. With an unchanged price only the last bits
// of it move, which must not turn a plateau into a pivot: nine decimals are compared.
func (d *divergence) next(r *Row, osc float64) { d.compare(r, math.Round(osc*1e9)/1e9) }

// compare takes a bar with an oscillator whose values are compared as they are.
func (d *divergence) compare(r *Row, osc float64) {
	low, high := d.low.Step(r.Bar.L), d.high.Step(r.Bar.H)
	top, bottom := d.osc.Step(osc)
	m := d.cells.Mem()
	if !math.IsNaN(bottom) {
		d.pivot(r, m[:divSide], bottom, low, true)
	}
	if !math.IsNaN(top) {
		d.pivot(r, m[divSide:], top, high, false)
	}
}

// pivot compares a new pivot with the last of its kind and stores it.
func (d *divergence) pivot(r *Row, last []float64, osc, price float64, bull bool) {
	x := r.Index - d.side
	before := int(last[divX]) - 1
	if apart := x - before; before >= 0 && apart >= nearest && apart <= farthest {
		label, hidden, sign := d.bull, d.hiddenBull, 1.0
		if !bull {
			label, hidden, sign = d.bear, d.hiddenBear, -1
		}
		rise, climb := float64(sign*(osc-last[divOsc])), float64(sign*(price-last[divPrice]))
		line := DivLine{X1: before, Y1: last[divOsc], X2: x, Y2: osc, Dashed: !d.solid, Bull: bull}
		switch {
		case rise > 0 && climb < 0:
			r.SignalAt(x, label, osc)
			r.DivLines = append(r.DivLines, line)
		case rise < 0 && climb > 0 && hidden != "":
			line.Dashed = true
			r.SignalAt(x, hidden, osc)
			r.DivLines = append(r.DivLines, line)
		}
	}
	last[divX], last[divOsc], last[divPrice] = float64(x+1), osc, price
}

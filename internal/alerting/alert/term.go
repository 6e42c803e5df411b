package alert

import (
	"math"
	"slices"

	"candela/lib/market"
	"candela/lib/ta"
)

// Row is what an indicator has at a bar: its values at that bar and the one before, by
// column, and the signals that the bar confirms.
type Row struct {
	Values, Prev []float64
	Signals      []ta.Signal
}

// frame is a bar at which conditions are evaluated, and the one before it. The rows of the
// indicators are in their groups, if they have the frame's stamp.
type frame struct {
	bar, prev market.Bar
	hasPrev   bool
	stamp     int64
	opened    int64 // when the bar opened on the wall, in milliseconds; alerts on ticks of scripts need it

	on     market.Interval // of longer bars
	stale  bool            // the bar had closed when the bar before of the alert did
	longer []frame         // of the newest bars of longer intervals, where they are known
}

// term is a value of a frame: a column of an indicator, a price or a number.
type term struct {
	group  *indicatorGroup
	column int
	price  int // index in Prices plus one; 0 for none
	number float64
}

// at returns the value at the bar of the frame.
func (t *term) at(f *frame) float64 {
	switch {
	case t.group != nil:
		return valueAt(t.group.row.Values, t.column)
	case t.price > 0:
		return priceOf(&f.bar, t.price)
	}
	return t.number
}

// before returns the value at the bar before, NaN if there is none.
func (t *term) before(f *frame) float64 {
	switch {
	case t.group != nil:
		return valueAt(t.group.row.Prev, t.column)
	case t.price > 0 && !f.hasPrev:
		return math.NaN()
	case t.price > 0:
		return priceOf(&f.prev, t.price)
	}
	return t.number
}

func valueAt(values []float64, column int) float64 {
	if column >= len(values) {
		return math.NaN()
	}
	return values[column]
}

// priceOf returns a price of a bar by its number.
func priceOf(b *market.Bar, n int) float64 {
	name := Prices()[n-1]
	if name == "volume" {
		return b.V
	}
	return ta.Price(name)(*b)
}

// termOf returns the term of an operand. The operand was checked.
func (b *Index) termOf(w scope, o *Operand) term {
	switch {
	case o.Indicator != "":
		return b.columnOf(w, o.Indicator, o.Params, o.Line)
	case o.Price != "":
		return term{price: slices.Index(Prices(), o.Price) + 1}
	}
	return term{number: toFloat(o.Number)}
}

func (b *Index) columnOf(w scope, name, params, line string) term {
	s, _ := b.selectionOf(name, params) // it was found by check
	i, _ := column(s, "line", &line)    // likewise
	return term{group: w.group(s, w.on), column: i}
}

package console

import (
	"math"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// stakeRow is what stands behind a position in a perpetual future.
type stakeRow struct {
	Short    bool
	Margin   decimal.Decimal
	Leverage decimal.Decimal
	Mark     decimal.Decimal // zero if unknown
	At       decimal.Decimal // price that liquidates the position; zero if none does
	Away     decimal.Decimal // of the mark price, else the last one, from At, in percent; zero if unknown
	Funding  decimal.Decimal // received; negative when paid
	Scale    *scale          // nil without prices to compare
}

// newStakeRow returns nil for a position without a margin, or with one that is not known.
func newStakeRow(p order.PricedPosition) *stakeRow {
	s := p.Stake()
	if s == nil {
		return nil
	}
	row := &stakeRow{
		Short: p.Quantity.IsNegative(), Margin: s.Margin, Leverage: s.Leverage, Mark: p.Margin.Mark,
		At: s.Liquidation, Away: s.Distance, Funding: p.Margin.Funding.Neg(),
	}
	now := row.Mark
	if !now.IsPositive() {
		now = p.Quote.Last
	}
	if now.IsPositive() && row.At.IsPositive() {
		row.Scale = newScale(p.Margin.Entry, now, row.At, p.Plan)
	}
	return row
}

// scale has the prices of a position as places on one line, in percent of its length.
type scale struct {
	Entry, Now, Liquidation float64
	Stop, Target            *float64 // of the first line of the plan that has one
	Gain                    bool     // the position is worth more than at its entry
}

func newScale(entry, now, liquidation decimal.Decimal, plan []order.Line) *scale {
	var stop, target decimal.Decimal
	for _, l := range plan {
		if level := l.Level(); !stop.IsPositive() && l.Quantity.IsPositive() {
			stop = level
		}
		if !target.IsPositive() && l.Quantity.IsPositive() {
			target = l.Protect.TakeProfit
		}
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, d := range []decimal.Decimal{entry, now, liquidation, stop, target} {
		if d.IsPositive() {
			low, high = min(low, d.InexactFloat64()), max(high, d.InexactFloat64())
		}
	}
	place := func(d decimal.Decimal) float64 {
		const edge = 1 // percent, so that a mark at the end is drawn whole
		return round2(edge + (100-2*edge)*(d.InexactFloat64()-low)/max(high-low, math.SmallestNonzeroFloat64))
	}
	mark := func(d decimal.Decimal) *float64 {
		if !d.IsPositive() {
			return nil
		}
		return new(place(d))
	}
	return &scale{
		Entry: place(entry), Now: place(now), Liquidation: place(liquidation), Stop: mark(stop), Target: mark(target),
		Gain: now.GreaterThan(entry) == entry.GreaterThan(liquidation),
	}
}

// Risk returns where the part ends that is lost at the stop: at the liquidation without one.
func (s scale) Risk() float64 {
	if s.Stop != nil {
		return *s.Stop
	}
	return s.Liquidation
}

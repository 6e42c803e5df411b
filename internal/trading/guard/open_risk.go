package guard

import (
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/margin"
	"candela/internal/trading/order"
)

// openRisk sums what one symbol may lose: its position down to its stops, and what open
// orders may open, down to theirs. It is in the quote currency.
type openRisk struct {
	policy Policy
	limits Limits
	book   *order.Book
	quote  order.Quote
	inst   provider.Instrument
}

func (r openRisk) of(pos order.Position, open []order.Order) decimal.Decimal {
	held := pos.Held(r.inst.Base)
	return r.position(held, pos.Cost.Abs(), open).Add(r.orders(held, open))
}

// coverage is a part of a position that a stop closes at a price.
type coverage struct{ quantity, level decimal.Decimal }

// position returns the loss of a position if every stop fills beyond its price by the
// slippage. What was paid is the measure, not the current price. A part without a stop
// counts in full.
func (r openRisk) position(held, cost decimal.Decimal, open []order.Order) decimal.Decimal {
	if held.IsZero() {
		return decimal.Zero
	}
	if r.inst.Class == provider.Perpetual {
		return r.margined(held, cost, open)
	}
	left, long := held.Abs(), held.IsPositive()
	fee, rates := r.limits.TakerFeePct, r.limits.TakerFeePct.Add(r.limits.StopSlippagePct)
	var exits decimal.Decimal // proceeds of the sales, or cost of the purchases
	for _, c := range r.stops(held, open) {
		part := decimal.Min(c.quantity, left)
		left = left.Sub(part)
		worth := part.Mul(c.level)
		if long {
			exits = exits.Add(worth.Sub(percent(worth, rates)))
		} else {
			exits = exits.Add(worth.Add(percent(worth, rates)))
		}
	}
	if long {
		return decimal.Max(decimal.Min(cost.Add(percent(cost, fee)).Sub(exits), cost), decimal.Zero)
	}
	// The part of the cost that has no stop is lost; that of the other part pays for it.
	naked := cost.Mul(left).DivRound(held.Abs(), 18)
	covered := cost.Sub(naked)
	return decimal.Max(exits.Sub(covered).Add(percent(covered, fee)), decimal.Zero).Add(naked)
}

// margined is position in a perpetual future, which loses its margin at most.
func (r openRisk) margined(held, cost decimal.Decimal, open []order.Order) decimal.Decimal {
	left, s := held.Abs(), decimal.NewFromInt(int64(held.Sign()))
	leverage := decimal.Max(r.limits.MaxLeverage.Value, decimal.NewFromInt(1))
	set := margin.Initial(cost, leverage)
	entry := cost.DivRound(left, 18)
	var lost decimal.Decimal
	for _, c := range r.stops(held, open) {
		part := decimal.Min(c.quantity, left)
		left = left.Sub(part)
		paid := percent(entry, r.limits.TakerFeePct).Add(percent(c.level, r.limits.TakerFeePct.Add(r.limits.StopSlippagePct)))
		lost = lost.Add(part.Mul(entry.Sub(c.level).Mul(s).Add(paid)))
	}
	naked := set.Mul(left).DivRound(held.Abs(), 18)
	return decimal.Min(decimal.Max(lost, decimal.Zero).Add(naked), set)
}

// stops returns the working stops of a position that become market orders, the worst price
// first.
func (r openRisk) stops(held decimal.Decimal, open []order.Order) []coverage {
	var all []coverage
	for _, o := range open {
		level := r.level(o)
		if held.Sign() != -int(o.Side.Sign()) || o.Type != order.Market || !level.IsPositive() || !working(o) {
			continue
		}
		quantity := o.Remaining()
		if o.Waiting { // for what is filled of its entry
			entry, _ := r.book.Order(o.Group.Name)
			quantity = decimal.Min(quantity, entry.Filled)
		}
		all = append(all, coverage{quantity, level})
	}
	slices.SortFunc(all, func(a, b coverage) int { return a.level.Cmp(b.level) * held.Sign() })
	return all
}

// working reports whether the venue has the order and is to keep it.
func working(o order.Order) bool {
	switch o.Status {
	case order.Accepted, order.PartiallyFilled, order.Held:
		return o.CancelRequested.IsZero()
	default:
		return false
	}
}

// level returns the price that triggers a stop, and zero if it is unknown or there is none.
func (r openRisk) level(o order.Order) decimal.Decimal {
	if o.StopPrice.IsPositive() || !o.TrailPercent.IsPositive() {
		return o.StopPrice
	}
	last := r.quote.Last
	return last.Add(percent(last, o.TrailPercent).Mul(decimal.NewFromInt(o.Side.Sign())))
}

// orders returns the risk of what open orders may open. Orders against the position count
// as far as they exceed it.
func (r openRisk) orders(held decimal.Decimal, open []order.Order) decimal.Decimal {
	var sum decimal.Decimal
	closable := held.Abs()
	for _, o := range open {
		against := held.Sign() == -int(o.Side.Sign())
		if o.ReduceOnly || o.Group.Leg || o.Protects(held) {
			continue
		}
		opening := o.Remaining()
		if against {
			closes := decimal.Min(opening, closable)
			closable, opening = closable.Sub(closes), opening.Sub(closes)
		}
		q := orderCheck{policy: r.policy, limits: r.limits, Intent: Intent{Spec: o.Spec}, Facts: Facts{Quote: r.quote, Instrument: r.inst}}
		sum = sum.Add(opening.Mul(q.unitRisk()))
	}
	return sum
}

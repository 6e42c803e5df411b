package order

import "github.com/shopspring/decimal"

// Protection is the prices at which a position is to be closed. Zero fields ask for nothing.
type Protection struct {
	StopLoss      decimal.Decimal `json:"stop_loss,omitzero"`
	StopLossLimit decimal.Decimal `json:"stop_loss_limit,omitzero"` // worst price of that sale; zero for a market order
	TrailPercent  decimal.Decimal `json:"trail_percent,omitzero"`   // in place of StopLoss
	TakeProfit    decimal.Decimal `json:"take_profit,omitzero"`
}

// IsZero reports whether nothing is asked for.
func (p Protection) IsZero() bool {
	return !p.HasStop() && p.StopLossLimit.IsZero() && p.TakeProfit.IsZero()
}

// bounded reports whether all prices are within the bounds of stored numbers.
func (p Protection) bounded() bool {
	return within(maxFactDigits, p.StopLoss, p.StopLossLimit, p.TrailPercent, p.TakeProfit)
}

// HasStop reports whether a loss is bounded.
func (p Protection) HasStop() bool { return p.StopLoss.IsPositive() || p.TrailPercent.IsPositive() }

// Legs returns the orders that Protect asks for, the stop first, without IDs: of an entry,
// those that close what it brings; of the target of a pair, its stop.
func (s Spec) Legs() []Spec {
	leg := Spec{
		Owner: s.Owner, Symbol: s.Symbol, Side: s.Side, Quantity: s.Quantity, ReduceOnly: true,
		Group: Group{Name: s.Group.Name, Leg: s.Role == Entry},
	}
	if s.Role == Entry {
		leg.Side = s.Side.Opposite()
	}
	var legs []Spec
	if s.Protect.HasStop() {
		stop := leg
		stop.Role, stop.Type = StopLoss, Market
		stop.StopPrice, stop.TrailPercent = s.Protect.StopLoss, s.Protect.TrailPercent
		if limit := s.Protect.StopLossLimit; limit.IsPositive() {
			stop.Type, stop.Price = Limit, limit
		}
		legs = append(legs, stop)
	}
	if target := s.Protect.TakeProfit; target.IsPositive() {
		take := leg
		take.Role, take.Type, take.Price = TakeProfit, Limit, target
		legs = append(legs, take)
	}
	return legs
}

// IsStop reports whether the order waits for a price before it is what Type says.
func (s Spec) IsStop() bool { return s.StopPrice.IsPositive() || s.TrailPercent.IsPositive() }

// Protects reports whether the order is to close a position when the price gets there: a
// stop, a target, or an order of a group, against a position of this signed quantity. An entry is not.
func (o Order) Protects(held decimal.Decimal) bool {
	return o.Status != PendingApproval && o.Role != Entry && (o.IsStop() || o.Role == TakeProfit || o.Group.Name != "") && held.Sign() == -int(o.Side.Sign())
}

// works reports whether the venue has the order and it does not wait for its entry. filled
// says whether that is filled completely: some venues call a stop held although it works.
func (o Order) works(filled bool) bool {
	switch {
	case !sent(o.Status) || o.Status.Final() || o.Status == Submitted || o.Status == Uncertain || !o.CancelRequested.IsZero():
		return false
	default:
		return !o.Waiting || filled || !o.Group.Leg
	}
}

// WithoutStop returns how much of a position, of this signed quantity, no stop among the
// open orders in its symbol would close. A stop that waits for its entry, or that the venue may
// not have, closes nothing yet.
func WithoutStop(held decimal.Decimal, open []Order) decimal.Decimal {
	left := held.Abs()
	for _, o := range open {
		if o.IsStop() && !o.Waiting && o.Protects(held) && o.works(false) {
			left = left.Sub(o.Remaining())
		}
	}
	return decimal.Max(left, decimal.Zero)
}

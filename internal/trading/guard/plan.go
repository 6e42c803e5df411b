package guard

import (
	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// plan is the protection that an order and its legs ask for, named by the arguments of the
// request: the legs of an entry, or the stop and target that close a position.
type plan struct {
	order.Protection
	closing order.Side // of the stop and the target
	entry   bool       // they close what the order itself brings
}

func planOf(s order.Spec) plan {
	switch s.Role {
	case order.Entry:
		return plan{Protection: s.Protect, closing: s.Side.Opposite(), entry: true}
	case order.StopLoss:
		return plan{Protection: order.Protection{StopLoss: s.StopPrice, StopLossLimit: s.Price, TrailPercent: s.TrailPercent}, closing: s.Side}
	case order.TakeProfit:
		p := plan{Protection: s.Protect, closing: s.Side}
		p.TakeProfit = s.Price
		return p
	default:
		return plan{closing: s.Side}
	}
}

// prices returns the prices of the order and its legs with their arguments. A price that is
// not given is zero.
func (q *orderCheck) prices() []argument {
	p := planOf(q.Spec)
	all := []argument{{"stop_loss", p.StopLoss}, {"stop_loss_limit", p.StopLossLimit}, {"take_profit", p.TakeProfit}}
	if p.entry || p.IsZero() {
		all = append([]argument{{"price", q.Price}, {"stop_price", q.StopPrice}}, all...)
	}
	return all
}

// waits reports whether the order itself waits for the argument stop_price.
func (q *orderCheck) waits() bool {
	return q.StopPrice.IsPositive() && q.Role != order.StopLoss
}

// stop returns the price that triggers the stop, and its argument: stop_loss, or
// stop_price of an order that closes a position. It is zero without one and for a trail.
func (q *orderCheck) stop() argument {
	if q.waits() && q.ReduceOnly {
		return argument{"stop_price", q.StopPrice}
	}
	return argument{"stop_loss", planOf(q.Spec).StopLoss}
}

// base returns the price that stops and targets are measured from, and its name: the
// price of an entry, else the last price.
func (q *orderCheck) base() argument {
	switch {
	case q.ReduceOnly:
	case q.Type == order.Limit:
		return argument{"the entry price", q.Price}
	case q.waits():
		return argument{"the entry price", q.StopPrice}
	}
	return argument{"the last price", q.Quote.Last}
}

// worstEntry returns the price at which an entry brings the smallest profit: the highest
// of a buy, the lowest of a sale. A market order may trade beyond its price by the price
// band, or up to Edge.
func (q *orderCheck) worstEntry() decimal.Decimal {
	switch {
	case q.Type == order.Limit:
		return q.Price
	case q.Edge.IsPositive():
		return q.Edge
	}
	from := q.Quote.Last
	if q.waits() {
		from = q.StopPrice
	}
	if q.limits.PriceBandPct.Off {
		return from
	}
	return from.Add(percent(from, q.limits.PriceBandPct.Value).Mul(decimal.NewFromInt(q.Side.Sign())))
}

// Edge returns the worst price of a market entry with legs, and of every market order where the venue needs one, on the
// venue's tick: a venue that takes only limits there gets it as fill or kill. It is zero for other orders, and if the
// policy has no price band or there is no price.
func Edge(p Policy, in Intent, f Facts) decimal.Decimal {
	q := newCheck(p, State{}, in, f)
	if q.Role != order.Entry && !q.Capabilities.NeedsEdge || q.Type != order.Market || q.limits.PriceBandPct.Off || !q.Quote.Last.IsPositive() {
		return decimal.Zero
	}
	q.Edge = decimal.Zero
	return q.onTick(q.worstEntry(), q.Side == order.Buy)
}

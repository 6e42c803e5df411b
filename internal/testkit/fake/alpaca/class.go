package alpaca

import (
	"github.com/shopspring/decimal"
)

// advanced reports whether the order has legs. Legs without a class are ignored in silence,
// as the venue does.
func (in *ask) advanced() bool { return in.OrderClass != "" && in.OrderClass != "simple" }

// checkClass holds that an order of several has the legs of its class. An oco has its target
// as the only order that is no leg.
func checkClass(in *ask) *refusal {
	if !in.advanced() {
		in.TakeProfit, in.StopLoss = nil, nil
		return nil
	}
	class, target, stop := in.OrderClass, in.TakeProfit != nil && in.TakeProfit.LimitPrice != nil, in.StopLoss != nil && in.StopLoss.StopPrice != nil
	switch {
	case class != "bracket" && class != "oco" && class != "oto":
		return wrong("invalid order_class")
	case class == "oco" && in.Type != typeLimit:
		return wrong("oco orders must be limit orders")
	case class != "oto" && !target, in.TakeProfit != nil && !target:
		return wrong(class + " orders require take_profit.limit_price")
	case class != "oto" && !stop, in.StopLoss != nil && !stop:
		return wrong(class + " orders require stop_loss.stop_price")
	case class == "oto" && target == stop:
		return wrong("oto orders require one of take_profit or stop_loss")
	case in.TimeInForce != "day" && in.TimeInForce != "gtc":
		return wrong(class + ` orders support only "day" or "gtc" time_in_force`)
	case in.Extended:
		return forbidden("%s orders do not support extended hours trading", class)
	}
	if class == "oco" {
		in.LimitPrice = in.TakeProfit.LimitPrice
	}
	return nil
}

// legsOf makes the legs that were asked for. They wait for the entry, if there is one.
func (d *desk) legsOf(parent *ticket, in ask) (legs []*ticket) {
	leg := in
	leg.Side = map[string]string{"buy": "sell", "sell": "buy"}[in.Side]
	if in.OrderClass == "oco" {
		leg.Side = in.Side
	}
	leg.ClientOrderID, leg.StopPrice, leg.TrailPrice, leg.TrailPercent = "", nil, nil, nil
	add := func(kind string, e *exit) {
		leg.Type, leg.LimitPrice, leg.StopPrice = kind, e.LimitPrice, e.StopPrice
		t := d.ticketOf(leg)
		t.parent, t.status, t.dormant = parent, "held", in.OrderClass != "oco"
		if !t.dormant {
			t.until = d.expiry(t)
		}
		legs = append(legs, t)
	}
	if in.TakeProfit != nil && in.OrderClass != "oco" {
		add(typeLimit, &exit{LimitPrice: in.TakeProfit.LimitPrice})
	}
	if e := in.StopLoss; e != nil && e.LimitPrice != nil {
		add(typeStopLimit, e)
	} else if e != nil {
		add(typeStop, e)
	}
	return legs
}

// fits holds an order against the market, and its class against the position.
func (d *desk) fits(a *account, t *ticket) *refusal {
	if bad := d.checkTrigger(t); bad != nil {
		return bad
	}
	held := decimal.Decimal{}
	if p := a.held[t.symbol]; p != nil {
		held = p.quantity
	}
	closes := held.IsPositive() && t.side == "sell" || held.IsNegative() && t.side == "buy"
	switch {
	case len(t.legs) == 0:
		return nil
	case t.orderClass == "oco" && !closes:
		return unprocessable("oco orders must be exit orders")
	case t.orderClass != "oco" && (closes || d.flat && !held.IsZero()):
		return unprocessable("%s orders must be entry orders", t.orderClass)
	}
	return d.checkLegs(t)
}

// cent is the least distance of a leg from what it is measured by.
func cent() decimal.Decimal { return decimal.New(1, -2) }

// market is the price that the venue measures legs by.
func (d *desk) market(symbol string) decimal.Decimal {
	q := d.quoteAt(symbol, d.now().Unix())
	return q.bid.Add(q.ask).Div(decimal.NewFromInt(2))
}

// base is the price that an entry is expected to get.
func (d *desk) base(t *ticket) decimal.Decimal {
	switch {
	case t.priced():
		return t.limit
	case t.stop.IsPositive():
		return t.stop
	default:
		return d.market(t.symbol)
	}
}

// checkLegs holds the prices of the legs against each other, the entry and the market. Of an
// exit that sells the target is above and the stop below; of one that buys it is the other
// way round.
func (d *desk) checkLegs(t *ticket) *refusal {
	sells := t.legs[0].side == "sell"
	var target, stop *ticket
	for _, o := range t.group() {
		switch {
		case o == t && t.orderClass != "oco":
		case o.role() == "take_profit":
			target = o
		default:
			stop = o
		}
	}
	if target != nil && stop != nil && !beyond(target.limit, stop.stop, sells) {
		return unprocessable("take_profit.limit_price must be %s stop_loss.stop_price", map[bool]string{true: ">", false: "<"}[sells])
	}
	base := d.base(t)
	if target != nil && t.orderClass != "oco" && !atLeast(target.limit, base, sells) {
		return tooNear("take_profit.limit_price", base, sells)
	}
	for _, measure := range []decimal.Decimal{base, d.market(t.symbol)} {
		if stop != nil && !atLeast(stop.stop, measure, !sells) {
			return tooNear("stop_loss.stop_price", measure, !sells)
		}
	}
	return nil
}

// beyond reports whether a price is above another, or below it.
func beyond(price, other decimal.Decimal, above bool) bool {
	if above {
		return price.GreaterThan(other)
	}
	return price.LessThan(other)
}

// atLeast reports whether a price is at least a cent above or below a base.
func atLeast(price, base decimal.Decimal, above bool) bool {
	if above {
		return price.GreaterThanOrEqual(base.Add(cent()))
	}
	return price.LessThanOrEqual(base.Sub(cent()))
}

func tooNear(name string, base decimal.Decimal, above bool) *refusal {
	bad := unprocessable("%s must be %s 0.01", name, map[bool]string{true: ">= base_price +", false: "<= base_price -"}[above])
	bad.more = map[string]any{"base_price": base.String()}
	return bad
}

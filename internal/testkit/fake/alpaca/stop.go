package alpaca

import "github.com/shopspring/decimal"

// reached reports whether the price is at the trigger or beyond it: at or below it for a
// sale, at or above it for a purchase.
func (t *ticket) reached(q quote) bool {
	if !t.stop.IsPositive() {
		return false
	}
	if t.side == "sell" {
		return q.bid.IsPositive() && q.bid.LessThanOrEqual(t.stop)
	}
	return q.ask.IsPositive() && q.ask.GreaterThanOrEqual(t.stop)
}

// trigger makes an order what it becomes. What excludes it is over: the venue puts the stop
// in the place of the target.
func (d *desk) trigger(a *account, t *ticket) {
	t.triggered = true
	for _, other := range t.rivals() {
		if !other.open() {
			continue
		}
		if d.server.getFault() == TargetReplaced {
			other.replacedBy = t.id
			d.finish(a, other, "replaced")
			continue
		}
		d.finish(a, other, "canceled")
	}
	if t.status == "held" {
		d.change(a, t, "new", "new")
	}
}

// look lets an order see the best prices, in its session.
func (d *desk) look(a *account, t *ticket, q quote) {
	if !t.open() || t.dormant || t.status == "pending_cancel" {
		return
	}
	d.follow(t, q)
	if t.waits() {
		if !t.reached(q) {
			return
		}
		d.trigger(a, t)
	}
	d.match(a, t, q)
	if t.open() && (t.force == "ioc" || t.force == "fok") {
		d.end(a, t, "canceled")
	}
}

// match fills an order that is marketable at the best price, whatever its size. A
// share of them, when the configuration asks for it, gets a part alone.
func (d *desk) match(a *account, t *ticket, q quote) {
	limit, limited := t.bound()
	price, marketable := q.ask, !limited || limit.GreaterThanOrEqual(q.ask)
	if t.side == "sell" {
		price, marketable = q.bid, !limited || limit.LessThanOrEqual(q.bid)
	}
	if !t.open() || !marketable || !price.IsPositive() {
		return
	}
	size := t.left()
	if d.random.Float64() < d.server.config.Partial && t.force != "fok" {
		digits := max(0, -size.Exponent())
		if part := size.Mul(decimal.NewFromFloat(d.random.Float64())).RoundFloor(digits); part.IsPositive() {
			size = part
		}
	}
	d.execute(a, t, size, price)
}

// bound returns the worst price that an order takes, and whether there is one. The venue
// makes a stop limit order of a stop that buys a stock: 4 % above a trigger below 50, 2.5 %
// above any other.
func (t *ticket) bound() (limit decimal.Decimal, limited bool) {
	if t.kind == typeStop && t.side == "buy" {
		share := decimal.New(1025, -3)
		if t.stop.LessThan(decimal.NewFromInt(50)) {
			share = decimal.New(104, -2)
		}
		return t.stop.Mul(share).Round(2), true
	}
	return t.limit, t.priced()
}

// checkTrigger holds the trigger of an order on its own against the market.
func (d *desk) checkTrigger(t *ticket) *refusal {
	if t.kind != typeStop && t.kind != typeStopLimit || !t.stop.IsPositive() {
		return nil
	}
	q := d.quoteAt(t.symbol, d.now().Unix())
	switch {
	case t.side == "sell" && t.stop.GreaterThanOrEqual(q.bid):
		return unprocessable("stop price must be less than current price")
	case t.side == "buy" && t.stop.LessThanOrEqual(q.ask):
		return unprocessable("stop price must be greater than current price")
	}
	return nil
}

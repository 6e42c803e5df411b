package alpaca

import (
	"time"

	"github.com/shopspring/decimal"
)

// PlacePair takes a pair of sales of stocks over one quantity, a target and a stop of which
// the venue fills one, as another program would, and returns the venue's ids, or why it was
// refused. The target is the parent; the venue makes up the id of the stop.
func (s *Server) PlacePair(clientID, symbol string, quantity, target, stop decimal.Decimal) (ids [2]string, why string) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	a := d.accounts[KeyID]
	in := ask{Symbol: symbol, Quantity: &quantity, Side: "sell", Type: "limit", TimeInForce: "gtc", LimitPrice: &target, ClientOrderID: clientID}
	if _, bad := d.submit(a, in, nil); bad != nil {
		return ids, bad.message
	}
	parent, now := a.orders[len(a.orders)-1], d.now()
	leg := &ticket{
		id: d.uuid(), clientID: d.uuid(), symbol: symbol, class: parent.class, side: "sell", kind: "stop", force: "gtc", quantity: quantity, stop: stop,
		status: "held", created: now, submitted: now, updated: now, ended: make(map[string]time.Time), parent: parent,
	}
	parent.leg = leg
	a.orders = append(a.orders, leg)
	return [2]string{parent.id, leg.id}, ""
}

// trigger sells at the bid when it is at a stop or below.
func (d *desk) trigger(a *account, t *ticket, now time.Time) {
	if q := d.quoteAt(t.symbol, now.Unix()); t.open() && d.session(t, now.Unix()).Holds(now.Unix()) && q.bid.LessThanOrEqual(t.stop) {
		parent := t.parent
		parent.leg, t.parent = nil, nil // the end of the target is not that of the stop
		d.end(a, parent, "canceled")
		d.change(a, t, "new", "new")
		d.execute(a, t, t.left(), q.bid)
	}
}

// shrink makes a stop as large as what is left of its target, which may be nothing.
func (d *desk) shrink(a *account, t *ticket) {
	switch {
	case t == nil || !t.open():
	case t.parent.left().IsZero():
		d.end(a, t, "canceled")
	default:
		t.quantity = t.parent.left()
		d.change(a, t, t.status, "held")
	}
}

// showNested returns an order with its legs in it, as nested lists do.
func (d *desk) showNested(t *ticket) map[string]any {
	out := d.show(t)
	if t.leg != nil {
		out["legs"] = []any{d.show(t.leg)}
	}
	return out
}

// orderClass is the venue's word for what an order is part of.
func (t *ticket) orderClass() string {
	if t.leg != nil || t.parent != nil {
		return "oco"
	}
	return ""
}

package alpaca

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// change is what a client wants of a replacement. A field that is missing or null stays as
// it is.
type change struct {
	Quantity      *decimal.Decimal `json:"qty"` // what the old order has filled is a part of it
	TimeInForce   string           `json:"time_in_force"`
	LimitPrice    *decimal.Decimal `json:"limit_price"`
	StopPrice     *decimal.Decimal `json:"stop_price"`
	Trail         *decimal.Decimal `json:"trail"` // in the unit that the order has
	ClientOrderID string           `json:"client_order_id"`
}

// replace puts another order in the place of one. The answer promises nothing: the old one
// may be filled first, and the new one is rejected then.
func (d *desk) replace(a *account, id string, r *http.Request) (any, *refusal) {
	t := a.find(id, "")
	if t == nil {
		return nil, missing("order not found for " + id)
	}
	if bad := replaceable(t); bad != nil {
		return nil, bad
	}
	var in change
	if bad := decode(r, &in); bad != nil {
		return nil, bad
	}
	if bad := changes(t, in); bad != nil {
		return nil, bad
	}
	n := d.successor(t, in)
	if bad := d.checkSuccessor(a, t, n, in); bad != nil {
		return nil, bad
	}
	a.orders = append(a.orders, n)
	answer := d.show(n)
	t.next, t.before = n, t.filled
	d.carry(a, t)
	return answer, nil
}

// replaceable holds that an order is in a state in which it can be replaced.
func replaceable(t *ticket) *refusal {
	switch {
	case t.status == "replaced":
		return unprocessable("order already replaced")
	case !t.open():
		return unprocessable("order is already in %q state", t.status)
	case slices.Contains([]string{"accepted", "pending_new", "pending_cancel", "pending_replace"}, t.status):
		return unprocessable("cannot replace order in %s status", t.status)
	case slices.ContainsFunc(t.group(), func(o *ticket) bool { return o.next != nil }):
		return unprocessable("order chain not fully replaced")
	}
	return nil
}

// changes holds that something is to change, and nothing that must not.
func changes(t *ticket, in change) *refusal {
	differs := func(n *decimal.Decimal, from decimal.Decimal) bool { return n != nil && !n.Equal(from) }
	force, size := in.TimeInForce != "" && in.TimeInForce != t.force, differs(in.Quantity, t.quantity)
	switch {
	case t.orderClass != "" && size:
		return unprocessable("qty cannot be changed for advanced orders")
	case t.orderClass != "" && force:
		return unprocessable("time_in_force cannot be changed for advanced orders")
	case size && t.class != crypto && !t.quantity.IsInteger():
		return unprocessable("qty cannot be changed for fractional orders")
	case size && in.Quantity.LessThanOrEqual(t.filled):
		return unprocessable("qty must be > filled_qty")
	case in.Trail != nil && t.kind != typeTrailing:
		return wrong("only trailing stop orders have a trail")
	}
	trail := decimal.Max(t.trail.price, t.trail.percent)
	if !force && !size && !differs(in.LimitPrice, t.limit) && !differs(in.StopPrice, t.stop) && !differs(in.Trail, trail) {
		return unprocessable("order parameters are not changed")
	}
	return nil
}

// successor makes the order that is to replace one. It waits until it does.
func (d *desk) successor(t *ticket, in change) *ticket {
	n, now := *t, d.now()
	n.id, n.clientID, n.replaces, n.replacedBy = d.uuid(), cmp.Or(in.ClientOrderID, d.uuid()), t.id, ""
	n.created, n.submitted, n.updated, n.ended = now, now, now, make(map[string]time.Time)
	n.quantity, n.filled, n.spent, n.legs, n.dormant = t.left(), decimal.Decimal{}, decimal.Decimal{}, nil, true
	n.force = cmp.Or(in.TimeInForce, t.force)
	if n.status != "held" {
		n.status = "pending_new"
	}
	if in.Quantity != nil {
		n.quantity = in.Quantity.Sub(t.filled)
	}
	if in.LimitPrice != nil {
		n.limit = *in.LimitPrice
	}
	if in.StopPrice != nil {
		n.stop = *in.StopPrice
	}
	if in.Trail != nil && t.trail.percent.IsPositive() {
		n.trail.percent = *in.Trail
	} else if in.Trail != nil {
		n.trail.price = *in.Trail
	}
	if n.kind == typeTrailing {
		n.retrail()
	}
	return &n
}

// checkSuccessor holds a replacement against the rules for new orders.
func (d *desk) checkSuccessor(a *account, t, n *ticket, in change) *refusal {
	asked := ask{
		Symbol: n.symbol, Quantity: &n.quantity, Side: n.side, Type: n.kind, TimeInForce: n.force, Extended: n.extended, ClientOrderID: in.ClientOrderID,
		LimitPrice: in.LimitPrice, StopPrice: in.StopPrice,
	}
	if n.priced() {
		asked.LimitPrice = &n.limit
	}
	if n.kind == typeStop || n.kind == typeStopLimit {
		asked.StopPrice = &n.stop
	}
	if n.trail.percent.IsPositive() {
		asked.TrailPercent = &n.trail.percent
	} else if n.kind == typeTrailing {
		asked.TrailPrice = &n.trail.price
	}
	if bad := d.check(a, &asked); bad != nil {
		return bad
	}
	n.quantity = *asked.Quantity
	if n.waits() {
		if bad := d.checkTrigger(n); bad != nil {
			return bad
		}
	}
	if bad := d.checkGroup(t, n); bad != nil || !t.claims() { // a leg, of a quantity that stays
		return bad
	}
	return d.afford(a, n, t)
}

// checkGroup holds the prices of a group against each other as they would be.
func (d *desk) checkGroup(t, n *ticket) *refusal {
	if len(t.root().legs) == 0 || !t.root().open() && t.orderClass != "oco" {
		return nil
	}
	root := *t.root()
	root.legs = slices.Clone(root.legs)
	if t.parent == nil {
		root.limit, root.stop = n.limit, n.stop
	} else {
		root.legs[slices.Index(root.legs, t)] = n
	}
	legs := root.legs
	root.legs = nil
	for _, leg := range legs {
		one := *leg
		one.parent = &root
		root.legs = append(root.legs, &one)
	}
	return d.checkLegs(&root)
}

// carry does what a replacement asks for, as far as the venue's mood lets it.
func (d *desk) carry(a *account, t *ticket) {
	was := t.status
	switch mood := d.server.getFault(); {
	case mood == ReplaceSlow:
		t.replaceAt = d.now().Add(2 * time.Second)
		d.change(a, t, "pending_replace", "pending_replace")
	case mood == ReplaceRefused:
		n := t.next
		t.next = nil
		d.change(a, t, "pending_replace", "pending_replace")
		d.finish(a, n, "rejected")
		d.change(a, t, was, "order_replace_rejected")
	case mood == ReplaceLoses && !t.dormant:
		d.change(a, t, "pending_replace", "pending_replace")
		d.take(a, t, t.left())
	default:
		d.swap(a, t)
	}
}

// swap ends an order whose replacement is there, which takes its place in the group.
func (d *desk) swap(a *account, t *ticket) {
	n := t.next
	t.next = nil
	n.dormant = t.dormant
	n.quantity = n.quantity.Sub(t.filled.Sub(t.before))
	if !n.quantity.IsPositive() { // the old order was filled that far meanwhile
		d.finish(a, n, "rejected")
		d.change(a, t, "partially_filled", "order_replace_rejected")
		return
	}
	if t.parent != nil {
		t.parent.legs[slices.Index(t.parent.legs, t)] = n
	}
	n.legs, t.legs = t.legs, nil
	for _, leg := range n.legs {
		leg.parent = n
	}
	t.replacedBy = n.id
	d.finish(a, t, "replaced")
	if n.dormant || n.waits() && n.hasRival() {
		n.until = d.expiry(n)
		d.change(a, n, "held", "held")
		return
	}
	d.release(a, n)
	if now := d.now().Unix(); d.session(n, now).Holds(now) {
		d.look(a, n, d.quoteAt(n.symbol, now))
	}
}

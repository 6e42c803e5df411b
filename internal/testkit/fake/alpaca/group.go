package alpaca

import (
	"cmp"
	"slices"
	"time"
)

// activate lets the legs of an entry work that is completely filled. Of two of them the
// target goes to the exchanges; the venue holds the stop and watches the price.
func (d *desk) activate(a *account, entry *ticket) {
	for _, leg := range entry.legs {
		if !leg.open() || !leg.dormant {
			continue
		}
		leg.dormant = false
		if d.rejects == "both" || d.rejects == leg.role() {
			d.finish(a, leg, "rejected")
		}
	}
	for _, leg := range slices.Clone(entry.legs) {
		if leg.open() {
			d.arm(a, leg)
		}
	}
}

// arm lets a leg work.
func (d *desk) arm(a *account, leg *ticket) {
	if leg.cancelAt.IsZero() { // otherwise a cancel came before the fill
		if leg.waits() && leg.hasRival() {
			leg.until = d.expiry(leg)
		} else {
			d.release(a, leg)
		}
	}
	d.look(a, leg, d.quoteAt(leg.symbol, d.now().Unix()))
}

// role says what a leg is for, in the words of the request.
func (t *ticket) role() string {
	if t.kind == typeLimit {
		return "take_profit"
	}
	return "stop_loss"
}

// settle lets the group of an order follow a trade of it: a filled entry activates its legs,
// and what excludes a leg becomes as large as what is left of it, which may be nothing.
func (d *desk) settle(a *account, t *ticket) {
	whole := t.left().IsZero()
	if n := t.next; whole && n != nil {
		t.next = nil
		d.finish(a, n, "rejected")
		d.publish(a, t, "order_replace_rejected", nil)
	}
	for _, other := range t.rivals() {
		switch {
		case !other.open():
		case whole:
			d.finish(a, other, "canceled")
		default:
			other.quantity = other.filled.Add(t.left())
			d.change(a, other, other.status, "held")
		}
	}
	if whole && t.parent == nil && t.orderClass != "oco" {
		d.activate(a, t)
	}
}

// endings are the fields that hold when an order ended, by its state.
func endings() map[string]string {
	return map[string]string{"canceled": "canceled_at", "expired": "expired_at", "rejected": "failed_at", "replaced": "replaced_at"}
}

// finish ends one order without a trade.
func (d *desk) finish(a *account, t *ticket, status string) {
	t.ended[endings()[status]] = d.now()
	t.cancelAt = time.Time{}
	d.change(a, t, status, status)
	if n := t.next; n != nil {
		t.next = nil
		d.finish(a, n, "rejected")
	}
}

// end ends an order without a trade, and with it its group. A leg that the exchanges reject
// ends alone.
func (d *desk) end(a *account, t *ticket, status string) {
	for _, o := range t.group() {
		if status == "canceled" && o.claims() {
			o.claimUntil = d.now().Add(d.letGo)
		}
	}
	d.finish(a, t, status)
	if status == "rejected" && t.parent != nil {
		return
	}
	for _, other := range t.group() {
		switch {
		case other == t || !other.open():
		case status == "expired" && !other.dormant:
			d.finish(a, other, "expired")
		default:
			d.finish(a, other, "canceled")
		}
	}
}

// cancel does what a client asks for, as far as the venue's mood lets it. One order of a
// group is all of it.
func (d *desk) cancel(a *account, t *ticket) *refusal {
	switch {
	case !t.open():
		return unprocessable("order is already in %q state", t.status)
	case t.next != nil:
		return unprocessable("unable to cancel order, order is pending replacement")
	case !t.cancelAt.IsZero():
		return nil // it is on its way
	}
	switch mood := d.server.getFault(); {
	case mood == CancelRefused:
		was := t.status
		d.change(a, t, "pending_cancel", "pending_cancel")
		d.change(a, t, was, "order_cancel_rejected")
	case mood == CancelLoses && !t.dormant:
		d.change(a, t, "pending_cancel", "pending_cancel")
		d.take(a, t, t.left())
		d.publish(a, t, "order_cancel_rejected", nil)
	case mood == CancelSlow || d.cancelDelay > 0:
		for _, one := range t.group() {
			if one.open() {
				one.cancelAt = d.now().Add(cmp.Or(d.cancelDelay, 2*time.Second))
				d.change(a, one, "pending_cancel", "pending_cancel")
			}
		}
	default:
		d.end(a, t, "canceled")
	}
	return nil
}

package alpaca

import (
	"fmt"

	"candela/internal/trading/order"
)

// statusOf folds the venue's word for the state of an order into ours. note is
// kept as the reason where the fold loses something. A word that is not here is
// not guessed at: the order is uncertain, with the word as the reason, and will be
// asked for.
//
//	new                   routed                                       accepted
//	accepted              waits here for the session                   accepted
//	pending_new           routed, not yet confirmed: it may fill       accepted
//	accepted_for_bidding  at the exchange, being priced                accepted
//	pending_review        at the venue, which looks at it              accepted
//	held                  a leg that waits for another                 accepted
//	stopped               a trade is promised and has not happened     accepted
//	suspended             may not trade now, may do so again           accepted
//	pending_replace       lives until its successor does               accepted
//	done_for_day          sleeps until the next session, if it has one accepted
//	calculated            over for the day, all filled or not          filled, or accepted
//	partially_filled                                                   partially filled
//	filled                                                             filled
//	pending_cancel                                                     pending cancel
//	canceled                                                           canceled
//	replaced              ended; what is left lives on in another      canceled
//	expired                                                            expired
//	rejected              after it was taken: by an exchange           rejected
//
// An accepted order counts as partially filled when a part of it is.
func statusOf(t ticket) (status order.Status, note string) {
	open := order.Accepted
	if t.filled.IsPositive() {
		open = order.PartiallyFilled
	}
	// An order by its worth has no quantity to compare with.
	whole := t.quantity.IsZero() || t.filled.Equal(t.quantity)
	switch t.status {
	case "new", "accepted", "pending_new", "accepted_for_bidding", "pending_review", "held":
		return open, ""
	case "stopped", "suspended", "pending_replace", "done_for_day":
		return open, t.status
	case "calculated":
		if whole && t.filled.IsPositive() {
			return order.Filled, ""
		}
		return open, t.status
	case "partially_filled":
		if !t.filled.IsPositive() {
			return order.Uncertain, "partially_filled with nothing filled"
		}
		return order.PartiallyFilled, ""
	case "filled":
		if !whole || !t.filled.IsPositive() {
			return order.Uncertain, fmt.Sprintf("filled with %s of %s filled", t.filled, t.quantity)
		}
		return order.Filled, ""
	case "pending_cancel":
		return order.PendingCancel, ""
	case "canceled":
		return order.Canceled, ""
	case "replaced":
		return order.Canceled, "replaced by the order " + t.replacedBy
	case "expired":
		return order.Expired, ""
	case "rejected":
		return order.Rejected, "rejected after the venue had taken it"
	}
	return order.Uncertain, t.status
}

// report returns the state of an order.
func (t ticket) report() order.Report {
	r := order.Report{
		Spec: order.Spec{
			ID: t.clientID, Symbol: t.symbol, Side: t.side, Type: t.kind, Quantity: t.quantity, Price: t.limit,
		},
		VenueID: t.id, Filled: t.filled, At: t.changed,
	}
	r.Status, r.Reason = statusOf(t)
	return r
}

// check holds that the venue's answer is about our order.
func (t ticket) check(o order.Spec) error {
	if t.clientID != o.ID {
		return fmt.Errorf("it is about the order %q", t.clientID)
	}
	if t.symbol != o.Symbol || t.side != o.Side || t.kind != o.Type {
		return fmt.Errorf("it is about an order to %s %s (%s)", t.side, t.symbol, t.kind)
	}
	return nil
}

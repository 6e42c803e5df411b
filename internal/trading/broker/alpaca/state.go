package alpaca

import (
	"fmt"

	"candela/internal/trading/order"
	"candela/internal/trading/venue"
)

// statusReplaced is the state of an order whose place another one took.
const statusReplaced = "replaced"

// statusOf folds the venue's word for the state of an order into ours. note is kept as
// the reason where the fold loses something. A word that is not here is not guessed at:
// the order is uncertain, with the word as the reason, and will be asked for.
//
//	new                   routed                                       accepted
//	accepted              waits here for the session                   accepted
//	pending_new           routed, not yet confirmed: it may fill       accepted
//	accepted_for_bidding  at the exchange, being priced                accepted
//	pending_review        at the venue, which looks at it              accepted
//	held                  a leg that waits for its entry               held
//	held                  the stop of a pair, which works              accepted
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
// An accepted order counts as partially filled when a part of it is. The stop of an entry
// stays held although it works once the entry is filled, which only the entry shows: see
// ticket.legReport.
func statusOf(t ticket) (status order.Status, note string) {
	open := order.Accepted
	if t.filled.IsPositive() {
		open = order.PartiallyFilled
	}
	// An order by its worth has no quantity to compare with.
	whole := t.quantity.IsZero() || t.filled.Equal(t.quantity)
	switch t.status {
	case "new", "accepted", "pending_new", "accepted_for_bidding", "pending_review":
		return open, ""
	case "held":
		waits := t.legOfEntry() || t.isStop() && t.class != classPair
		if waits && !t.filled.IsPositive() {
			return order.Held, ""
		}
		return open, ""
	case "calculated":
		if whole && t.filled.IsPositive() {
			return order.Filled, ""
		}
		return open, t.status
	case "stopped", "suspended", "pending_replace", "done_for_day":
		return open, t.status
	case "partially_filled":
		if !t.filled.IsPositive() {
			return order.Uncertain, "partially_filled with nothing filled"
		}
	case "filled":
		if !whole || !t.filled.IsPositive() {
			return order.Uncertain, fmt.Sprintf("filled with %s of %s filled", t.filled, t.quantity)
		}
	case statusReplaced:
		return order.Canceled, "replaced by the order " + t.replacedBy
	case "rejected":
		return order.Rejected, "rejected after the venue had taken it"
	}
	if status, known := statuses()[t.status]; known {
		return status, ""
	}
	return order.Uncertain, t.status
}

// statuses are the venue's words that are ours as well.
func statuses() venue.Words[order.Status] {
	return venue.Words[order.Status]{
		"partially_filled": order.PartiallyFilled, "filled": order.Filled, "pending_cancel": order.PendingCancel, "canceled": order.Canceled, "expired": order.Expired,
	}
}

// legOfEntry reports whether the order is of a class whose legs wait for an entry.
func (t ticket) legOfEntry() bool { return t.class == classBracket || t.class == classOneLeg }

// isStop reports whether the order waits for a price, or did.
func (t ticket) isStop() bool { return kinds()[t.word].Waits }

// report returns the state of an order. The venue does not say when a stop was reached, so
// that is known from its fills alone.
func (t ticket) report() order.Report {
	r := order.Report{
		Spec: order.Spec{
			ID: t.clientID, Symbol: t.symbol, Side: t.side, Type: t.kind, Quantity: t.quantity, Price: t.limit, StopPrice: t.stop,
			TrailPercent: t.trail, Best: t.best, TimeInForce: t.force,
		},
		VenueID: t.id, Filled: t.filled, At: t.changed,
	}
	r.Status, r.Reason = statusOf(t)
	if t.isStop() && t.filled.IsPositive() {
		r.Triggered = t.filledAt
		if r.Triggered.IsZero() {
			r.Triggered = t.changed
		}
	}
	return r
}

// legReport returns the state of a leg. Once the entry is filled, legs that the venue still
// calls held work: it holds the stop back only until its price is reached.
func (t ticket) legReport(leg ticket) order.Report {
	leg.class = t.class
	r := leg.report()
	if status, _ := statusOf(t); r.Status == order.Held && status == order.Filled {
		r.Status = order.Accepted
	}
	r.Group = order.Group{Name: t.id, Leg: t.class != classPair}
	return r
}

// reports returns the state of an order and of its legs, of which those that are over are
// left out. The legs of a pair exclude their parent; those of an entry wait for it.
func (t ticket) reports() []order.Report {
	all := []order.Report{t.report()}
	if len(t.legs) == 0 {
		return all
	}
	all[0].Group.Name = t.id
	for _, leg := range t.legs {
		if r := t.legReport(leg); !r.Status.Final() {
			all = append(all, r)
		}
	}
	return all
}

// check holds that the venue's answer is about our order.
func (t ticket) check(o order.Handle) error {
	if !o.Names(t.report()) {
		return fmt.Errorf("it is about the order %q", t.clientID)
	}
	return t.checkTerms(o.Spec)
}

// checkTerms holds that the order is of the symbol, side and type of ours.
func (t ticket) checkTerms(o order.Spec) error {
	if t.symbol != o.Symbol || t.side != o.Side || t.kind != o.Type {
		return fmt.Errorf("it is about an order to %s %s (%s)", t.side, t.symbol, t.kind)
	}
	return nil
}

// agrees holds that the venue took the stop that was asked for. Prices of pairs may be cut
// to their tick.
func (t ticket) agrees(o order.Spec) error {
	exact := isPair(o) || t.stop.Equal(o.StopPrice) || o.TrailPercent.IsPositive()
	if t.word != typeWord(o) || !exact || !t.trail.Equal(o.TrailPercent) {
		return fmt.Errorf("it is a %s order with the stop %s, not what was asked for", t.word, t.stop)
	}
	return nil
}

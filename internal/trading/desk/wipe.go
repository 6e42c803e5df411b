package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// A venue may forget everything of an account, as testnets do about once a month.
// It then numbers orders and trades anew, so that numbers which are known mean
// something else. That is found by the trade up to which all were known, which is
// no longer there, and restricts trading until the owner accepts it with Resume.
// Then the books begin anew with the orders that the venue has.

// forgotten makes differences of trades that the venue no longer has.
func forgotten(a answer) []difference {
	found := make([]difference, 0, len(a.forgotten))
	for s, trade := range a.forgotten {
		found = append(found, difference{
			subject: s.String(), what: "trade " + trade + " is forgotten",
			text: fmt.Sprintf("the venue no longer has trade %s in %s: it was wiped, as testnets are; candela resume begins anew there", trade, s),
		})
	}
	slices.SortFunc(found, func(a, b difference) int { return strings.Compare(a.subject, b.subject) })
	return found
}

// errEarly is why a comparison that shall begin anew waits.
var errEarly = errors.New("the venue does not know an order that is too new to tell by it when it was wiped")

// askKept returns the ids of the orders that the venue has. Whatever was placed
// before one that it had and no longer knows is gone, too.
func (q question) askKept(ctx context.Context) ([]string, error) {
	var kept []string
	for _, o := range q.placed {
		_, err := q.broker.Query(ctx, o.Spec)
		switch {
		case err == nil:
			kept = append(kept, o.ID)
		case !errors.Is(err, broker.ErrNotFound):
			return nil, err
		case q.asked.Sub(o.Created) < grace:
			return nil, errEarly // reads may lag behind reports
		default:
			return kept, nil
		}
	}
	return kept, nil
}

// beginAnew ends all orders that a venue that was wiped does not have, and begins
// the books with the others. It reports false when that could not be persisted.
func (w *writer) beginAnew(q question, kept []string) bool {
	const reason = "the venue has forgotten it: it was wiped"
	has := make(map[string]bool, len(kept))
	for _, id := range kept {
		has[id] = true
	}
	var events []order.Event
	now := w.now()
	for _, o := range w.book.Orders() {
		switch {
		case has[o.ID]:
		case o.VenueID == "" && !o.Status.Final(), !o.External && !o.Created.Before(q.asked):
			kept = append(kept, o.ID) // what became of it is being found out
		case !o.Status.Final() || o.NeedsQuery():
			events = append(events, w.event(o, order.KindGone, reason)...)
		}
	}
	events = append(events, order.Event{Kind: order.KindVenueReset, At: now, Survivors: kept, Reason: "the owner accepts that the venue was wiped"})
	if err := w.commit(w.service(), events...); err != nil {
		return false
	}
	w.cfg.Log.WarnContext(w.hard, "the venue was wiped; the books begin anew", "orders", len(kept))
	clear(w.census.cursors)
	w.saveCursors()
	next := w.state
	next.Day = guard.Day{}
	w.change(w.service(), next)
	return true
}

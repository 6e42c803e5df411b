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

// resetMismatches makes differences of trades that the venue no longer has.
func resetMismatches(a venueState) []mismatch {
	found := make([]mismatch, 0, len(a.lostCursors))
	for s, trade := range a.lostCursors {
		found = append(found, mismatch{
			subject: s.String(), fingerprint: "trade " + trade + " is forgotten",
			message: fmt.Sprintf("the venue no longer has trade %s in %s: it was wiped, as testnets are; candela resume begins anew there", trade, s),
		})
	}
	slices.SortFunc(found, func(a, b mismatch) int { return strings.Compare(a.subject, b.subject) })
	return found
}

// errTooRecent is why a comparison that shall begin anew waits.
var errTooRecent = errors.New("the venue does not know an order that is too new to tell by it when it was wiped")

// fetchSurvivors returns the ids of the orders that the venue has. Whatever was placed
// before one that it had and no longer knows is gone, too.
func (q venueQuery) fetchSurvivors(ctx context.Context) ([]string, error) {
	var kept []string
	for _, o := range q.submitted {
		_, err := q.broker.Query(ctx, o.Spec)
		switch {
		case err == nil:
			kept = append(kept, o.ID)
		case !errors.Is(err, broker.ErrNotFound):
			return nil, err
		case q.startedAt.Sub(o.Created) < notFoundGrace:
			return nil, errTooRecent // reads may lag behind reports
		default:
			return kept, nil
		}
	}
	return kept, nil
}

// resetAccount ends all orders that a venue that was wiped does not have, and begins
// the books with the others. It reports false when that could not be persisted.
func (l *loop) resetAccount(q venueQuery, kept []string) bool {
	const reason = "the venue has forgotten it: it was wiped"
	has := make(map[string]bool, len(kept))
	for _, id := range kept {
		has[id] = true
	}
	var events []order.Event
	now := l.now()
	for _, o := range l.book.Orders() {
		switch {
		case has[o.ID]:
		case o.VenueID == "" && !o.Status.Final(), !o.External && !o.Created.Before(q.startedAt):
			kept = append(kept, o.ID) // what became of it is being found out
		case !o.Status.Final() || o.NeedsQuery():
			events = append(events, l.event(o, order.KindGone, reason)...)
		}
	}
	events = append(events, order.Event{Kind: order.KindVenueReset, At: now, Survivors: kept, Reason: "the owner accepts that the venue was wiped"})
	if err := l.commit(l.systemCaller(), events...); err != nil {
		return false
	}
	l.cfg.Log.WarnContext(l.drainCtx, "the venue was wiped; the books begin anew", "orders", len(kept))
	clear(l.reconciliation.cursors)
	l.saveCursors()
	next := l.state
	next.Day = guard.Day{}
	l.setState(l.systemCaller(), next)
	return true
}

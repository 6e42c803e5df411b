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

// A venue may reset an account, as testnets do about once a month, and reuse order and
// trade numbers. The reset is detected when the last known trade is missing. Trading
// stays restricted until the owner accepts the reset with Resume. The book then
// continues with the orders that the venue still has.

// resetMismatches returns a mismatch for each cursor that the venue no longer has.
func resetMismatches(a venueState) []mismatch {
	found := make([]mismatch, 0, len(a.lostCursors))
	for s, trade := range a.lostCursors {
		found = append(found, mismatch{
			subject: s.String(), fingerprint: "trade " + trade + " lost",
			message: fmt.Sprintf("the venue no longer has trade %s in %s: it was reset, as testnets are. candela resume accepts the reset", trade, s),
		})
	}
	slices.SortFunc(found, func(a, b mismatch) int { return strings.Compare(a.subject, b.subject) })
	return found
}

// errTooRecent delays the acceptance of a reset.
var errTooRecent = errors.New("a recent order is missing; the time of the venue reset is not yet known")

// fetchSurvivors returns the IDs of the orders that survived a reset. Orders placed
// before a missing one are gone, too.
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
			return nil, errTooRecent // the venue's reads may lag behind its reports
		default:
			return kept, nil
		}
	}
	return kept, nil
}

// resetAccount closes all orders that did not survive a reset and starts the book with
// the others. It reports false if that could not be stored.
func (l *loop) resetAccount(q venueQuery, kept []string) bool {
	const reason = "lost in a venue reset"
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
			kept = append(kept, o.ID) // its outcome is being queried
		case !o.Status.Final() || o.NeedsQuery():
			events = append(events, l.event(o, order.KindGone, reason)...)
		}
	}
	events = append(events, order.Event{Kind: order.KindVenueReset, At: now, Survivors: kept, Reason: "the owner accepted the venue reset"})
	if err := l.commit(l.systemCaller(), events...); err != nil {
		return false
	}
	l.cfg.Log.WarnContext(l.drainCtx, "venue reset accepted", "orders", len(kept))
	clear(l.reconciliation.cursors)
	l.saveCursors()
	next := l.state
	next.Day = guard.Day{}
	l.setState(l.systemCaller(), next)
	return true
}

package desk

import (
	"context"
	"time"

	"candela/internal/kit/id"
	"candela/internal/kit/retry"
	"candela/internal/market"
	"candela/internal/trading/order"
)

const (
	minStreamBackoff = time.Second
	maxStreamBackoff = 30 * time.Second
	stableAfter      = time.Minute // a stream that lasted this long resets the backoff
)

// streamReports keeps the venue's report stream open until ctx ends. A reconciliation
// then reads what happened before.
func (l *loop) streamReports(ctx context.Context) {
	fails := 0
	for ctx.Err() == nil {
		began := l.cfg.Now()
		err := l.cfg.Broker.Stream(ctx, func() { l.setStreamUp(ctx, true) }, l.reports)
		if ctx.Err() != nil {
			return
		}
		l.setStreamUp(ctx, false)
		if l.cfg.Now().Sub(began) >= stableAfter {
			fails = 0
		}
		fails++
		pause := retry.Backoff{First: minStreamBackoff, Max: maxStreamBackoff}.Delay(fails, l.cfg.Rand)
		l.cfg.Log.WarnContext(ctx, "report stream lost", "error", err, "retry_in", pause)
		_ = retry.Sleep(ctx, pause) // the loop ends with ctx
	}
}

// setStreamUp sets on the loop whether the report stream is connected.
func (l *loop) setStreamUp(ctx context.Context, flows bool) {
	select {
	case l.results <- func() {
		l.reconciliation.streamUp = flows
		if flows {
			l.reconciliation.requested, l.reconciliation.consecutiveFailures = true, 0 // the venue is reachable again
		}
		l.publish()
	}:
	case <-ctx.Done():
	}
}

// handleReport applies a report from the venue's stream or from a list.
func (l *loop) handleReport(r order.Report) {
	o, ok := l.findOrder(r.ID, r.Symbol, r.VenueID)
	if !ok {
		if o, ok = l.recordExternalOrder(r); !ok {
			return
		}
	}
	if o.External && !r.Quantity.Equal(o.Quantity) {
		return // the order was built from trades, which are complete
	}
	l.commitReport(o, l.reportEvents(o, r))
	l.advanceOrder(o.ID)
	if l.missingFills(o.ID) {
		l.reconciliation.requested = true
	}
}

// findOrder returns the order of a report or trade.
func (l *loop) findOrder(id string, s market.Symbol, venueID string) (order.Order, bool) {
	if id != "" {
		if o, ok := l.book.Order(id); ok {
			return o, true
		}
	}
	return l.book.ByVenueID(l.cfg.Broker.Name(), s, venueID)
}

// recordExternalOrder records an order that was placed elsewhere. A closed order without
// fills is ignored.
func (l *loop) recordExternalOrder(r order.Report) (order.Order, bool) {
	if r.VenueID == "" || !r.Quantity.IsPositive() || r.Status.Final() && r.Filled.IsZero() && len(r.Fills) == 0 {
		return order.Order{}, false
	}
	now := l.now()
	g := order.Origin{Spec: order.Spec{ID: id.New(l.cfg.Now()), Owner: l.cfg.Owner}, Broker: l.cfg.Broker.Name(), Mode: l.cfg.Broker.Mode()}
	if err := l.commit(l.systemCaller(), order.NewExternal(g, r, now)); err != nil {
		l.cfg.Log.ErrorContext(l.drainCtx, "external order save failed", "venue_id", r.VenueID, "error", err)
		return order.Order{}, false
	}
	l.cfg.Log.InfoContext(l.drainCtx, "external order recorded", "order", g.ID, "venue_id", r.VenueID, "symbol", r.Symbol.String())
	return l.book.Order(g.ID)
}

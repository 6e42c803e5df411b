package desk

import (
	"context"
	"errors"
	"slices"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/id"
	"candela/internal/kit/retry"
	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

const (
	minPollInterval = 500 * time.Millisecond
	maxPollInterval = 30 * time.Second
	// notFoundGrace is how long after the submission, and after the first "not found",
	// an order may still appear at the venue.
	notFoundGrace = time.Minute
	// maxCancelRetries is how often a cancel is repeated; canceling twice is harmless.
	maxCancelRetries = 3
)

// orderPoll tracks the queries for an order whose outcome is unknown.
type orderPoll struct {
	next    time.Time
	polls   int       // queries sent, counting the delay before the first
	busy    bool      // a query is in flight
	asked   time.Time // when the newest query was sent
	missing time.Time // first "not found" in a row; zero if the venue knows the order
	cancels int       // repeated
	forced  bool      // a query must be sent even if the outcome is known
}

// trackOrder starts or stops polling an order, depending on whether its outcome is known.
func (l *loop) trackOrder(o order.Order) {
	if !o.NeedsQuery() {
		if c := l.polls[o.ID]; c != nil && !c.forced {
			delete(l.polls, o.ID)
		}
		return
	}
	if l.polls[o.ID] == nil {
		l.polls[o.ID] = &orderPoll{next: l.now().Add(minPollInterval), polls: 1}
	}
}

// forcePoll polls an order once in any state, after what is known now.
func (l *loop) forcePoll(o order.Order) {
	l.trackOrder(o)
	if l.polls[o.ID] == nil {
		l.polls[o.ID] = &orderPoll{next: l.now().Add(minPollInterval), polls: 1}
	}
	l.polls[o.ID].forced = true
}

// pollOrders queries the orders that are due.
func (l *loop) pollOrders(now time.Time) {
	for id, c := range l.polls {
		o, ok := l.book.Order(id)
		switch {
		case !ok, o.External && !o.NeedsQuery():
			delete(l.polls, id)
		case c.busy || l.inFlight[id] || o.External || now.Before(c.next):
			// External orders have no ID of ours; reconciliation closes them.
		default:
			l.queryOrder(o, c)
		}
	}
}

// armPolls sets the timer of the next query. Without it they would wait for a tick.
func (l *loop) armPolls() {
	var next time.Time
	for id, c := range l.polls {
		if !c.busy && !l.inFlight[id] && (next.IsZero() || c.next.Before(next)) {
			next = c.next
		}
	}
	if next.IsZero() {
		l.nextPoll.Stop()
		return
	}
	l.nextPoll.Reset(max(next.Sub(l.now()), time.Millisecond))
}

// queryOrder queries an order by our ID.
func (l *loop) queryOrder(o order.Order, c *orderPoll) {
	c.busy, c.forced, c.asked = true, false, l.now()
	l.reads.add(func(ctx context.Context) func() {
		r, err := l.cfg.Broker.Query(ctx, o.Handle())
		return func() {
			c.busy = false
			l.applyQuery(o, r, err)
		}
	})
}

// applyQuery applies the result of a query. before is the order when the query was sent.
func (l *loop) applyQuery(before order.Order, r order.Report, err error) {
	id := before.ID
	o, ok := l.book.Order(id)
	c := l.polls[id]
	if ok && l.inFlight[id] && c != nil {
		c.forced = true // the answer may be older than what is in flight
	}
	if !ok || l.inFlight[id] {
		return
	}
	switch {
	case err == nil:
		if o.Doubt == before.Doubt && o.Doubted.Equal(before.Doubted) {
			l.noteLevel(o, r)
			l.commitReport(o, l.stampEvents(order.FromAnswer(o, r)))
		} else {
			l.commitReport(o, l.reportEvents(o, r)) // a contradicting report came in between
		}
		l.retryCancel(id, r)
		l.requestMissingFills(id)
	case errors.Is(err, broker.ErrNotFound):
		l.handleNotFound(o, c)
	default:
		l.cfg.Log.WarnContext(l.drainCtx, "order query failed", "order", id, "error", err)
	}
	l.protector.changed = true
	if c := l.polls[id]; c != nil {
		c.polls++
		c.next = l.now().Add(retry.Backoff{First: minPollInterval, Max: maxPollInterval}.Delay(c.polls, l.cfg.Rand))
		if void, ok := l.voidAt(o); ok && void.Before(c.next) && void.After(c.asked) {
			c.next = void
		}
		if err == nil {
			c.missing = time.Time{}
			if o, _ := l.book.Order(id); !o.NeedsQuery() && !c.forced {
				delete(l.polls, id)
			}
		}
	}
}

// retryCancel repeats a cancel of an order that is still open, up to maxCancelRetries.
func (l *loop) retryCancel(id string, r order.Report) {
	o, ok := l.book.Order(id)
	if !ok || o.CancelRequested.IsZero() || o.Status.Final() || r.Status != order.Accepted && r.Status != order.PartiallyFilled && r.Status != order.Held {
		return
	}
	c := l.polls[id]
	if c == nil || c.cancels < maxCancelRetries {
		if c != nil {
			c.cancels++
		}
		l.queueCancel(o)
		return
	}
	l.commitReport(o, l.cancelFailed(o, "the venue keeps the order open"))
}

// voidAt returns when the venue would drop the request of an order that it has not answered, false if it never does.
// The order may have been queued before it was sent, and the clocks may differ as much as is allowed.
func (l *loop) voidAt(o order.Order) (time.Time, bool) {
	void := l.capabilities[o.Symbol].Void
	_, skewed := l.state.Find(guard.ClockSkew)
	return o.Updated.Add(maxSubmitDelay + void + l.cfg.Policy.MaxClockSkew), void > 0 && !skewed && !venueAnswered(o) && o.VenueID == ""
}

// handleNotFound closes an order unknown to the venue: after the grace and a second query, or as soon as its request
// can no longer arrive.
func (l *loop) handleNotFound(o order.Order, p *orderPoll) {
	now := l.now()
	void, drops := l.voidAt(o)
	switch {
	case p == nil:
	case drops && !p.asked.Before(void):
		l.endUnknown(o)
	case p.missing.IsZero():
		p.missing = now
	// Updated, not Created: the order may have been queued before it was sent.
	// A request to cancel it renews Updated, and clients may repeat theirs. The queries began
	// after the submission, so a minute of them ends an order that the venue never confirmed.
	case !venueAnswered(o) && now.Sub(p.missing) >= notFoundGrace, now.Sub(o.Updated) >= notFoundGrace && now.Sub(p.missing) >= minPollInterval:
		l.endUnknown(o)
	}
}

// endUnknown ends an order that the venue does not know.
func (l *loop) endUnknown(o order.Order) {
	l.pauseFired(o)
	l.commitReport(o, l.event(o, order.KindGone, "the venue does not know the order"))
}

// requestMissingFills reconciles soon if the venue counts more fills than are known.
func (l *loop) requestMissingFills(id string) {
	if o, ok := l.book.Order(id); ok && o.MissingFills() {
		l.reconciliation.requested = true
	}
}

const (
	minStreamBackoff = time.Second
	maxStreamBackoff = 30 * time.Second
	stableAfter      = time.Minute // a stream that lasted this long resets the backoff
)

// streamReports keeps the report stream open until ctx ends. Reconciliation fills gaps.
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

// receive applies a report from the venue's stream. If the asset that a fee was taken from is not
// known yet, it is read first; without an answer the spelling of the symbol decides.
func (l *loop) receive(r order.Report) {
	_, known := l.instruments[r.Symbol]
	if known || !slices.ContainsFunc(r.Fills, func(f order.Fill) bool { return f.FeeAsset != "" && f.Base == "" }) {
		l.handleReport(r)
		return
	}
	l.reads.add(func(ctx context.Context) func() {
		inst, err := l.cfg.Broker.Instrument(ctx, r.Symbol)
		return func() {
			if err == nil {
				nameBase(r.Fills, inst)
			}
			l.handleReport(r)
			l.notifyDeferred()
		}
	})
}

// nameBases writes into the fills of events which asset is traded.
func (l *loop) nameBases(events []order.Event) {
	for i, e := range events {
		if e.Fill != nil {
			fills := []order.Fill{*e.Fill}
			nameBase(fills, l.instruments[e.Fill.Symbol])
			events[i].Fill = &fills[0]
		}
	}
}

// nameBase writes into fills which asset is traded, unless that is spelled like the currency, as
// some tickers are: their fees are in the currency.
func nameBase(fills []order.Fill, inst provider.Instrument) {
	for i := range fills {
		if f := &fills[i]; f.FeeAsset != "" && f.Base == "" && inst.Base != inst.Quote {
			f.Base = inst.Base
		}
	}
}

// handleReport applies a report from the venue's stream or from a list.
func (l *loop) handleReport(r order.Report) {
	o, ok := l.findOrder(r.ID, r.Symbol, r.VenueID)
	if !ok {
		if l.queryUnnamedLegs(r) || l.queryParents(r) {
			return
		}
		if o, ok = l.recordExternalOrder(r); !ok {
			return
		}
	}
	if o.External && !r.Quantity.Equal(o.Quantity) && o.Group.Name == "" && r.Group.Name == "" {
		return // the order was built from trades, which are complete
	}
	if o.SizeUnclear(r) {
		l.forcePoll(o)
	}
	l.commitReport(o, l.reportEvents(o, r))
	l.advanceOrder(o.ID)
	l.requestMissingFills(o.ID)
}

// queryUnnamedLegs reports whether a report may be of a leg of ours whose ID at the venue is
// not known yet, and queries these legs. Reports that come later find them by that ID.
func (l *loop) queryUnnamedLegs(r order.Report) bool {
	found := false
	for _, o := range l.book.Open() {
		if unnamed(o, r.Symbol, r.Side) && o.Group.Name != "" && o.Group.Name != o.ID {
			found = true
			l.forcePoll(o)
		}
	}
	return found
}

// mayBeChild reports whether an order that is not known may be what the venue made of an own stop, whose next
// report says so: it traded or changed a moment ago, or the stop is being queried.
func (l *loop) mayBeChild(stop order.Order, s market.Symbol, side order.Side, at time.Time) bool {
	mine := stop.IsStop() && stop.Linked == "" && !stop.External && !stop.Local() && stop.Symbol == s && stop.Side == side
	return mine && l.capabilities[s].Children && (l.polls[stop.ID] != nil || l.now().Sub(at) < unmatchedGrace)
}

// queryParents reports whether a report may be of an order that the venue made of a stop of ours, and queries
// these stops. If none of them became it, the reconciliation that follows records it.
func (l *loop) queryParents(r order.Report) bool {
	found := false
	for _, o := range l.book.Open() {
		if l.now().Sub(r.At) < unmatchedGrace && l.mayBeChild(o, r.Symbol, r.Side, r.At) {
			found = true
			l.forcePoll(o)
		}
	}
	return found
}

// unnamed reports whether an order of ours may be at the venue under an ID of the venue's that
// is not known.
func unnamed(o order.Order, s market.Symbol, side order.Side) bool {
	sent := o.Status != order.New && o.Status != order.PendingApproval
	return o.VenueID == "" && !o.External && !o.Local() && o.Symbol == s && o.Side == side && sent
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

// recordExternalOrder records an order placed elsewhere, unless it closed without fills.
func (l *loop) recordExternalOrder(r order.Report) (order.Order, bool) {
	if r.VenueID == "" || !r.Quantity.IsPositive() || r.Status.Final() && r.Filled.IsZero() && len(r.Fills) == 0 {
		return order.Order{}, false
	}
	now := l.now()
	g := order.Origin{Spec: order.Spec{ID: id.New(l.cfg.Now()), Owner: l.cfg.Owner}, Broker: l.cfg.Broker.Name(), Mode: l.cfg.Broker.Mode()}
	if l.recovers(r) {
		g.ID, g.Recovered = r.ID, true
	}
	if err := l.commit(l.systemCaller(), order.NewExternal(g, r, now)); err != nil {
		l.logUnsaved("external order save failed", err, "venue_id", r.VenueID)
		return order.Order{}, false
	}
	l.cfg.Log.InfoContext(l.drainCtx, "external order recorded", "order", g.ID, "recovered", g.Recovered, "venue_id", r.VenueID, "symbol", r.Symbol.String())
	return l.book.Order(g.ID)
}

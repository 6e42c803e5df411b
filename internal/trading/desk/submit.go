package desk

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/kit/sendby"
	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// queueSubmit queues the submission of a recorded order, together with its legs.
func (l *loop) queueSubmit(caller principal.Caller, head order.Order, requestedAt time.Time) {
	orders := l.departing(head)
	for i, o := range orders {
		l.inFlight[o.ID] = true
		orders[i].Edge = l.edge(o)
	}
	l.sends.addIf(func(ctx context.Context) func() {
		reports, err := l.submit(ctx, caller, orders, requestedAt)
		return func() { l.handleSubmitResult(orders, reports, err) }
	}, func() bool { return l.shouldSend(caller, orders, requestedAt) })
}

// edge returns the worst price with which an order is sent: as it was proposed, or where the venue needs one for every
// market order, by the last price.
func (l *loop) edge(o order.Order) decimal.Decimal {
	can, s := l.capabilities[o.Symbol], o.Symbol
	q, _ := l.cfg.Market.LastQuote(s)
	if o.Edge.IsPositive() || !can.NeedsEdge {
		return o.Edge
	}
	return guard.Edge(l.cfg.Policy, intent(o.Origin), guard.Facts{Quote: q, Instrument: l.instruments[s], Capabilities: can})
}

// departing returns the orders that are sent with the first of a group: all but those that
// candela holds.
func (l *loop) departing(head order.Order) []order.Order {
	if head.Holder != "" {
		return []order.Order{head}
	}
	return append([]order.Order{head}, l.legs(head)...)
}

// maxConfirms is how often orders are confirmed that did not leave while the answer counted.
const maxConfirms = 3

// submit sends orders in one request, unless the process stood still since they were
// queued: another process may have taken over the account, or revoked the login.
func (l *loop) submit(ctx context.Context, caller principal.Caller, orders []order.Order, requestedAt time.Time) ([]order.Report, error) {
	for tries := 1; ; tries++ {
		confirmed, err := l.confirmSend(ctx, caller)
		if err := cmp.Or(err, l.checkStale(orders[0], requestedAt)); err != nil {
			return nil, err
		}
		reports, err := l.request(confirmed, orders)
		if tries == maxConfirms || !errors.Is(err, sendby.ErrLate) || !errors.Is(broker.Outcome(err), broker.ErrNotSent) {
			return reports, err
		}
	}
}

// request sends orders in one request.
func (l *loop) request(ctx context.Context, orders []order.Order) ([]order.Report, error) {
	if len(orders) == 1 {
		r, err := l.cfg.Broker.Submit(ctx, orders[0].Outgoing())
		return []order.Report{r}, err
	}
	specs := make([]order.Spec, 0, len(orders))
	for _, o := range orders {
		specs = append(specs, o.Spec)
	}
	return l.cfg.Broker.SubmitGroup(ctx, specs)
}

// checkStale returns the error of an order that waited too long.
func (l *loop) checkStale(o order.Order, requestedAt time.Time) error {
	now := l.now()
	if waited := now.Sub(requestedAt); waited > maxSubmitDelay {
		return notSent("the order waited %v before it could be sent, so its price check is out of date", waited.Round(time.Second))
	}
	if !o.NotAfter.IsZero() && now.After(o.NotAfter) {
		return notSent("not_after, %s, passed before the order was sent", o.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// confirmSend returns the context in which orders of a caller are sent, or the error of orders that may no
// longer be sent.
func (l *loop) confirmSend(ctx context.Context, caller principal.Caller) (context.Context, error) {
	ctx, err := l.confirm(ctx, caller)
	switch {
	case err == nil:
		return ctx, nil
	case fault.KindOf(err) == fault.Unauthorized:
		return ctx, notSent("%s", revokedText)
	default:
		return ctx, notSent("whether the order may still be sent could not be confirmed: %s", publicReason(err))
	}
}

// revokedText is why an order was not sent whose login was revoked.
const revokedText = "the login that placed the order was revoked before it was sent"

func notSent(format string, args ...any) error {
	return fault.New(fault.Unavailable, "not_sent", format, args...).Because(broker.ErrNotSent)
}

// shouldSend reports whether queued orders may still be sent. They may not after a halt,
// a cancel, the revocation of their token or a wait longer than maxSubmitDelay.
func (l *loop) shouldSend(caller principal.Caller, orders []order.Order, requestedAt time.Time) bool {
	head, _ := l.book.Order(orders[0].ID)
	err := l.checkStale(head, requestedAt)
	switch {
	case !head.CancelRequested.IsZero():
		events := make([]order.Event, 0, len(orders))
		for _, o := range orders {
			l.landed(o.ID)
			events = append(events, l.event(o, order.KindCanceled, "canceled before it was sent")...)
		}
		l.commitReport(head, events)
		l.advanceOrder(head.ID)
		return false
	case l.state.Level() == guard.Halted && !l.mayProtect(head):
		err = notSent("trading was halted before the order was sent")
	case l.revocations.revoked(caller, requestedAt, l.now()):
		err = notSent("%s", revokedText)
	}
	if err != nil {
		l.handleSubmitResult(orders, nil, err)
	}
	return err == nil
}

// handleSubmitResult applies the venue's response to a submission. An error is about all
// of the orders, else each has its report, and one commit records them.
func (l *loop) handleSubmitResult(orders []order.Order, reports []order.Report, err error) {
	var events []order.Event
	var overtaken []order.Order
	for i, o := range orders {
		l.landed(o.ID)
		o, ok := l.book.Order(o.ID)
		switch {
		case !ok:
		case err == nil && i < len(reports):
			events = append(events, l.reportEvents(o, reports[i])...)
		default:
			events = append(events, l.failureEvents(o, cmp.Or(err, broker.ErrUnknown))...)
			if o.Status != order.Submitted {
				overtaken = append(overtaken, o)
			}
		}
	}
	head := orders[0]
	if fate := broker.Outcome(err); errors.Is(fate, broker.ErrNotSent) || errors.Is(fate, broker.ErrRejected) {
		events = append(events, l.undo(head.Symbol, l.changes[head.ID])...)
	}
	delete(l.changes, head.ID)
	if err != nil {
		l.cfg.Log.WarnContext(l.drainCtx, "order submission failed", "order", head.ID, "error", err)
	}
	if err := l.commit(l.systemCaller(), events...); err != nil {
		l.logUnsaved("report save failed, querying the order again", err, "order", head.ID)
		overtaken = orders
	}
	for _, o := range overtaken {
		l.forcePoll(o)
	}
	for _, o := range orders {
		l.advanceOrder(o.ID)
	}
}

// landed records that nothing is on its way for an order any more. What waited for that can go on: the
// stream may have reported the rest before.
func (l *loop) landed(id string) {
	delete(l.inFlight, id)
	l.protector.changed = true
}

// failureEvents returns the events of an order whose submission failed.
func (l *loop) failureEvents(o order.Order, err error) []order.Event {
	switch fate := broker.Outcome(err); {
	case o.Status != order.Submitted: // the stream was faster and contradicts this result
		return l.event(o, order.KindLost, publicReason(err))
	case errors.Is(fate, broker.ErrNotSent):
		l.pauseFired(o)
		return l.event(o, order.KindNotSent, "not sent: "+publicReason(err))
	case errors.Is(fate, broker.ErrRejected):
		events := l.event(o, order.KindRejected, publicReason(err))
		events[0].Passing = broker.Passing(err)
		l.pauseFired(o)
		return events
	default:
		return l.event(o, order.KindLost, publicReason(err))
	}
}

// event returns a single event of an order.
func (l *loop) event(o order.Order, kind order.Kind, reason string) []order.Event {
	now := l.now()
	e := order.Event{Kind: kind, OrderID: o.ID, At: now, Reason: reason}
	if kind == order.KindDoubted {
		e.VenueAt = now
	}
	return []order.Event{e}
}

// reportEvents converts a venue's report to events.
func (l *loop) reportEvents(o order.Order, r order.Report) []order.Event {
	l.noteLevel(o, r)
	return l.stampEvents(order.FromReport(o, r))
}

// stampEvents sets the local time of events.
func (l *loop) stampEvents(events []order.Event) []order.Event {
	now := l.now()
	for i := range events {
		events[i].At = now
	}
	return events
}

// commitReport commits events of a venue's report, or queries the order again.
func (l *loop) commitReport(o order.Order, events []order.Event) {
	if err := l.commit(l.systemCaller(), events...); err != nil {
		l.logUnsaved("report save failed, querying the order again", err, "order", o.ID)
		l.forcePoll(o)
	}
}

// publicReason returns the part of an error that clients may see.
func publicReason(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Public()
	}
	return broker.Outcome(err).Error()
}

// advanceOrder notifies waiters and sends a cancel that waited for the venue's answer.
func (l *loop) advanceOrder(id string) {
	o, ok := l.book.Order(id)
	if !ok || l.inFlight[id] {
		return
	}
	l.notifyWaiters(o)
	if !o.CancelRequested.IsZero() && venueAnswered(o) && !o.Status.Final() {
		l.queueCancel(o)
	}
}

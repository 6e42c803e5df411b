package desk

import (
	"cmp"
	"context"
	"errors"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// queueSubmit queues the submission of a recorded order.
func (l *loop) queueSubmit(caller principal.Caller, o order.Order, requestedAt time.Time) {
	l.inFlight[o.ID] = true
	l.sends.addIf(func(ctx context.Context) func() {
		r, err := l.submit(ctx, o, requestedAt)
		return func() {
			delete(l.inFlight, o.ID)
			l.handleSubmitResult(o.ID, r, err)
		}
	}, func() bool { return l.shouldSend(caller, o.ID, requestedAt) })
}

// submit sends an order, unless the process stood still since it was queued: another
// process may have taken over the account.
func (l *loop) submit(ctx context.Context, o order.Order, requestedAt time.Time) (order.Report, error) {
	if waited := l.now().Sub(requestedAt); waited > maxSubmitDelay {
		return order.Report{}, staleOrderError(waited)
	}
	return l.cfg.Broker.Submit(ctx, o.Spec)
}

// staleOrderError is the error of an order that waited too long.
func staleOrderError(waited time.Duration) error {
	return notSent("the order waited %v before it could be sent, so its price check is out of date", waited.Round(time.Second))
}

func notSent(format string, args ...any) error {
	return fault.New(fault.Unavailable, "not_sent", format, args...).Because(broker.ErrNotSent)
}

// shouldSend reports whether a queued order may still be sent. It may not after a halt,
// a cancel, the revocation of its token or a wait longer than maxSubmitDelay.
func (l *loop) shouldSend(caller principal.Caller, id string, requestedAt time.Time) bool {
	o, _ := l.book.Order(id)
	waited := l.now().Sub(requestedAt)
	var err error
	switch {
	case !o.CancelRequested.IsZero():
		delete(l.inFlight, id)
		l.commitReport(o, l.event(o, order.KindCanceled, "canceled before it was sent"))
		l.advanceOrder(id)
		return false
	case l.state.Level() == guard.Halted:
		err = notSent("trading was halted before the order was sent")
	case l.revocations.revoked(caller, requestedAt, l.now()):
		err = notSent("the login that placed the order was revoked before it was sent")
	case waited > maxSubmitDelay:
		err = staleOrderError(waited)
	default:
		return true
	}
	delete(l.inFlight, id)
	l.handleSubmitResult(id, order.Report{}, err)
	return false
}

// handleSubmitResult applies the venue's response to a submission.
func (l *loop) handleSubmitResult(id string, r order.Report, err error) {
	o, ok := l.book.Order(id)
	if !ok {
		return
	}
	var events []order.Event
	switch fate := broker.Outcome(err); {
	case fate == nil:
		events = l.reportEvents(o, r)
	case o.Status != order.Submitted:
		// The stream was faster and contradicts this result, so the order is queried.
		defer l.forcePoll(o)
		events = l.event(o, order.KindLost, publicReason(err))
	case errors.Is(fate, broker.ErrNotSent):
		events = l.event(o, order.KindNotSent, "not sent: "+publicReason(err))
	case errors.Is(fate, broker.ErrRejected):
		events = l.event(o, order.KindRejected, publicReason(err))
	default:
		events = l.event(o, order.KindLost, publicReason(err))
	}
	if err != nil {
		l.cfg.Log.WarnContext(l.drainCtx, "order submission failed", "order", id, "error", err)
	}
	l.commitReport(o, events)
	l.advanceOrder(id)
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
		l.cfg.Log.ErrorContext(l.drainCtx, "report save failed, querying the order again", "order", o.ID, "error", err)
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

// Cancel cancels an order and waits up to 10 s for the venue; the status pending_cancel
// means that it has not answered. A closed order is returned unchanged, with the fault
// order_closed unless it is canceled or expired.
func (d *Desk) Cancel(ctx context.Context, caller principal.Caller, orderID string) (order.Order, error) {
	caller, err := d.authorize(caller)
	if err != nil {
		return order.Order{}, err
	}
	var t *callResult
	if err := d.do(ctx, func(l *loop) { t = l.cancel(caller, orderID) }); err != nil {
		return order.Order{}, err
	}
	if t == nil {
		return d.storedOrder(ctx, orderID)
	}
	if t.done {
		return t.order, cmp.Or(t.err, closed(t.order))
	}
	o := d.await(ctx, t)
	if !o.Status.Final() && o.CancelRequested.IsZero() {
		return o, fault.New(fault.Unavailable, "cancel_failed", "Order %s is still open: %s did not confirm the cancel. Try again.", o.ID, o.Broker).
			About("order_id", o.ID, "").Retry(time.Second)
	}
	return o, closed(o)
}

// closed returns the fault of a cancel that came too late, for a filled or rejected order.
func closed(o order.Order) error {
	if !o.Status.Final() || o.Status == order.Canceled || o.Status == order.Expired {
		return nil
	}
	return fault.New(fault.Conflict, "order_closed",
		"Order %s is %v and can no longer be cancelled. Use get_orders with filter open to list open orders.", o.ID, o.Status).
		About("order_id", o.ID, "an order that is open")
}

// storedOrder reads an order that is no longer in memory.
func (d *Desk) storedOrder(ctx context.Context, orderID string) (order.Order, error) {
	o, err := d.cfg.Store.Order(ctx, d.cfg.Owner, orderID)
	if fault.KindOf(err) == fault.NotFound {
		return o, fault.New(fault.NotFound, "unknown_order", "No order %q. Use get_orders to list orders.", orderID).About("order_id", orderID, "")
	}
	return o, cmp.Or(err, closed(o))
}

// cancel records and queues a cancel. It returns nil if the order is not in memory.
func (l *loop) cancel(by principal.Caller, id string) *callResult {
	o, ok := l.book.Order(id)
	switch {
	case !ok:
		return nil
	case o.Status.Final():
		return &callResult{order: o, done: true}
	case o.External:
		err := fault.New(fault.Unsupported, "external_order", "Order %s was placed outside candela. Cancel it at %s.", id, o.Broker).About("order_id", id, "")
		return &callResult{order: o, done: true, err: err}
	}
	if o.CancelRequested.IsZero() {
		if err := l.commit(by, l.event(o, order.KindCancelRequested, "")...); err != nil {
			return l.cancelUnsaved(o, err)
		}
		l.advanceOrder(id)
	}
	o, _ = l.book.Order(id)
	return &callResult{order: o, waiter: l.addWaiter(id, func(_ *loop, o order.Order) bool { return o.Status.Final() || o.CancelRequested.IsZero() })}
}

// cancelUnsaved sends a cancel that could not be recorded: canceling twice is harmless,
// and a failing store must not keep an order open.
func (l *loop) cancelUnsaved(o order.Order, err error) *callResult {
	if f := fault.Of(err); f != nil && f.Kind == fault.Conflict {
		return failed(err)
	}
	if l.fenced != nil {
		return failed(fencedError(err))
	}
	text := "The cancel could not be saved, and the venue has not confirmed the order yet. Try again."
	if venueAnswered(o) {
		text = "The cancel could not be saved but is being sent. Check get_orders."
		if !l.inFlight[o.ID] {
			l.queueCancel(o)
		}
	}
	return failed(fault.New(fault.Unavailable, "store_failed", "%s", text).Because(err))
}

func (l *loop) queueCancel(o order.Order) {
	l.inFlight[o.ID] = true
	l.cancels.add(func(ctx context.Context) func() {
		r, err := l.cfg.Broker.Cancel(ctx, o.Handle())
		return func() {
			delete(l.inFlight, o.ID)
			l.handleCancelResult(o.ID, r, err)
		}
	})
}

// handleCancelResult applies the result of a cancel. An unknown one leads to a query.
func (l *loop) handleCancelResult(id string, r order.Report, err error) {
	if err != nil {
		l.cfg.Log.WarnContext(l.drainCtx, "order cancel failed", "order", id, "error", err)
	}
	o, ok := l.book.Order(id)
	if !ok {
		return // the next reconciliation finds it if it is still open
	}
	switch fate := broker.Outcome(err); {
	case fate == nil:
		l.commitReport(o, l.reportEvents(o, r))
	case o.Status.Final():
	case errors.Is(fate, broker.ErrNotSent), errors.Is(fate, broker.ErrRejected):
		l.commitReport(o, l.event(o, order.KindCancelFailed, publicReason(err)))
	default:
		l.forcePoll(o)
	}
}

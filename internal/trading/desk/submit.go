package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// queueSubmit has an order sent that is persisted as sent, while its caller may and not too
// long after it was asked for.
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

// submit sends an order, unless the process stood still since it was to be sent: by
// then whoever trades on the account may have given it up.
func (l *loop) submit(ctx context.Context, o order.Order, requestedAt time.Time) (order.Report, error) {
	if waited := l.now().Sub(requestedAt); waited > maxSubmitDelay {
		return order.Report{}, staleOrderError(waited)
	}
	return l.cfg.Broker.Submit(ctx, o.Spec)
}

// staleOrderError says that an order waited too long to be sent.
func staleOrderError(waited time.Duration) error {
	return notSent(fmt.Sprintf("it waited %v to be written down and sent, and its price is of then", waited.Round(time.Second)))
}

func notSent(reason string) error {
	return &fault.Error{Kind: fault.Unavailable, Code: "not_sent", Message: reason, Cause: broker.ErrNotSent}
}

// shouldSend reports whether an order that waited is still to be sent. What was judged
// before a halt, a cancel, the end of its token or at a price of long ago is not.
func (l *loop) shouldSend(caller principal.Caller, id string, requestedAt time.Time) bool {
	o, _ := l.book.Order(id)
	waited := l.now().Sub(requestedAt)
	var err error
	switch {
	case !o.CancelRequested.IsZero():
		delete(l.inFlight, id)
		l.commitReport(o, l.event(o, order.KindCanceled, "it was cancelled before it was sent"))
		l.advanceOrder(id)
		return false
	case l.state.Level() == guard.Halted:
		err = notSent("trading was halted before it was sent")
	case l.revocations.revoked(caller, requestedAt, l.now()):
		err = notSent("the login with which it was placed ended before it was sent")
	case waited > maxSubmitDelay:
		err = staleOrderError(waited)
	default:
		return true
	}
	delete(l.inFlight, id)
	l.handleSubmitResult(id, order.Report{}, err)
	return false
}

// handleSubmitResult takes the venue's answer to an order.
func (l *loop) handleSubmitResult(id string, r order.Report, err error) {
	o, ok := l.book.Order(id)
	if !ok {
		return
	}
	var events []order.Event
	switch fate := broker.Fate(err); {
	case fate == nil:
		events = l.reportEvents(o, r)
	case o.Status != order.Submitted:
		// The venue's stream was faster, and what it said is not what this says: the
		// venue is asked.
		events = l.event(o, order.KindLost, publicReason(err))
		defer l.forcePoll(o)
	case errors.Is(fate, broker.ErrNotSent):
		events = l.event(o, order.KindNotSent, "it was not sent: "+publicReason(err))
	case errors.Is(fate, broker.ErrRefused):
		events = l.event(o, order.KindRejected, publicReason(err))
	default:
		events = l.event(o, order.KindLost, publicReason(err))
	}
	if err != nil {
		l.cfg.Log.WarnContext(l.drainCtx, "order not answered as hoped", "order", id, "error", err)
	}
	l.commitReport(o, events)
	l.advanceOrder(id)
}

// event makes the one event that says what we know of an order.
func (l *loop) event(o order.Order, kind order.Kind, reason string) []order.Event {
	now := l.now()
	e := order.Event{Kind: kind, OrderID: o.ID, At: now, Reason: reason}
	if kind == order.KindDoubted {
		e.VenueAt = now
	}
	return []order.Event{e}
}

// reportEvents makes events of what the venue says of an order.
func (l *loop) reportEvents(o order.Order, r order.Report) []order.Event {
	return l.stampEvents(order.FromReport(o, r))
}

// stampEvents gives events the time by our clock.
func (l *loop) stampEvents(events []order.Event) []order.Event {
	now := l.now()
	for i := range events {
		events[i].At = now
	}
	return events
}

// commitReport commits what the venue said. What cannot be persisted is asked for again:
// the order stays as it was.
func (l *loop) commitReport(o order.Order, events []order.Event) {
	if err := l.commit(l.systemCaller(), events...); err != nil {
		l.cfg.Log.ErrorContext(l.drainCtx, "what the venue said of an order is not persisted; it will be asked again", "order", o.ID, "error", err)
		l.forcePoll(o)
	}
}

// publicReason is what a client may read of an error.
func publicReason(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Public()
	}
	return broker.Fate(err).Error()
}

// advanceOrder does what an order needs next: a cancel that waited for it, or a question.
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

// Cancel asks the venue to cancel an order and returns it. It waits for the answer
// for a while; pending_cancel says that it is not known. An order that has ended
// is returned as it ended, with the fault order_closed when it was not cancelled.
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
		return o, &fault.Error{
			Kind: fault.Unavailable, Code: "cancel_failed", Field: "order_id", Value: o.ID, Retryable: true, RetryAfter: time.Second,
			Message: fmt.Sprintf("order %s is still open: %s did not cancel it; try again", o.ID, o.Broker),
		}
	}
	return o, closed(o)
}

// closed is the fault of a cancel that found nothing to take away. A second cancel,
// and one of an order that expired, has what it asked for.
func closed(o order.Order) error {
	if !o.Status.Final() || o.Status == order.Canceled || o.Status == order.Expired {
		return nil
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: "order_closed", Field: "order_id", Value: o.ID, Allowed: "an order that is open",
		Message: fmt.Sprintf("order_id: %s is %v and can no longer be cancelled; get_orders with filter open lists those that can", o.ID, o.Status),
	}
}

// storedOrder finds an order that ended long ago.
func (d *Desk) storedOrder(ctx context.Context, orderID string) (order.Order, error) {
	o, err := d.cfg.Store.Order(ctx, d.cfg.Owner, orderID)
	if fault.KindOf(err) == fault.NotFound {
		return o, &fault.Error{
			Kind: fault.NotFound, Code: "unknown_order", Field: "order_id", Value: orderID,
			Message: fmt.Sprintf("there is no order %q; get_orders lists those there are", orderID),
		}
	}
	return o, cmp.Or(err, closed(o))
}

// cancel persists that an order shall be cancelled, and sends that. It returns nil
// for an order that is not in memory.
func (l *loop) cancel(by principal.Caller, id string) *callResult {
	o, ok := l.book.Order(id)
	switch {
	case !ok:
		return nil
	case o.Status.Final():
		return &callResult{order: o, done: true}
	case o.External:
		return &callResult{order: o, done: true, err: &fault.Error{
			Kind: fault.Unsupported, Code: "external_order", Field: "order_id", Value: id,
			Message: fmt.Sprintf("order %s was not placed here: cancel it where it was placed, at %s", id, o.Broker),
		}}
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

// cancelUnsaved sends a cancel that could not be persisted: to take an order away
// twice does no harm, and a store that fails must not keep it at the venue.
func (l *loop) cancelUnsaved(o order.Order, err error) *callResult {
	if f := fault.Of(err); f != nil && f.Kind == fault.Conflict {
		return &callResult{done: true, err: err}
	}
	if l.fenced != nil {
		return &callResult{done: true, err: fencedError(err)}
	}
	text := "the cancel could not be written down, and the venue has not answered about the order yet: try again"
	if venueAnswered(o) {
		text = "the cancel could not be written down; it is sent all the same: look at get_orders"
		if !l.inFlight[o.ID] {
			l.queueCancel(o)
		}
	}
	return &callResult{done: true, err: &fault.Error{Kind: fault.Unavailable, Code: "store_failed", Message: text, Cause: err}}
}

// queueCancel has a cancel sent that is persisted. It waits for no order.
func (l *loop) queueCancel(o order.Order) {
	l.inFlight[o.ID] = true
	l.cancels.add(func(ctx context.Context) func() {
		r, err := l.cfg.Broker.Cancel(ctx, o.Spec)
		return func() {
			delete(l.inFlight, o.ID)
			l.handleCancelResult(o.ID, r, err)
		}
	})
}

// handleCancelResult takes the venue's answer to a cancel. One that was lost is found out by
// asking for the order.
func (l *loop) handleCancelResult(id string, r order.Report, err error) {
	if err != nil {
		l.cfg.Log.WarnContext(l.drainCtx, "cancel not answered as hoped", "order", id, "error", err)
	}
	o, ok := l.book.Order(id)
	if !ok {
		return // it has left memory; the next comparison tells whether it is still open
	}
	switch fate := broker.Fate(err); {
	case fate == nil:
		l.commitReport(o, l.reportEvents(o, r))
	case o.Status.Final():
	case errors.Is(fate, broker.ErrNotSent), errors.Is(fate, broker.ErrRefused):
		l.commitReport(o, l.event(o, order.KindCancelFailed, publicReason(err)))
	default:
		l.forcePoll(o)
	}
}

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

// send has an order sent that is persisted as sent, while its caller may and not too
// long after it was asked for.
func (w *writer) send(caller principal.Caller, o order.Order, asked time.Time) {
	w.flights[o.ID] = true
	w.sends.addWanted(func(ctx context.Context) func() {
		r, err := w.submit(ctx, o, asked)
		return func() {
			delete(w.flights, o.ID)
			w.sent(o.ID, r, err)
		}
	}, func() bool { return w.wanted(caller, o.ID, asked) })
}

// submit sends an order, unless the process stood still since it was to be sent: by
// then whoever trades on the account may have given it up.
func (w *writer) submit(ctx context.Context, o order.Order, asked time.Time) (order.Report, error) {
	if waited := w.now().Sub(asked); waited > maxWait {
		return order.Report{}, late(waited)
	}
	return w.cfg.Broker.Submit(ctx, o.Spec)
}

// late says that an order waited too long to be sent.
func late(waited time.Duration) error {
	return unsent(fmt.Sprintf("it waited %v to be written down and sent, and its price is of then", waited.Round(time.Second)))
}

func unsent(reason string) error {
	return &fault.Error{Kind: fault.Unavailable, Code: "not_sent", Message: reason, Cause: broker.ErrNotSent}
}

// wanted reports whether an order that waited is still to be sent. What was judged
// before a halt, a cancel, the end of its token or at a price of long ago is not.
func (w *writer) wanted(caller principal.Caller, id string, asked time.Time) bool {
	o, _ := w.book.Order(id)
	waited := w.now().Sub(asked)
	var err error
	switch {
	case !o.CancelRequested.IsZero():
		delete(w.flights, id)
		w.keep(o, w.event(o, order.KindCanceled, "it was cancelled before it was sent"))
		w.settle(id)
		return false
	case w.state.Level() == guard.Halted:
		err = unsent("trading was halted before it was sent")
	case w.endings.ended(caller, asked, w.now()):
		err = unsent("the login with which it was placed ended before it was sent")
	case waited > maxWait:
		err = late(waited)
	default:
		return true
	}
	delete(w.flights, id)
	w.sent(id, order.Report{}, err)
	return false
}

// sent takes the venue's answer to an order.
func (w *writer) sent(id string, r order.Report, err error) {
	o, ok := w.book.Order(id)
	if !ok {
		return
	}
	var events []order.Event
	switch fate := broker.Fate(err); {
	case fate == nil:
		events = w.told(o, r)
	case o.Status != order.Submitted:
		// The venue's stream was faster, and what it said is not what this says: the
		// venue is asked.
		events = w.event(o, order.KindLost, why(err))
		defer w.watchAnyway(o)
	case errors.Is(fate, broker.ErrNotSent):
		events = w.event(o, order.KindNotSent, "it was not sent: "+why(err))
	case errors.Is(fate, broker.ErrRefused):
		events = w.event(o, order.KindRejected, why(err))
	default:
		events = w.event(o, order.KindLost, why(err))
	}
	if err != nil {
		w.cfg.Log.WarnContext(w.hard, "order not answered as hoped", "order", id, "error", err)
	}
	w.keep(o, events)
	w.settle(id)
}

// event makes the one event that says what we know of an order.
func (w *writer) event(o order.Order, kind order.Kind, reason string) []order.Event {
	now := w.now()
	e := order.Event{Kind: kind, OrderID: o.ID, At: now, Reason: reason}
	if kind == order.KindDoubted {
		e.VenueAt = now
	}
	return []order.Event{e}
}

// told makes events of what the venue says of an order.
func (w *writer) told(o order.Order, r order.Report) []order.Event {
	return w.dated(order.FromReport(o, r))
}

// dated gives events the time by our clock.
func (w *writer) dated(events []order.Event) []order.Event {
	now := w.now()
	for i := range events {
		events[i].At = now
	}
	return events
}

// keep commits what the venue said. What cannot be persisted is asked for again:
// the order stays as it was.
func (w *writer) keep(o order.Order, events []order.Event) {
	if err := w.commit(w.service(), events...); err != nil {
		w.cfg.Log.ErrorContext(w.hard, "what the venue said of an order is not persisted; it will be asked again", "order", o.ID, "error", err)
		w.watchAnyway(o)
	}
}

// why is what a client may read of an error.
func why(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Public()
	}
	return broker.Fate(err).Error()
}

// settle does what an order needs next: a cancel that waited for it, or a question.
func (w *writer) settle(id string) {
	o, ok := w.book.Order(id)
	if !ok || w.flights[id] {
		return
	}
	w.wake(o)
	if !o.CancelRequested.IsZero() && answered(o) && !o.Status.Final() {
		w.sendCancel(o)
	}
}

// Cancel asks the venue to cancel an order and returns it. It waits for the answer
// for a while; pending_cancel says that it is not known. An order that has ended
// is returned as it ended, with the fault order_closed when it was not cancelled.
func (d *Desk) Cancel(ctx context.Context, caller principal.Caller, orderID string) (order.Order, error) {
	caller, err := d.own(caller)
	if err != nil {
		return order.Order{}, err
	}
	var t *ticket
	if err := d.do(ctx, func(w *writer) { t = w.cancel(caller, orderID) }); err != nil {
		return order.Order{}, err
	}
	if t == nil {
		return d.forgotten(ctx, orderID)
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

// forgotten finds an order that ended long ago.
func (d *Desk) forgotten(ctx context.Context, orderID string) (order.Order, error) {
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
func (w *writer) cancel(by principal.Caller, id string) *ticket {
	o, ok := w.book.Order(id)
	switch {
	case !ok:
		return nil
	case o.Status.Final():
		return &ticket{order: o, done: true}
	case o.External:
		return &ticket{order: o, done: true, err: &fault.Error{
			Kind: fault.Unsupported, Code: "external_order", Field: "order_id", Value: id,
			Message: fmt.Sprintf("order %s was not placed here: cancel it where it was placed, at %s", id, o.Broker),
		}}
	}
	if o.CancelRequested.IsZero() {
		if err := w.commit(by, w.event(o, order.KindCancelRequested, "")...); err != nil {
			return w.cancelUnkept(o, err)
		}
		w.settle(id)
	}
	o, _ = w.book.Order(id)
	return &ticket{order: o, wait: w.wait(id, func(_ *writer, o order.Order) bool { return o.Status.Final() || o.CancelRequested.IsZero() })}
}

// cancelUnkept sends a cancel that could not be persisted: to take an order away
// twice does no harm, and a store that fails must not keep it at the venue.
func (w *writer) cancelUnkept(o order.Order, err error) *ticket {
	if f := fault.Of(err); f != nil && f.Kind == fault.Conflict {
		return &ticket{done: true, err: err}
	}
	if w.fenced != nil {
		return &ticket{done: true, err: gone(err)}
	}
	text := "the cancel could not be written down, and the venue has not answered about the order yet: try again"
	if answered(o) {
		text = "the cancel could not be written down; it is sent all the same: look at get_orders"
		if !w.flights[o.ID] {
			w.sendCancel(o)
		}
	}
	return &ticket{done: true, err: &fault.Error{Kind: fault.Unavailable, Code: "store_failed", Message: text, Cause: err}}
}

// sendCancel has a cancel sent that is persisted. It waits for no order.
func (w *writer) sendCancel(o order.Order) {
	w.flights[o.ID] = true
	w.cancels.add(func(ctx context.Context) func() {
		r, err := w.cfg.Broker.Cancel(ctx, o.Spec)
		return func() {
			delete(w.flights, o.ID)
			w.canceled(o.ID, r, err)
		}
	})
}

// canceled takes the venue's answer to a cancel. One that was lost is found out by
// asking for the order.
func (w *writer) canceled(id string, r order.Report, err error) {
	if err != nil {
		w.cfg.Log.WarnContext(w.hard, "cancel not answered as hoped", "order", id, "error", err)
	}
	o, ok := w.book.Order(id)
	if !ok {
		return // it has left memory; the next comparison tells whether it is still open
	}
	switch fate := broker.Fate(err); {
	case fate == nil:
		w.keep(o, w.told(o, r))
	case o.Status.Final():
	case errors.Is(fate, broker.ErrNotSent), errors.Is(fate, broker.ErrRefused):
		w.keep(o, w.event(o, order.KindCancelFailed, why(err)))
	default:
		w.watchAnyway(o)
	}
}

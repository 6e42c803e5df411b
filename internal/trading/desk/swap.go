package desk

import (
	"context"
	"slices"

	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// swap ends orders and sends others in one step, where the broker can: the order that waits, and
// whatever the plan asks for beside it. It reports false where that is not possible. If the broker refuses,
// nothing has changed there, and the plan is as it was.
func (l *loop) swap(head string, d *deferred) bool {
	swapper, ok := l.cfg.Broker.(broker.Swapper)
	first, _ := l.book.Order(head)
	ended := l.swappable(d.waitsFor)
	if !ok || len(l.parts(first)) > 0 || first.Local() || len(ended) == 0 || l.state.Level() == guard.Halted {
		return false
	}
	groups := l.sendSwapped(first, d)
	if groups == nil {
		return false
	}
	d.swapping = true
	for _, id := range d.waitsFor {
		l.inFlight[id] = true
	}
	l.sends.add(func(ctx context.Context) func() {
		var swapped broker.Swapped
		ctx, err := l.confirmSend(ctx, d.caller)
		if err == nil {
			swapped, err = swapper.Swap(ctx, ended, outgoing(groups))
		}
		return func() { l.handleSwap(head, d, groups, swapped, err) }
	})
	return true
}

// swappable returns what the broker knows the orders by that end, none if one of them cannot end in a
// swap.
func (l *loop) swappable(ids []string) []order.Handle {
	ended := make([]order.Handle, 0, len(ids))
	for _, id := range ids {
		o, _ := l.book.Order(id)
		if o.Role == order.Entry || o.VenueID == "" || l.inFlight[id] {
			return nil
		}
		ended = append(ended, o.Handle())
	}
	return ended
}

// sendSwapped records the orders of a swap as sent, and returns them by group: those that waited, and
// those that the plan asks for beside them. It returns nil if they could not be recorded.
func (l *loop) sendSwapped(first order.Order, d *deferred) [][]order.Order {
	groups := [][]order.Order{l.departing(first)}
	events := make([]order.Event, 0, len(groups[0]))
	for _, o := range groups[0] {
		events = append(events, l.event(o, order.KindSent, "")...)
	}
	legs := l.missingLegs(first.Symbol, d.waitsFor)
	for _, orders := range legs {
		events = append(events, sentEvents(orders, l.now())...)
	}
	if l.commit(l.systemCaller(), events...) != nil {
		return nil
	}
	for _, orders := range legs {
		var group []order.Order
		for _, g := range orders {
			o, _ := l.book.Order(g.ID)
			group = append(group, o)
			l.inFlight[g.ID] = true
		}
		groups = append(groups, group)
	}
	return groups
}

// outgoing returns groups of orders as they are sent.
func outgoing(groups [][]order.Order) [][]order.Spec {
	specs := make([][]order.Spec, len(groups))
	for i, group := range groups {
		for _, o := range group {
			specs[i] = append(specs[i], o.Outgoing())
		}
	}
	return specs
}

// handleSwap applies the result of a swap.
func (l *loop) handleSwap(head string, d *deferred, groups [][]order.Order, swapped broker.Swapped, err error) {
	delete(l.deferred, head)
	for _, id := range d.waitsFor {
		l.landed(id)
	}
	first, _ := l.book.Order(head)
	if err != nil {
		l.cfg.Log.WarnContext(l.drainCtx, "swap failed", "order", head, "error", err)
		l.handleSubmitResult(slices.Concat(groups...), nil, err)
		l.keepEnded(first, d)
		return
	}
	var events []order.Event
	for i, id := range d.waitsFor {
		if o, ok := l.book.Order(id); ok && i < len(swapped.Ended) {
			events = append(events, l.reportEvents(o, swapped.Ended[i])...)
		}
	}
	l.commitReport(first, events)
	l.handleSubmitResult(slices.Concat(groups...), slices.Concat(swapped.Placed...), nil)
}

// keepEnded takes back a swap that the broker refused: the orders that were to end still stand.
func (l *loop) keepEnded(first order.Order, d *deferred) {
	var events []order.Event
	for _, id := range d.waitsFor {
		if o, ok := l.book.Order(id); ok && !o.Status.Final() && !o.CancelRequested.IsZero() {
			events = append(events, l.event(o, order.KindCancelFailed, "the order for which it was to end was refused")...)
		}
	}
	events = append(events, l.undo(first.Symbol, d.change)...)
	l.commitReport(first, events)
}

package desk

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Cancel cancels an order and waits up to 10 s for the venue; the status pending_cancel
// means that it has not answered. A closed order is returned unchanged, with the fault
// order_closed unless it is canceled or expired.
func (d *Desk) Cancel(ctx context.Context, caller principal.Caller, orderID string) (order.Order, error) {
	caller, err := d.authorize(caller)
	if err != nil {
		return order.Order{}, err
	}
	if _, err := d.confirm(ctx, caller); err != nil {
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
		return t.order.Order, cmp.Or(t.err, closed(t.order.Order))
	}
	o := d.await(ctx, t).Order
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

// cancel records and queues a cancel. It returns nil if the order is not in memory. Of the
// first order of a group that has ended, it cancels the others.
func (l *loop) cancel(by principal.Caller, id string) *callResult {
	o, ok := l.book.Order(id)
	if !ok {
		return nil
	}
	if o.Status == order.PendingApproval {
		return l.withdraw(by, o)
	}
	victims := l.cancelTogether(o)
	if len(victims) == 0 {
		return &callResult{order: order.Placed{Order: o}, done: true}
	}
	if err := cmp.Or(l.checkCanceler(by, o), l.checkCancel(o, victims)); err != nil {
		return &callResult{order: order.Placed{Order: o}, done: true, err: err}
	}
	lines := l.lines(o.Symbol)
	i := slices.IndexFunc(lines, func(line order.Line) bool { return line.ID == o.Line() })
	if err := l.requestCancelWith(by, l.planWithout(o, victims), "", victims...); err != nil {
		return l.cancelUnsaved(victims[0], err)
	}
	for _, victim := range victims {
		if i >= 0 {
			l.uncancelled[victim.ID] = cancelledLine{lines[i], lineIDs(lines[:i])}
		}
	}
	o, _ = l.book.Order(victims[0].ID)
	return &callResult{order: order.Placed{Order: o}, waiter: l.addWaiter(o.ID, func(_ *loop, o order.Order) bool { return o.Status.Final() || o.CancelRequested.IsZero() })}
}

// cancelTogether returns the orders that the cancel of one sends a cancel for: the order, and of an
// entry that has ended those that protect its line.
func (l *loop) cancelTogether(o order.Order) []order.Order {
	if !o.Status.Final() {
		return []order.Order{o} // with an entry the venue ends its legs
	}
	if o.Role != order.Entry {
		return nil
	}
	legs := slices.DeleteFunc(l.book.Legs(o.Symbol), func(leg order.Order) bool { return leg.Line() != o.ID })
	return l.cancelledFirst(legs)
}

// planWithout returns the plan without the prices of orders that somebody cancels: a stop, a target, or
// all of an entry. It is nil if the plan stays.
func (l *loop) planWithout(o order.Order, victims []order.Order) []order.Line {
	lines := l.lines(o.Symbol)
	i := slices.IndexFunc(lines, func(line order.Line) bool { return line.ID == o.Line() })
	if i < 0 || o.Role == order.Entry && !o.Status.Final() {
		return nil
	}
	p := &lines[i].Protect
	for _, victim := range victims {
		switch {
		case o.Role == order.Entry:
			*p = order.Protection{}
		case victim.IsStop():
			p.StopLoss, p.StopLossLimit, p.TrailPercent, lines[i].Best = decimal.Zero, decimal.Zero, decimal.Zero, decimal.Zero
		default:
			p.TakeProfit = decimal.Zero
		}
	}
	lines[i].By = o.ID
	return lines
}

// endsGroup reports whether the cancel of an order ends the others of its group. What candela
// holds is cancelled one by one.
func (l *loop) endsGroup(o order.Order) bool {
	return o.Holder == "" && l.capabilities[o.Symbol].CancelEndsGroup
}

// cancelEvents returns the events of a cancel that is about to be sent, or of one that is done
// because candela holds the order. reason is as of requestCancel.
func (l *loop) cancelEvents(o order.Order, reason string) []order.Event {
	events := l.event(o, order.KindCancelRequested, reason)
	if o.Local() {
		events = append(events, l.event(o, order.KindCanceled, "")...)
	}
	return events
}

// requestCancel records cancels in one commit and queues those that can be sent. reason is the
// ID of the order that they are for, "" if somebody asked for the end of these orders.
func (l *loop) requestCancel(by principal.Caller, reason string, orders ...order.Order) error {
	return l.requestCancelWith(by, nil, reason, orders...)
}

// requestCancelWith is requestCancel that also records a plan, nil if it stays.
func (l *loop) requestCancelWith(by principal.Caller, lines []order.Line, reason string, orders ...order.Order) error {
	var events []order.Event
	for _, o := range orders {
		if o.CancelRequested.IsZero() {
			events = append(events, l.cancelEvents(o, reason)...)
		}
	}
	if lines != nil {
		events = append(events, l.planned(orders[0].Symbol, lines)...)
	}
	if err := l.commit(by, events...); err != nil {
		return err
	}
	for _, o := range orders {
		l.advanceOrder(o.ID)
	}
	return nil
}

// checkCancel returns why a client may not cancel an order: it is not ours, it would take
// another order with it, or it is the last stop of a position that needs one.
func (l *loop) checkCancel(o order.Order, victims []order.Order) error {
	if o.External && !o.Recovered {
		return fault.New(fault.Unsupported, "external_order", "Order %s was placed outside candela. Cancel it at %s.", o.ID, o.Broker).About("order_id", o.ID, "")
	}
	ends := victims
	if entry, ok := l.book.Order(o.Group.Name); ok && entry.Role == order.Entry && !entry.Status.Final() && l.endsGroup(o) {
		ends = slices.DeleteFunc(l.book.Group(o.Group.Name), func(other order.Order) bool { return other.Status.Final() })
		if len(ends) > 1 && o.ID != o.Group.Name {
			return fault.New(fault.Conflict, "leg_of_pair",
				"Order %s is the %v of a group: %s cancels all of it at once, %s. Nothing was cancelled. Use cancel_order with %s to cancel the group, or place_order with replaces %s and all its prices to change it.",
				o.ID, o.Role, o.Broker, names(ends), o.Group.Name, o.Group.Name).About("order_id", o.ID, o.Group.Name)
		}
	}
	if !l.cfg.Policy.RequiresStop(o.Symbol, o.Mode) {
		return nil
	}
	if entry, stop, ok := l.entryLeftBare(ends); ok {
		return fault.New(fault.Conflict, "last_stop",
			"Order %s is the stop of order %s, which is open, and require_stop wants one. Nothing was cancelled. Use cancel_order with %s to cancel both, or place_order with replaces %s to change it.",
			stop.ID, entry.ID, entry.ID, entry.ID).About("order_id", o.ID, entry.ID)
	}
	if stop, quantity := l.stopOfLine(o, victims); quantity.IsPositive() {
		return lastStop(o, stop, quantity)
	}
	held := l.book.Position(o.Symbol).Held(l.instruments[o.Symbol].Base)
	open := slices.DeleteFunc(l.book.Open(), func(other order.Order) bool { return other.Symbol != o.Symbol })
	before := order.WithoutStop(held, open)
	open = slices.DeleteFunc(open, func(other order.Order) bool {
		return slices.ContainsFunc(ends, func(end order.Order) bool { return end.ID == other.ID })
	})
	bare := order.WithoutStop(held, open)
	if !bare.GreaterThan(before) {
		return nil
	}
	stop := o
	for _, end := range ends {
		if end.IsStop() {
			stop = end
		}
	}
	return lastStop(o, stop, bare)
}

// stopOfLine returns the stop that the plan would lose with a cancel, and how much it is for. A venue may
// call a stop waiting that works, so the plan decides.
func (l *loop) stopOfLine(o order.Order, victims []order.Order) (stop order.Order, quantity decimal.Decimal) {
	i := slices.IndexFunc(victims, func(v order.Order) bool { return v.IsStop() })
	for _, line := range l.book.Lines(o.Symbol) {
		if i >= 0 && line.ID == o.Line() && line.Protect.HasStop() {
			return victims[i], line.Quantity
		}
	}
	return order.Order{}, decimal.Zero
}

// lastStop is the fault of a cancel that would leave a part of a position without a stop. It
// says how the position is closed, and how its stop is moved.
func lastStop(o, stop order.Order, bare decimal.Decimal) error {
	return fault.New(fault.Conflict, "last_stop",
		"Without order %s, %v of %v would have no stop, and require_stop wants one. Nothing was cancelled. "+
			"To close the position use place_order with side %v, type market, quantity %v and reduce_only true; to move its stop add stop_loss with the new price and replaces %s.",
		o.ID, bare, o.Symbol, stop.Side, bare, stop.ID).About("order_id", o.ID, "an order that is not the last stop of a position")
}

// entryLeftBare returns an open entry whose stop ends and which does not end with it.
func (l *loop) entryLeftBare(ends []order.Order) (entry, stop order.Order, found bool) {
	for _, stop := range ends {
		entry, ok := l.book.Order(stop.Group.Name)
		if stop.Group.Leg && stop.IsStop() && ok && !entry.Status.Final() &&
			!slices.ContainsFunc(ends, func(end order.Order) bool { return end.ID == entry.ID }) {
			return entry, stop, true
		}
	}
	return order.Order{}, order.Order{}, false
}

// names lists orders for a text.
func names(orders []order.Order) string {
	all := make([]string, 0, len(orders))
	for _, o := range orders {
		all = append(all, cmp.Or(o.Role.String(), "order")+" "+o.ID)
	}
	return strings.Join(all, ", ")
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

// cancelledLine is a line as it was before a client cancelled a price of it.
type cancelledLine struct {
	order.Line
	older []string // IDs of the lines before it
}

// insert puts the line back where it was among lines.
func (c cancelledLine) insert(lines []order.Line) []order.Line {
	at := 0
	for i, line := range lines {
		if slices.Contains(c.older, line.ID) {
			at = i + 1
		}
	}
	return slices.Insert(lines, at, c.Line)
}

func lineIDs(lines []order.Line) []string {
	ids := make([]string, 0, len(lines))
	for _, line := range lines {
		ids = append(ids, line.ID)
	}
	return ids
}

// cancelFailed returns the events of an order that stays open after a cancel. What the plan lost with a
// client's cancel comes back.
func (l *loop) cancelFailed(o order.Order, reason string) []order.Event {
	events := l.event(o, order.KindCancelFailed, reason)
	was, ok := l.uncancelled[o.ID]
	delete(l.uncancelled, o.ID)
	if !ok || o.Status.Final() {
		return events
	}
	lines := l.lines(o.Symbol)
	if i := slices.IndexFunc(lines, func(line order.Line) bool { return line.ID == was.ID }); i >= 0 {
		lines[i].Protect, lines[i].Best, lines[i].By = was.Protect, was.Best, was.By
	} else {
		was.Quantity = decimal.Min(was.Quantity, l.book.Bare(o.Symbol, was.Deployment).Own)
		lines = was.insert(lines)
	}
	return append(events, l.planned(o.Symbol, lines)...)
}

func (l *loop) queueCancel(o order.Order) {
	l.inFlight[o.ID] = true
	l.cancels.add(func(ctx context.Context) func() {
		r, err := l.cfg.Broker.Cancel(ctx, o.Handle())
		return func() {
			l.landed(o.ID)
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
		delete(l.uncancelled, id)
		l.commitReport(o, l.reportEvents(o, r))
	case o.Status.Final():
	case errors.Is(fate, broker.ErrNotSent), errors.Is(fate, broker.ErrRejected):
		l.commitReport(o, l.cancelFailed(o, publicReason(err)))
	default:
		l.forcePoll(o)
	}
}

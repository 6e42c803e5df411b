package desk

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// deferred is an order that is sent when others have ended: those that it replaces, or that protect
// what it closes or changes. It is recorded together with the plan and the cancels, and judged again
// before it is sent. A restart forgets it, and then it is denied: an order is not sent late. The
// plan stays, and the orders that it asks for are placed.
type deferred struct {
	caller      principal.Caller
	requestedAt time.Time
	market      symbolMarket
	asked       string                     // ID of the order that the client asked for
	waitsFor    []string                   // IDs
	cancelled   []string                   // IDs of those for which a cancel is sent
	filled      map[string]decimal.Decimal // of waitsFor, when it was requested
	change      *planChange                // nil if the prices of the plan stay
	swapping    bool                       // the broker ends and places in one step
}

// changing returns the first order of a request that waits and concerns a symbol, "" if none does.
func (l *loop) changing(s market.Symbol) string {
	for head := range l.deferred {
		if o, _ := l.book.Order(head); o.Symbol == s {
			return head
		}
	}
	return ""
}

// deferSend records a proposal and the cancels of what must end first, in one commit.
func (l *loop) deferSend(caller principal.Caller, p proposal, requestedAt time.Time, m symbolMarket) *callResult {
	d := &deferred{caller: caller, requestedAt: requestedAt.Round(0), market: m, asked: p.asked.ID, change: p.change, filled: make(map[string]decimal.Decimal)}
	now, head := l.now(), p.orders[0].ID
	events := make([]order.Event, 0, len(p.orders)+len(p.ends)+1)
	for i := range p.orders {
		events = append(events, order.Event{Kind: order.KindCreated, OrderID: p.orders[i].ID, At: now, Origin: &p.orders[i]})
	}
	for _, o := range l.cancelledFirst(p.ends) {
		d.cancelled = append(d.cancelled, o.ID)
		events = append(events, l.cancelEvents(o, head)...)
	}
	events = append(events, l.planned(p.asked.Symbol, p.lines)...)
	if err := l.commit(caller, append(events, l.endLocal(&p)...)...); err != nil {
		return failed(persistError(err))
	}
	for _, o := range p.ends {
		d.waitsFor = append(d.waitsFor, o.ID)
		d.filled[o.ID] = o.Filled
		l.forgetTries(o.Line()) // its line gets other orders at once
	}
	for _, g := range p.orders {
		l.inFlight[g.ID] = true // nothing else is done with it
	}
	l.deferred[head] = d
	if !l.swap(head, d) {
		for _, id := range d.cancelled {
			l.advanceOrder(id)
		}
	}
	t := &callResult{}
	t.order.Order, _ = l.book.Order(p.asked.ID)
	t.waiter = l.addWaiter(p.asked.ID, submitFinished)
	return t
}

// endLocal returns the events that end orders which candela holds and whose line changes.
func (l *loop) endLocal(p *proposal) []order.Event {
	if p.change == nil {
		return nil
	}
	var events []order.Event
	for _, o := range l.book.Legs(p.asked.Symbol) {
		if o.Local() && slices.Contains(p.change.concerned, o.Line()) {
			events = append(events, l.cancelEvents(o, p.orders[0].ID)...)
		}
	}
	return events
}

// advanceDeferred sends the orders that waited for others to end, or denies them.
func (l *loop) advanceDeferred() {
	for head, d := range l.deferred {
		o, _ := l.book.Order(head)
		if d.swapping {
			continue
		}
		if denial, wait := l.judgeDeferred(o, d); !wait {
			delete(l.deferred, head)
			l.finishDeferred(o, d, denial)
		}
	}
	for _, o := range l.book.Open() {
		if o.Status == order.New && !l.inFlight[o.ID] && (o.Group.Name == "" || o.Group.Name == o.ID) {
			l.finishDeferred(o, nil, guard.NotFreed("not_sent_late", "candela stopped before the order could be sent, and does not send it late. What the plan asks for is placed."))
		}
	}
}

// judgeDeferred returns whether an order still waits, or why it is denied.
func (l *loop) judgeDeferred(o order.Order, d *deferred) (denial *guard.Denial, wait bool) {
	if o.Status != order.New {
		return nil, false
	}
	asked, _ := l.book.Order(d.asked)
	ended := true
	for _, id := range d.waitsFor {
		other, ok := l.book.Order(id)
		if !ok || other.Status.Final() && !other.NeedsQuery() && !l.inFlight[id] {
			if denial := filledFirst(asked, other, d); denial != nil {
				return denial, false
			}
			continue
		}
		ended = false
		if slices.Contains(d.cancelled, id) && other.CancelRequested.IsZero() && !other.Status.Final() && !l.inFlight[id] {
			return guard.NotFreed("cancel_failed", "Order "+id+" could not be cancelled, so nothing was sent. Try again."), false
		}
	}
	if err := l.checkStale(o, d.requestedAt); err != nil {
		return guard.NotFreed("too_late", "The orders that must end first were not confirmed as cancelled in time, so nothing was sent. Check get_orders."), false
	}
	if !ended {
		return nil, true
	}
	if quote, ok := l.cfg.Market.LastQuote(o.Symbol); ok {
		d.market.quote = quote
	}
	facts := heldBy(o.Holder, l.facts(o.Symbol, o.Deployment, d.market))
	facts.Recent = nil // it was counted when it was requested
	if denial := guard.Check(l.cfg.Policy, l.state, intent(asked.Origin), facts); denial != nil {
		return denial, false
	}
	if err := guard.Unjudged(l.cfg.Policy, intent(asked.Origin), facts); err != nil {
		return guard.NotFreed("entry_condition", fault.Of(err).Message), false
	}
	return guard.CheckReplacing(l.cfg.Policy, intent(asked.Origin), facts, asked.Replaces), false
}

// filledFirst denies an order that takes the place of another, or closes what that one held, if the
// other was filled in the meantime: it would close something else that is held.
func filledFirst(o, other order.Order, d *deferred) *guard.Denial {
	switch {
	case o.Replaces == other.ID && other.Status == order.Filled:
		return guard.NotFreed("replaces", "Order "+other.ID+" was filled before it could be replaced.")
	case o.ReduceOnly && other.Role != order.Entry && other.Filled.GreaterThan(d.filled[other.ID]):
		return guard.NotFreed("reduce_only", "Order "+other.ID+" was filled before it could be cancelled, so nothing was sent. Check get_positions.")
	default:
		return nil
	}
}

// finishDeferred sends an order that waited, or records its denial. A record that fails is
// tried again on the next tick, as a denial.
func (l *loop) finishDeferred(o order.Order, d *deferred, denial *guard.Denial) {
	orders := append([]order.Order{o}, l.legs(o)...)
	if d != nil {
		orders = append(orders, l.parts(o)...)
	}
	var events []order.Event
	for _, one := range orders {
		l.landed(one.ID)
		if denial != nil {
			events = append(events, order.Event{Kind: order.KindDenied, OrderID: one.ID, At: l.now(), Reason: denial.Text, Denial: denial.Record()})
		} else {
			events = append(events, l.event(one, one.Departure(), "")...)
		}
	}
	if o.Status != order.New {
		return
	}
	if denial != nil && d != nil {
		events = append(events, l.undo(o.Symbol, d.change)...)
	}
	if err := l.commit(l.systemCaller(), events...); err != nil {
		l.logUnsaved("order that waited could not be saved", err, "order", o.ID)
		return
	}
	if denial != nil {
		l.cfg.Log.InfoContext(l.drainCtx, "order denied", "order", o.ID, "rule", denial.Rule, "client", o.Client)
		return
	}
	if o, _ = l.book.Order(o.ID); !o.Local() {
		if d.change != nil {
			l.changes[o.ID] = d.change
		}
		l.queueSubmit(d.caller, o, d.requestedAt)
		for _, part := range l.parts(o) {
			l.queueSubmit(d.caller, part, d.requestedAt)
		}
	}
}

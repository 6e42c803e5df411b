package desk

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// deferred is an order that is sent when others have ended: those that it replaces, or that
// hold what it closes. It is recorded together with their cancels, and judged again before
// it is sent. A restart forgets it, and then it is denied: an order is not sent late.
type deferred struct {
	caller      principal.Caller
	requestedAt time.Time
	market      symbolMarket
	waitsFor    []string                   // IDs
	cancelled   []string                   // IDs of those for which a cancel is sent
	filled      map[string]decimal.Decimal // of waitsFor, when it was requested
}

// replacedOrders returns the open orders that end when one is replaced: its group, or itself.
func (l *loop) replacedOrders(r order.Request) ([]order.Order, error) {
	if r.Replaces == "" {
		return nil, nil
	}
	bad := func(kind fault.Kind, code, format string, args ...any) *fault.Error {
		return fault.New(kind, code, format, args...).About("replaces", r.Replaces, "the order_id of an open order in the same symbol and direction")
	}
	old, ok := l.book.Order(r.Replaces)
	candidates, others := l.replaceable(r)
	switch {
	case !ok:
		e := bad(fault.NotFound, "unknown_order", "replaces: no order %q. %s Nothing was done.", r.Replaces, others)
		e.Suggestions = candidates
		return nil, e
	case old.External:
		return nil, bad(fault.Unsupported, "external_order", "replaces: order %s was placed outside candela. Cancel it at %s. Nothing was done.", old.ID, old.Broker)
	case old.Status.Final() && len(l.openExits(old)) > 0:
		legs := l.openExits(old)
		e := bad(fault.Conflict, "order_closed", "replaces: order %s is %v, and its %s can be replaced. Use replaces %s. Nothing was done.", old.ID, old.Status, names(legs), legs[0].ID)
		e.Suggestions = []string{legs[0].ID}
		return nil, e
	case old.Status.Final():
		return nil, bad(fault.Conflict, "order_closed", "replaces: order %s is %v. Place the order without replaces. Nothing was done.", old.ID, old.Status)
	case old.Status == order.PendingApproval:
		return nil, bad(fault.Conflict, "order_closed", "replaces: order %s waits for the owner's approval and was not sent. Withdraw it with cancel_order, then place the new order without replaces. Nothing was done.", old.ID)
	case !venueAnswered(old) || old.Status == order.New || !old.CancelRequested.IsZero() || l.inFlight[old.ID]:
		return nil, bad(fault.Conflict, "order_closed", "replaces: order %s is %v; wait until it is accepted. Nothing was done.", old.ID, old.Status)
	case old.Symbol != r.Symbol || old.Side != r.Spec("", "").Side:
		e := bad(fault.Invalid, "order_closed", "replaces: order %s is a %v of %v, this is a %v of %v. %s Nothing was done.", old.ID, old.Side, old.Symbol, r.Side, r.Symbol, others)
		e.Suggestions = candidates
		return nil, e
	}
	group := slices.DeleteFunc(l.book.Group(old.Group.Name), func(o order.Order) bool { return o.Status.Final() })
	if len(group) == 0 {
		group = []order.Order{old}
	}
	if group[0].Role == order.Entry && old.ID != group[0].ID {
		return nil, bad(fault.Conflict, "leg_of_pair", "replaces: order %s waits for its entry %s, which would end with it. Replace %s, with all its prices. Nothing was done.", old.ID, group[0].ID, group[0].ID)
	}
	return group, checkKept(r, group)
}

// openExits returns the exits of an entry that can be replaced, stops first.
func (l *loop) openExits(entry order.Order) []order.Order {
	exits := slices.DeleteFunc(l.book.Exits(entry.ID), func(o order.Order) bool {
		return o.Status.Final() || o.Status == order.New || o.Status == order.PendingApproval
	})
	slices.SortStableFunc(exits, func(a, b order.Order) int { return cmp.Compare(a.Role, b.Role) })
	return exits
}

// maxCandidates is how many orders a refusal lists.
const maxCandidates = 5

// replaceable lists the open orders that a request may replace, stops before targets, and
// describes them.
func (l *loop) replaceable(r order.Request) (ids []string, text string) {
	var found []order.Order
	open := l.book.Open()
	slices.SortStableFunc(open, func(a, b order.Order) int { return b.Created.Compare(a.Created) })
	slices.SortStableFunc(open, func(a, b order.Order) int { return cmp.Compare(a.Role, b.Role) })
	for _, o := range open {
		if o.Symbol == r.Symbol && o.Side == r.Spec("", "").Side && !o.External && !l.waitsForEntry(o) && len(found) < maxCandidates {
			found = append(found, o)
			ids = append(ids, o.ID)
		}
	}
	if len(found) == 0 {
		return nil, "No open order can be replaced by this one; omit replaces."
	}
	return ids, "Open orders that it can replace: " + names(found) + "."
}

// checkKept requires the new orders to have a target or a stop where the old ones have.
func checkKept(r order.Request, group []order.Order) error {
	for _, o := range group {
		switch {
		case group[0].Role == order.Entry: // with all new prices
		case o.Role == order.TakeProfit && r.Protect.TakeProfit.IsZero():
			return fault.New(fault.Invalid, "missing_argument", "take_profit: order %s, a target at %v, ends with the order that is replaced. Give take_profit too; %v keeps it. Nothing was done.", o.ID, o.Price, o.Price).
				About("take_profit", "", o.Price.String())
		case o.IsStop() && o.ReduceOnly && !r.Protect.HasStop() && !r.StopPrice.IsPositive():
			field, value := "stop_loss", o.StopPrice
			if o.TrailPercent.IsPositive() {
				field, value = "trail_percent", o.TrailPercent
			}
			return fault.New(fault.Invalid, "missing_argument", "%s: order %s, a stop, ends with the order that is replaced. Give %s too; %v keeps it. Nothing was done.", field, o.ID, field, value).
				About(field, "", value.String())
		}
	}
	return nil
}

// deferSend records orders and the cancels of those that must end first, in one commit.
func (l *loop) deferSend(caller principal.Caller, orders []order.Origin, ends []order.Order, requestedAt time.Time, m symbolMarket) *callResult {
	d := &deferred{caller: caller, requestedAt: requestedAt.Round(0), market: m, filled: make(map[string]decimal.Decimal)}
	now, head := l.now(), orders[0].ID
	events := make([]order.Event, 0, len(orders)+len(ends))
	for i := range orders {
		events = append(events, order.Event{Kind: order.KindCreated, OrderID: orders[i].ID, At: now, Origin: &orders[i]})
	}
	for _, o := range l.cancelledFirst(ends) {
		d.cancelled = append(d.cancelled, o.ID)
		events = append(events, l.cancelEvents(o, head)...)
	}
	if err := l.commit(caller, events...); err != nil {
		return failed(persistError(err))
	}
	t := &callResult{}
	for _, o := range ends {
		d.waitsFor = append(d.waitsFor, o.ID)
		d.filled[o.ID] = o.Filled
	}
	for _, g := range orders {
		l.inFlight[g.ID] = true // nothing else is done with it
	}
	l.deferred[head] = d
	for _, id := range d.cancelled {
		l.advanceOrder(id)
	}
	t.order.Order, _ = l.book.Order(head)
	t.waiter = l.addWaiter(head, submitFinished)
	return t
}

// cancelledFirst returns the orders that a cancel is sent for: of a group that the venue ends
// with one of its orders, the entry or else the stop.
func (l *loop) cancelledFirst(ends []order.Order) []order.Order {
	var chosen []order.Order
	done := make(map[string]bool)
	for _, pass := range []func(order.Order) bool{
		func(o order.Order) bool { return o.Role == order.Entry },
		func(o order.Order) bool { return o.IsStop() },
		func(order.Order) bool { return true },
	} {
		for _, o := range ends {
			key := o.ID
			if o.Group.Name != "" && l.endsGroup(o) {
				key = o.Group.Name
			}
			if pass(o) && !done[key] {
				done[key] = true
				chosen = append(chosen, o)
			}
		}
	}
	return chosen
}

// advanceDeferred sends the orders that waited for others to end, or denies them.
func (l *loop) advanceDeferred() {
	for head, d := range l.deferred {
		o, _ := l.book.Order(head)
		if denial, wait := l.judgeDeferred(o, d); !wait {
			delete(l.deferred, head)
			l.finishDeferred(o, d, denial)
		}
	}
	for _, o := range l.book.Open() {
		if o.Status == order.New && !l.inFlight[o.ID] && (o.Group.Name == "" || o.Group.Name == o.ID) {
			l.finishDeferred(o, nil, guard.NotFreed("not_sent_late", "candela stopped before the order could be sent, and does not send it late."))
		}
	}
}

// judgeDeferred returns whether an order still waits, or why it is denied.
func (l *loop) judgeDeferred(o order.Order, d *deferred) (denial *guard.Denial, wait bool) {
	if o.Status != order.New {
		return nil, false
	}
	ended := true
	for _, id := range d.waitsFor {
		other, ok := l.book.Order(id)
		if !ok || other.Status.Final() && !other.NeedsQuery() && !l.inFlight[id] {
			if denial := filledFirst(o, other, d); denial != nil {
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
	facts := heldBy(o.Holder, l.facts(o.Symbol, d.market))
	facts.Recent = nil // it was counted when it was requested
	if denial := guard.Check(l.cfg.Policy, l.state, intent(o.Origin), facts); denial != nil {
		return denial, false
	}
	return guard.CheckReplacing(l.cfg.Policy, intent(o.Origin), facts, o.Replaces), false
}

// filledFirst denies an order that takes the place of another, or closes what that one held, if the
// other was filled in the meantime: it would close something else that is held.
func filledFirst(o, other order.Order, d *deferred) *guard.Denial {
	switch {
	case o.Replaces == other.ID && other.Status == order.Filled:
		return guard.NotFreed("replaces", "Order "+other.ID+" was filled before it could be replaced.")
	case o.ReduceOnly && (o.Replaces != "" || o.Parent != "") && other.Filled.GreaterThan(d.filled[other.ID]):
		return guard.NotFreed("reduce_only", "Order "+other.ID+" was filled before it could be cancelled, so nothing was sent. Check get_positions.")
	default:
		return nil
	}
}

// finishDeferred sends an order that waited, or records its denial. A record that fails is
// tried again on the next tick, as a denial.
func (l *loop) finishDeferred(o order.Order, d *deferred, denial *guard.Denial) {
	orders := append([]order.Order{o}, l.legs(o)...)
	var events []order.Event
	for _, one := range orders {
		delete(l.inFlight, one.ID)
		if denial != nil {
			events = append(events, order.Event{Kind: order.KindDenied, OrderID: one.ID, At: l.now(), Reason: denial.Text, Denial: denial.Record()})
		} else {
			events = append(events, l.event(one, one.Departure(), "")...)
		}
	}
	if o.Status != order.New {
		return
	}
	if err := l.commit(l.systemCaller(), events...); err != nil {
		l.cfg.Log.ErrorContext(l.drainCtx, "order that waited could not be saved", "order", o.ID, "error", err)
		return
	}
	if denial != nil {
		l.cfg.Log.InfoContext(l.drainCtx, "order denied", "order", o.ID, "rule", denial.Rule, "client", o.Client)
		return
	}
	if o, _ = l.book.Order(o.ID); !o.Local() {
		l.queueSubmit(d.caller, o, d.requestedAt)
	}
}

// released returns the IDs of the orders that were cancelled because they hold what an order
// closes.
func (l *loop) released(o order.Order) []string {
	if !o.ReduceOnly || o.Replaces != "" {
		return nil
	}
	var ids []string
	for _, other := range l.book.Newest(maxListed) {
		if other.CancelFor != o.ID || other.CancelRequested.IsZero() && !other.Status.Final() {
			continue
		}
		ids = append(ids, other.ID)
		for _, beside := range l.book.Exits(cmp.Or(other.Parent, other.ID)) {
			if other.Group.Name != "" && beside.Group.Name == other.Group.Name && beside.ID != other.ID && beside.CancelFor == "" {
				ids = append(ids, beside.ID)
			}
		}
	}
	return ids
}

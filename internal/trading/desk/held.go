package desk

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/retry"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Stops and targets that candela holds because the venue cannot. Each is an order of its own
// that is recorded as held. It works for what its entry brought, is sent when its price is
// reached, and nothing watches while candela does not run. Its trigger and its submission are
// one commit, so it is never sent twice: one that is not found at the venue after a crash is
// closed like any other order, and takes its place under another ID, to be judged at the new
// price.

// heldOrders is what the loop keeps of the orders that candela holds, beside the book.
type heldOrders struct {
	triggers map[string]*heldTrigger     // by order ID
	pauses   map[market.Symbol]*attempts // after a submission that failed
	cancels  map[string]*attempts        // by order ID: of orders that must end first

	startedAt    time.Time
	watchedUntil time.Time         // before the start; zero if unknown
	savedAt      time.Time         // when that was last stored
	unchecked    map[string]bool   // IDs of orders whose prices before the start are being read
	missed       map[string]string // by order ID: why the owner must look at it
}

// holder returns who holds the stop and target of an order, and the facts as they are then.
func (l *loop) holder(in guard.Intent, f guard.Facts) (order.Holder, guard.Facts) {
	if !guard.Holds(l.cfg.Policy, in, f) {
		return "", f
	}
	return order.HolderCandela, heldBy(order.HolderCandela, f)
}

// heldBy returns the facts for an order whose stop and target the holder holds.
func heldBy(h order.Holder, f guard.Facts) guard.Facts {
	if h != "" {
		f.Capabilities = f.Capabilities.Held()
	}
	return f
}

// tendHeld keeps the orders that candela holds at the size of what they close, and sends those
// whose price was reached.
func (l *loop) tendHeld() {
	if l.reload != nil || l.stopping || l.fenced != nil {
		return
	}
	if l.protector.changed {
		l.sizeHeld()
	}
	l.fireReached(l.now())
}

// local returns the orders that candela holds, oldest first.
func (l *loop) local() []order.Order {
	var held []order.Order
	for _, o := range slices.Backward(l.book.Open()) {
		if o.Local() && o.Status == order.Held {
			held = append(held, o)
		}
	}
	return held
}

// sizeHeld records what follows for the orders that candela holds from the fills of others,
// and watches the prices of those that work.
func (l *loop) sizeHeld() {
	held := l.local()
	events := make([]order.Event, 0, len(held))
	for _, o := range held {
		events = append(events, l.heldEvents(o)...)
	}
	if len(events) > 0 {
		if l.commit(l.systemCaller(), events...) != nil {
			return // the next tick repeats it
		}
		held = l.local()
	}
	l.watchHeld(held)
}

// watchHeld watches the prices of orders that candela holds, of trails that it follows, and of stops
// that are lacking.
func (l *loop) watchHeld(held []order.Order) {
	watched := slices.DeleteFunc(held, func(o order.Order) bool { return o.Waiting })
	l.rewatch(slices.Concat(watched, l.venueTrails(), l.protector.bare))
}

// venueTrails returns the orders at the venue that trail. candela follows the price as they do, so that a
// trail that is placed again is not wider.
func (l *loop) venueTrails() []order.Order {
	return slices.DeleteFunc(l.book.Open(), func(o order.Order) bool { return !followed(o) })
}

// followed reports whether an order at the venue trails.
func followed(o order.Order) bool {
	return o.TrailPercent.IsPositive() && !o.External && !o.Local() && !o.Fired && !o.Waiting && !o.Status.Final() && o.Status != order.New && o.Status != order.PendingApproval
}

// heldEvents returns what is to be recorded of an order that candela holds: that it works, its
// size, where its trail begins, or its end.
func (l *loop) heldEvents(o order.Order) []order.Event {
	want, reason := l.heldQuantity(o)
	now := l.now()
	switch {
	case reason != "":
		events := l.event(o, order.KindCancelRequested, cmp.Or(o.Parent, o.Group.Name, o.ID))
		return append(events, l.event(o, order.KindCanceled, reason)...)
	case !want.IsPositive():
		return nil // its entry is not filled
	}
	var events []order.Event
	if o.Waiting {
		events = append(events, order.Event{Kind: order.KindAccepted, OrderID: o.ID, At: now, VenueAt: now})
	}
	if !want.Equal(o.Quantity) {
		events = append(events, order.Event{Kind: order.KindResized, OrderID: o.ID, At: now, VenueAt: now, Quantity: want})
	}
	if o.TrailPercent.IsPositive() && o.Best.IsZero() {
		if q, ok := l.cfg.Market.LastQuote(o.Symbol); ok && q.Last.IsPositive() {
			events = append(events, order.Event{Kind: order.KindTrailed, OrderID: o.ID, At: now, Price: q.Last})
		}
	}
	return events
}

// heldQuantity returns how much an order that candela holds is to close, zero while its entry
// is not filled, or why it has nothing to close any more.
func (l *loop) heldQuantity(o order.Order) (quantity decimal.Decimal, ended string) {
	due := l.book.Due(o.Symbol)
	i := slices.IndexFunc(due, func(line order.Line) bool { return line.ID == o.Line() })
	if i < 0 {
		if entry, ok := l.book.Order(o.Group.Name); ok && o.Group.Leg && entry.Claimed.IsZero() {
			return o.Quantity, "its entry ended without a fill"
		}
		return o.Quantity, "nothing is left to close"
	}
	quantity = order.RoundDown(due[i].Quantity, l.instruments[o.Symbol].Step)
	if most := l.marketMost(o.Symbol); most.IsPositive() && (o.Type == order.Market || o.Group.Name != "") {
		quantity = decimal.Min(quantity, most)
	}
	for _, other := range l.book.Legs(o.Symbol) {
		if other.Line() == o.Line() && other.ID != o.ID && (other.Group.Name == "" || other.Group.Name != o.Group.Name) {
			quantity = decimal.Min(quantity, o.Quantity) // it protects a part of the line
		}
	}
	for _, other := range l.book.Group(o.Group.Name) {
		if other.ID != o.ID && other.Fired {
			quantity = decimal.Min(quantity, other.Remaining())
		}
	}
	if !quantity.IsPositive() && !o.Waiting {
		return o.Quantity, "nothing is left to close"
	}
	return quantity, ""
}

// fireReached sends the orders whose price was reached.
func (l *loop) fireReached(now time.Time) {
	if !l.reconciliation.succeededOnce || !l.haltAllowsProtection() {
		return
	}
	var due []order.Order
	for id, t := range l.held.triggers {
		if o, ok := l.book.Order(id); t.reached && ok && o.Local() && o.Status == order.Held {
			due = append(due, o)
		}
	}
	slices.SortFunc(due, func(a, b order.Order) int {
		return cmp.Or(boolFirst(a.IsStop(), b.IsStop()), cmp.Compare(a.ID, b.ID))
	})
	for _, o := range due {
		if o, _ = l.book.Order(o.ID); o.Local() && o.Status == order.Held {
			l.fire(o, now)
		}
	}
}

// boolFirst sorts true before false.
func boolFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// fire sends an order whose price was reached. What the venue holds of its group ends first,
// and the other order that candela holds ends with it if it is a stop: a target may rest.
func (l *loop) fire(o order.Order, now time.Time) {
	if p := l.held.pauses[o.Symbol]; p != nil && now.Before(p.next) || len(l.sends.queue) >= maxQueued {
		return
	}
	if !l.groupEnded(o, now) {
		return
	}
	quantity := decimal.Min(o.Quantity, order.RoundDown(l.closable(o), l.instruments[o.Symbol].Step))
	if !quantity.IsPositive() {
		return // other orders close it
	}
	var events []order.Event
	if !quantity.Equal(o.Quantity) {
		events = append(events, order.Event{Kind: order.KindResized, OrderID: o.ID, At: now, VenueAt: now, Quantity: quantity})
	}
	if t := l.held.triggers[o.ID]; t.Best() > 0 {
		events = append(events, order.Event{Kind: order.KindTrailed, OrderID: o.ID, At: now, Price: decimal.NewFromFloat(t.Best())})
	}
	events = append(events,
		order.Event{Kind: order.KindTriggered, OrderID: o.ID, At: now, VenueAt: now},
		order.Event{Kind: order.KindSent, OrderID: o.ID, At: now})
	for _, other := range l.book.Group(o.Group.Name) {
		if o.IsStop() && other.ID != o.ID && other.Local() && !other.Status.Final() {
			events = append(events, l.cancelEvents(other, o.ID)...)
		}
	}
	if err := l.commit(l.systemCaller(), events...); err != nil {
		l.logUnsaved("held order could not be saved and was not sent", err, "order", o.ID)
		l.pauseHeld(o.Symbol, now)
		return
	}
	o, _ = l.book.Order(o.ID)
	l.cfg.Log.WarnContext(l.drainCtx, "held order triggered", "order", o.ID, "symbol", o.Symbol.String(), "role", o.Role.String(), "quantity", quantity.String())
	l.queueSubmit(l.systemCaller(), o, now)
}

// groupEnded reports whether the venue has no order of the group, and cancels those it has.
func (l *loop) groupEnded(o order.Order, now time.Time) bool {
	ended := true
	for _, other := range l.book.Group(o.Group.Name) {
		if other.ID == o.ID || other.Role == order.Entry || other.Local() || other.Status.Final() && !other.NeedsQuery() {
			continue
		}
		ended = false
		again := l.held.cancels[other.ID]
		if again == nil {
			again = &attempts{}
			l.held.cancels[other.ID] = again
		}
		if !other.Status.Final() && other.CancelRequested.IsZero() && !l.inFlight[other.ID] && !now.Before(again.next) {
			again.failed(now, retry.Backoff{First: time.Second, Max: time.Minute})
			_ = l.requestCancel(l.systemCaller(), o.ID, other) // the next attempt repeats it
		}
	}
	return ended
}

// closable returns how much of a position no order at the venue would close.
func (l *loop) closable(o order.Order) decimal.Decimal {
	held := l.book.Position(o.Symbol).Held(l.instruments[o.Symbol].Base)
	left := held.Abs()
	for _, other := range l.book.Open() {
		sent := other.Status != order.New && other.Status != order.PendingApproval && !other.Local()
		if other.Symbol == o.Symbol && other.Side == o.Side && sent && other.Group.Name == "" {
			left = left.Sub(other.Remaining())
		}
	}
	return left
}

// pauseHeld delays the next submission in a symbol.
func (l *loop) pauseHeld(s market.Symbol, now time.Time) {
	if l.held.pauses[s] == nil {
		l.held.pauses[s] = &attempts{}
	}
	l.held.pauses[s].failed(now, retry.Backoff{First: time.Second, Max: time.Minute})
}

// pauseFired delays the next submission in the symbol of an order that candela held and that did not
// reach the venue. Another takes its place, waits for the same price, and is sent at once if the price
// is beyond it.
func (l *loop) pauseFired(o order.Order) {
	if o.Fired && o.Role != order.Entry {
		l.pauseHeld(o.Symbol, l.now())
	}
}

// followFrom lets a trail that candela holds go on from where the one before it was.
func (l *loop) followFrom(head order.Order, best decimal.Decimal) {
	for _, o := range append(l.legs(head), head) {
		if o, _ = l.book.Order(o.ID); o.Local() && o.Status == order.Held && o.TrailPercent.IsPositive() && best.IsPositive() {
			l.commitReport(o, []order.Event{{Kind: order.KindTrailed, OrderID: o.ID, At: l.now(), Price: best}})
		}
	}
}

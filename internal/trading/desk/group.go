package desk

import (
	"fmt"
	"slices"
	"time"

	"candela/internal/kit/id"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// withLegs returns an order and the others of its group, all with IDs. The legs of an entry
// protect the position that it opens; the stop of a pair protects what its target does.
func (l *loop) withLegs(g order.Origin) []order.Origin {
	legs := g.Legs()
	orders := append(make([]order.Origin, 0, 1+len(legs)), g)
	for _, s := range legs {
		leg := order.Origin{Spec: s, Broker: g.Broker, Mode: g.Mode, Token: g.Token, Client: g.Client, Parent: g.Parent, Holder: g.Holder, Deployment: g.Deployment}
		leg.ID = id.Derived("leg", g.ID, leg.Role.String())
		if g.Role == order.Entry {
			leg.Parent = g.ID
		}
		orders = append(orders, leg)
	}
	return orders
}

// sentEvents returns the events that record orders as sent, or as held here.
func sentEvents(orders []order.Origin, now time.Time) []order.Event {
	events := make([]order.Event, 0, 2*len(orders))
	for i := range orders {
		g := &orders[i]
		events = append(events,
			order.Event{Kind: order.KindCreated, OrderID: g.ID, At: now, Origin: g},
			order.Event{Kind: g.Departure(), OrderID: g.ID, At: now})
	}
	return events
}

// addGroup adds the others of an order's group as they are now.
func (l *loop) addGroup(p *order.Placed) {
	if p.Group.Name != p.ID && !p.ReduceOnly && p.Replaces == "" {
		return
	}
	p.Legs, p.Released, p.UnprotectedFor, p.Plan = append(l.beside(p.Order), l.parts(p.Order)...), l.released(p.Order), l.book.UnprotectedFor(p.Order, l.now()), l.lines(p.Symbol)
	own := []order.Order{p.Order}
	l.levels.show(own)
	l.levels.show(p.Legs)
	p.Order = own[0]
}

// beside returns the other orders of the group that an order was placed with.
func (l *loop) beside(o order.Order) []order.Order {
	return slices.DeleteFunc(l.book.Group(o.Group.Name), func(other order.Order) bool { return other.ID == o.ID })
}

// legs returns the other orders of the group that an order is the first of, the stop first.
func (l *loop) legs(head order.Order) []order.Order {
	if head.Group.Name != head.ID {
		return nil
	}
	return l.book.Group(head.ID)[1:]
}

// followGroup queries the open orders of a group after the end of another: the venue ends
// them or lets them work, and its report may be lost. It queries a target that is over more than
// the stop beside it: the venue makes the stop smaller when the target is filled, and its report
// of the fill may come later.
func (l *loop) followGroup(o order.Order) {
	if o.Group.Name == "" || o.External {
		return
	}
	for _, other := range l.book.Group(o.Group.Name) {
		if !o.Status.Final() {
			if o.IsStop() && !o.Waiting && !o.Resized.IsZero() && other.Role == order.TakeProfit && !other.Status.Final() && other.Remaining().GreaterThan(o.Remaining()) {
				l.forcePoll(other)
			}
			continue
		}
		working := o.Status == order.Filled && o.ID == o.Group.Name && o.Role == order.Entry && other.Status == order.Accepted
		if other.ID != o.ID && !other.Status.Final() && !working && other.VenueID != "" {
			l.forcePoll(other)
		}
	}
}

// checkOverfill restricts trading when the exits of an entry closed more than it brought.
// Only a new fill does, so that the owner can resume.
func (l *loop) checkOverfill(events []order.Event) {
	for _, e := range events {
		o, _ := l.book.Order(e.OrderID)
		entry, ok := l.book.Order(o.Line())
		if e.Kind != order.KindFill || !ok || entry.Role != order.Entry || !entry.Status.Final() || entry.NeedsQuery() {
			continue // its own fills may come later
		}
		excess := entry.Filled.Neg()
		for _, exit := range l.book.Exits(entry.ID) {
			excess = excess.Add(exit.Filled)
		}
		if excess.IsPositive() {
			l.restrict(l.systemCaller(), guard.Restriction{
				Kind: guard.LegOverfill, Subject: o.Symbol.String(),
				Reason: fmt.Sprintf("the exits of order %s closed %v more than it brought", entry.ID, excess),
			})
		}
	}
}

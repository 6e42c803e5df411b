package alpaca

import (
	"context"
	"fmt"

	"candela/internal/data/upstream"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/fault"
)

// The venue's classes of orders that are placed as one. The parent is the entry, or the
// target of a pair.
const (
	classBracket = "bracket" // an entry with a target and a stop
	classOneLeg  = "oto"     // an entry with one of them
	classPair    = "oco"     // a target and a stop
	classSimple  = "simple"  // an order on its own, also written ""
)

// maxReplacements bounds how often an order is followed to the one that replaced it.
const maxReplacements = 16

// SubmitGroup sends a pair, or an entry and its legs, as one order of a class. See
// broker.Broker. The venue makes up the client order IDs of legs, so the answer is matched
// by role.
func (b *Broker) SubmitGroup(ctx context.Context, orders []order.Spec) ([]order.Report, error) {
	a, err := composeGroup(orders)
	if err != nil {
		return nil, venue.NotSent(err)
	}
	return post(ctx, b, orders[0], a, func(body []byte) ([]order.Report, error) { return groupReports(body, a.OrderClass, orders) })
}

// composeGroup writes a group down, or says what is wrong with it.
func composeGroup(orders []order.Spec) (ask, error) {
	if err := checkGroup(orders); err != nil {
		return ask{}, err
	}
	head, legs := orders[0], orders[1:]
	a := termsOf(head, true)
	switch {
	case head.Role != order.Entry:
		// The limit of the target is a term of the leg, as the venue documents it.
		a.OrderClass, a.LimitPrice, a.TakeProfit = classPair, "", &legTerm{LimitPrice: price(head.Price)}
	case len(legs) == 1:
		a.OrderClass = classOneLeg
	default:
		a.OrderClass = classBracket
	}
	for _, leg := range legs {
		term := &legTerm{StopPrice: price(leg.StopPrice)}
		if leg.Type == order.Limit {
			term.LimitPrice = price(leg.Price)
		}
		if leg.IsStop() {
			a.StopLoss = term
		} else {
			a.TakeProfit = term
		}
	}
	return a, nil
}

// checkGroup refuses orders that the venue does not take together.
func checkGroup(orders []order.Spec) error {
	for _, o := range orders {
		switch force := o.TimeInForce; {
		case isPair(o):
			return fault.New(fault.Unsupported, codeNotNative,
				"%s: alpaca has no pairs and no legs for crypto pairs; place a stop with a limit after the entry is filled", o.Symbol.Name).About("symbol", o.Symbol.Name, "a stock")
		case o.TrailPercent.IsPositive():
			return notNative("trail_percent", o.TrailPercent, "trailing leg; place it after the entry is filled, or give stop_loss")
		case force != 0 && force != forceOf(orders[0], true) && o.ID != orders[0].ID:
			return fault.Field("time_in_force", force.String(), "that of the entry: alpaca has one for the whole group")
		}
		if err := checkSpec(o, true); err != nil {
			return err
		}
	}
	return venue.CheckGroup(name, orders)
}

// groupReports reads the answer to a group: the parent with its legs, returned in the
// sequence of the orders, with our IDs.
func groupReports(body []byte, class string, orders []order.Spec) ([]order.Report, error) {
	t, err := readTicket(body)
	if err == nil {
		err = t.check(orders[0].Handle())
	}
	if err == nil && (t.class != class || len(t.legs) != len(orders)-1) {
		err = fmt.Errorf("it is of the class %q with %d legs", t.class, len(t.legs))
	}
	if err != nil {
		return nil, err
	}
	head := t.report()
	head.Owner, head.Group, head.SentAs = orders[0].Owner, orders[0].Group, sentAs(orders[0], true)
	reports := []order.Report{head}
	for _, o := range orders[1:] {
		leg, ok := t.leg(o)
		if err := leg.agrees(o); !ok || err != nil || leg.checkTerms(o) != nil || !leg.quantity.Equal(o.Quantity) {
			return nil, fmt.Errorf("the %s in it is not what was asked for", o.Role)
		}
		reports = append(reports, t.ownLeg(leg, o))
	}
	return reports, nil
}

// ownLeg returns the report of a leg of ours.
func (t ticket) ownLeg(leg ticket, o order.Spec) order.Report {
	r := t.legReport(leg)
	r.ID, r.Owner, r.Group = o.ID, o.Owner, o.Group
	return r
}

// leg returns the leg of the role of ours: the stop, or the target. One that was replaced
// gives way to the one that did so.
func (t ticket) leg(o order.Spec) (ticket, bool) {
	var found ticket
	for _, leg := range t.legs {
		if leg.isStop() == o.IsStop() && (found.id == "" || found.status == statusReplaced) {
			found = leg
		}
	}
	return found, found.id != ""
}

// isLeg reports whether an order of ours has an ID at the venue that the venue made up.
func isLeg(o order.Handle) bool { return o.ID != "" && o.Group.Name != "" && o.Group.Name != o.ID }

// queryLeg reads a leg through the order that it was sent with: no leg names it, and only it
// shows whether a leg that is held works.
func (b *Broker) queryLeg(ctx context.Context, o order.Handle) (order.Report, error) {
	head, err := b.head(ctx, o)
	if err != nil {
		return order.Report{}, err
	}
	leg, ok := head.leg(o.Spec)
	switch {
	case o.VenueID != "" && leg.id != o.VenueID:
		// It was replaced by hand: the other order is not ours.
		leg, err = b.byVenueID(ctx, o.Symbol.Name, o.VenueID)
	case !ok:
		err = upstream.MalformedResponse(name, o.Symbol.Name, fmt.Errorf("order %s has no %s", head.id, o.Role))
	case leg.status == statusReplaced:
		leg, err = b.successor(ctx, leg)
	}
	if err != nil {
		return order.Report{}, err
	}
	return owned(head.ownLeg(leg, o.Spec), o, leg.checkTerms(o.Spec))
}

// head reads the order that a leg was sent with, and its legs. If it was replaced by hand,
// they are those of the order that did so.
func (b *Broker) head(ctx context.Context, o order.Handle) (ticket, error) {
	first := order.Handle{Spec: order.Spec{ID: o.Group.Name, Symbol: o.Symbol}}
	t, err := b.find(ctx, first)
	if err != nil {
		return ticket{}, err
	}
	if t.clientID != o.Group.Name || t.symbol != o.Symbol {
		return ticket{}, upstream.MalformedResponse(name, o.Symbol.Name, fmt.Errorf("it is about the order %q", t.clientID))
	}
	if len(t.legs) == 0 && t.class != "" { // the venue documents legs for reads by its own id alone
		if t, err = b.byVenueID(ctx, o.Symbol.Name, t.id); err != nil {
			return ticket{}, err
		}
	}
	if len(t.legs) > 0 {
		return t, nil
	}
	return b.successor(ctx, t)
}

// successor returns the order that took the place of one that was replaced, or that order
// itself: a target that ended because its stop was reached names the stop.
func (b *Broker) successor(ctx context.Context, t ticket) (ticket, error) {
	for range maxReplacements {
		if t.status != statusReplaced || t.replacedBy == "" {
			break
		}
		next, err := b.byVenueID(ctx, t.symbol.Name, t.replacedBy)
		if err != nil {
			return ticket{}, err
		}
		if next.isStop() != t.isStop() || next.symbol != t.symbol {
			break
		}
		t = next
	}
	return t, nil
}

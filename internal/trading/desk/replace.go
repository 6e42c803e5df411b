package desk

import (
	"cmp"
	"slices"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// replacedOrders sets the open orders that end when one is replaced: its group, or itself. Of a leg it
// returns the line.
func (l *loop) replacedOrders(p *proposal, r order.Request) (line string, err error) {
	if r.Replaces == "" {
		return "", nil
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
		return "", e
	case old.External:
		return "", bad(fault.Unsupported, "external_order", "replaces: order %s was placed outside candela. Cancel it at %s. Nothing was done.", old.ID, old.Broker)
	case l.book.DeploymentOf(old) != r.Deployment:
		return "", bad(fault.Conflict, "deployment_order", "replaces: order %s %s. Nothing was done.", old.ID, l.whoseText(old))
	case old.Status.Final() && len(l.openExits(old)) > 0:
		legs := l.openExits(old)
		e := bad(fault.Conflict, "order_closed", "replaces: order %s is %v, and its %s can be replaced. Use replaces %s. Nothing was done.", old.ID, old.Status, names(legs), legs[0].ID)
		e.Suggestions = []string{legs[0].ID}
		return "", e
	case old.Status.Final():
		return "", bad(fault.Conflict, "order_closed", "replaces: order %s is %v. Place the order without replaces. Nothing was done.", old.ID, old.Status)
	case old.Status == order.PendingApproval:
		return "", bad(fault.Conflict, "order_closed", "replaces: order %s waits for the owner's approval and was not sent. Withdraw it with cancel_order, then place the new order without replaces. Nothing was done.", old.ID)
	case !venueAnswered(old) || old.Status == order.New || !old.CancelRequested.IsZero() || l.inFlight[old.ID]:
		return "", bad(fault.Conflict, "order_closed", "replaces: order %s is %v; wait until it is accepted. Nothing was done.", old.ID, old.Status)
	case old.Symbol != r.Symbol || old.Side != r.Spec("", "").Side:
		e := bad(fault.Invalid, "order_closed", "replaces: order %s is a %v of %v, this is a %v of %v. %s Nothing was done.", old.ID, old.Side, old.Symbol, r.Side, r.Symbol, others)
		e.Suggestions = candidates
		return "", e
	}
	group := slices.DeleteFunc(l.book.Group(old.Group.Name), func(o order.Order) bool { return o.Status.Final() })
	if len(group) == 0 {
		group = []order.Order{old}
	}
	if group[0].Role == order.Entry && old.ID != group[0].ID {
		return "", bad(fault.Conflict, "leg_of_pair", "replaces: order %s waits for its entry %s, which would end with it. Replace %s, with all its prices. Nothing was done.", old.ID, group[0].ID, group[0].ID)
	}
	if old.ReduceOnly && !r.ReduceOnly {
		return "", bad(fault.Invalid, "reduce_only", "replaces: order %s protects a position, and this order may open one. Say reduce_only true, or omit replaces. Nothing was done.", old.ID)
	}
	if old.ReduceOnly && slices.ContainsFunc(l.book.Lines(r.Symbol), func(line order.Line) bool { return line.ID == old.Line() }) {
		return old.Line(), nil
	}
	p.ends = group
	return "", nil
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
		if o.Symbol == r.Symbol && o.Side == r.Spec("", "").Side && !o.External && l.book.DeploymentOf(o) == r.Deployment && !l.waitsForEntry(o) && len(found) < maxCandidates {
			found = append(found, o)
			ids = append(ids, o.ID)
		}
	}
	if len(found) == 0 {
		return nil, "No open order can be replaced by this one; omit replaces."
	}
	return ids, "Open orders that it can replace: " + names(found) + "."
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

// released returns the IDs of the orders that were cancelled because they hold what an order
// closes, or had other prices.
func (l *loop) released(o order.Order) []string {
	if !o.ReduceOnly || o.Replaces != "" {
		return nil
	}
	var ids []string
	for _, other := range l.book.EndedFor(o.ID) {
		if !other.CancelRequested.IsZero() || other.Status.Final() {
			ids = append(ids, other.ID)
		}
	}
	return ids
}

package desk

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// legsOf returns the orders of a line: a stop, a target, or both; with a role the order that closes it
// now.
func (l *loop) legsOf(s market.Symbol, c order.Cover, quantity decimal.Decimal, exit order.Role) []order.Origin {
	r := order.Request{Symbol: s, Side: c.Side.Opposite(), Type: order.Market, Quantity: quantity, ReduceOnly: true, Protect: c.Want}
	if slices.Contains(l.capabilities[s].Times, order.GTC) {
		r.TimeInForce = order.GTC
	}
	if exit != 0 {
		r.Protect, r.TimeInForce = order.Protection{}, 0
		limit := c.Want.StopLossLimit
		if exit == order.TakeProfit {
			limit = c.Protect.TakeProfit
		}
		if limit.IsPositive() && exit != order.Exit {
			r.Type, r.Price = order.Limit, limit
		}
	}
	g := order.Origin{Spec: r.Spec(id.New(l.cfg.Now()), l.cfg.Owner), Broker: l.cfg.Broker.Name(), Mode: l.cfg.Broker.Mode(), Client: "candela", Parent: c.ID, Deployment: c.Deployment}
	if exit != 0 {
		g.Role = exit
	} else if _, held := l.takes(s, c.Line); held {
		g.Holder = order.HolderCandela
	}
	return l.goOn(l.withLegs(g), c.Best)
}

// placeFor records and sends the orders of a line, in parts that the venue takes. The rules do not judge them: they only
// close what is held.
func (l *loop) placeFor(s market.Symbol, c order.Cover, quantity decimal.Decimal, exit order.Role) {
	parts := l.stopParts(s, c.Want, quantity)
	if exit != 0 {
		parts = l.inParts(s, quantity)
	}
	for i, part := range parts {
		if i > 0 && exit == 0 && l.fullFor(s, c) || !l.placePart(s, c, part, exit) {
			return
		}
	}
}

// placePart records and sends orders for a part of a line, and reports whether it could.
func (l *loop) placePart(s market.Symbol, c order.Cover, quantity decimal.Decimal, exit order.Role) bool {
	now, orders := l.now(), l.legsOf(s, c, quantity, exit)
	t := l.send(l.systemCaller(), orders, nil, now)
	if t.err != nil {
		l.logUnsaved("protection could not be placed", t.err, "line", c.ID)
		return false
	}
	l.setWaiters(orders[0].ID, nil) // nothing waits for it
	l.followFrom(t.order.Order, c.Best)
	l.cfg.Log.WarnContext(l.drainCtx, "protection placed", "line", c.ID, "order", orders[0].ID, "quantity", quantity.String(), "stop", c.Want.StopLoss.String(), "sold", exit != 0, "unprotected_for", now.Sub(l.protector.since[c.ID]).String())
	return true
}

// missingLegs returns the orders that the plan of a symbol asks for and that no order is in place of,
// once some have ended.
func (l *loop) missingLegs(s market.Symbol, ended []string) [][]order.Origin {
	var all [][]order.Origin
	free := l.freeUnits(s, ended...)
	covers, _ := l.covers(s)
	for _, c := range covers {
		can, held := l.takes(s, c.Line)
		quantity := order.RoundDown(decimal.Min(l.due(s, c), free), l.instruments[s].Step)
		if held || c.Fills || c.Waits && !l.waitsOnlyFor(c, ended) || !quantity.IsPositive() || l.stopPassed(s, c) || l.sellsAtTarget(s, c.Line) || l.notTaken(s, c, can, held) != "" {
			continue
		}
		free = free.Sub(quantity)
		for _, part := range l.stopParts(s, c.Want, quantity) {
			all = append(all, l.legsOf(s, c, part, 0))
		}
	}
	return all
}

// waitsOnlyFor reports whether the answers that a line waits for are about orders that end.
func (l *loop) waitsOnlyFor(c order.Cover, ended []string) bool {
	return !slices.ContainsFunc(c.Legs, func(o order.Order) bool {
		return (o.NeedsQuery() || l.inFlight[o.ID]) && !slices.Contains(ended, o.ID)
	})
}

// due returns how much of a line lacks its orders, as far as they can be placed.
func (l *loop) due(s market.Symbol, c order.Cover) decimal.Decimal {
	return l.placeable(s, c, c.Lacks)
}

// tooSmall reports whether a line is for less than the venue trades. Orders that it has stay, whatever their
// prices: nothing can take their place.
func (l *loop) tooSmall(s market.Symbol, c order.Cover) bool {
	return !l.placeable(s, c, c.Quantity).IsPositive()
}

// placeable returns a quantity of a line's orders, on the step of the venue's quantities. It is zero if that is
// less than the venue trades: it cannot be sold either.
func (l *loop) placeable(s market.Symbol, c order.Cover, quantity decimal.Decimal) decimal.Decimal {
	inst, price := l.instruments[s], c.Want.StopLoss
	if q, ok := l.cfg.Market.LastQuote(s); ok && price.IsZero() {
		price = q.Last
	}
	quantity = order.RoundDown(quantity, l.legStep(s, c.Line))
	if quantity.LessThan(inst.MinQuantity) || price.IsPositive() && quantity.Mul(price).LessThan(inst.MinNotional) {
		return decimal.Zero
	}
	return quantity
}

// legStep returns the step of the quantities of a line's orders.
func (l *loop) legStep(s market.Symbol, line order.Line) decimal.Decimal {
	step := l.instruments[s].Step
	if can, _ := l.takes(s, line); can.WholeLegs {
		return decimal.Max(step, decimal.NewFromInt(1))
	}
	return step
}

// protectable returns how much of what is due can get its orders, and why it is less.
func (l *loop) protectable(s market.Symbol, c order.Cover) (quantity decimal.Decimal, problem string) {
	due := l.due(s, c)
	free := decimal.Max(l.freeUnits(s, orderIDs(c.Wrong)...), decimal.Zero)
	quantity = order.RoundDown(decimal.Min(due, free), l.legStep(s, c.Line))
	if quantity.LessThan(due) {
		problem = fmt.Sprintf("other orders hold %v of it", due.Sub(quantity))
	}
	return quantity, problem
}

// orderIDs returns the IDs of orders.
func orderIDs(orders []order.Order) []string {
	ids := make([]string, 0, len(orders))
	for _, o := range orders {
		ids = append(ids, o.ID)
	}
	return ids
}

// freeUnits returns how much of a position no open order would close, without some that end, and no ended
// one has closed by fills that are not known yet.
// Orders of a group that exclude each other count once, and legs whose entry is open do not count. It
// is negative if they would close more than is held.
func (l *loop) freeUnits(s market.Symbol, without ...string) decimal.Decimal {
	held := l.book.Position(s).Held(l.instruments[s].Base)
	free, claims := held.Abs(), make(map[string]decimal.Decimal)
	for _, o := range l.book.Open() {
		if slices.Contains(without, o.ID) || o.Symbol != s || held.Sign() != -int(o.Side.Sign()) || o.Status == order.New || o.Status == order.PendingApproval || l.waitsForEntry(o) {
			continue
		}
		if o.Group.Name == "" {
			free = free.Sub(o.Remaining())
			continue
		}
		claims[o.Group.Name] = decimal.Max(claims[o.Group.Name], o.Remaining())
	}
	for _, o := range l.book.Unreported(s) {
		if held.Sign() == -int(o.Side.Sign()) {
			free = free.Sub(o.Remaining())
		}
	}
	for _, claim := range claims {
		free = free.Sub(claim)
	}
	return free
}

// stopsAtVenue counts the stops that the venue has in a symbol.
func (l *loop) stopsAtVenue(s market.Symbol) int {
	n := 0
	for _, o := range l.book.Open() {
		if o.Symbol == s && o.IsStop() && !o.Local() && o.Status != order.New && o.Status != order.PendingApproval {
			n++
		}
	}
	return n
}

// waitsForEntry reports whether an order is a leg of an entry that is open.
func (l *loop) waitsForEntry(o order.Order) bool {
	if !o.Group.Leg || o.External || o.Local() && !o.Waiting || o.Status == order.Accepted || o.Status == order.PartiallyFilled {
		return false
	}
	entry, ok := l.book.Order(o.Group.Name)
	return ok && !entry.Status.Final()
}

// restExits makes targets of what is left of exits that wait for their price in the book: while they do,
// the part that they are to close keeps its stop.
func (l *loop) restExits(s market.Symbol, now time.Time) {
	for _, o := range l.book.Closing(s) {
		if l.changing(s) != "" || !l.rests(o, now) {
			continue
		}
		owner := l.book.DeploymentOf(o)
		lines := order.Rest(l.lines(s), o, owner, l.book.Bare(s, owner), func(line string) string { return id.Derived("rest", o.ID, line) })
		if err := l.requestCancelWith(l.systemCaller(), lines, o.ID, o); err != nil {
			l.cfg.Log.WarnContext(l.drainCtx, "an exit that waits could not become a target", "order", o.ID, "error", err)
		}
	}
}

// rests reports whether an exit waits for its price in the book. One at a price that the market has
// passed is about to trade.
func (l *loop) rests(o order.Order, now time.Time) bool {
	if q, ok := l.cfg.Market.LastQuote(o.Symbol); ok && o.Price.Cmp(q.Last) != -int(o.Side.Sign()) {
		return false
	}
	works := o.Status == order.Accepted || o.Status == order.PartiallyFilled
	return works && o.Type == order.Limit && o.TimeInForce != order.IOC && o.TimeInForce != order.FOK && !l.inFlight[o.ID] && now.Sub(o.Updated) >= restGrace
}

// restGrace is how long an exit at a limit may take to trade.
const restGrace = time.Second

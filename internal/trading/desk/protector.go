package desk

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/kit/retry"
	"candela/internal/market"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// protector compares the plans of positions with the orders that protect them, after every change
// and on every tick. It keeps only when it may act again: what is to be done follows from the book,
// so a restart repeats nothing.
type protector struct {
	changed bool                 // something was committed since the last comparison
	since   map[string]time.Time // by line: when a part of it was first seen without its stop
	tries   map[string]*attempts // by line: of orders and cancels
	dust    map[string]order.Gap // by line: what is too small for a stop, as it was logged
	gaps    gaps                 // what the last comparison found
	passed  map[string]bool      // by line: the price passed its stop while it had none
	bare    []order.Order        // the stops that lines lack, as prices to watch
	started bool                 // a comparison was made since the start
}

// protectChanged compares protection if anything has changed.
func (l *loop) protectChanged() {
	if !l.protector.changed || !l.reconciliation.succeededOnce || l.reload != nil || l.stopping || l.fenced != nil {
		return
	}
	l.protector.changed = false
	l.planOld()
	l.advanceDeferred()
	now, bare, found := l.now(), make(map[string]string), make(gaps)
	seen := make(map[string]bool)
	var lacking []order.Order
	for _, s := range l.book.Planned() {
		l.restExits(s, now)
		covers, orphans := l.covers(s)
		for _, c := range covers {
			seen[c.ID] = true
			if c.Lacks.IsPositive() && c.Protect.HasStop() && !c.Fills {
				lacking = append(lacking, lackedStop(s, c))
			}
			gap, late := l.protect(s, c, now)
			if gap.Quantity.IsPositive() {
				found[s] = append(found[s], gap)
			}
			if late {
				bare[s.String()] = fmt.Sprintf("%v of %v, line %s, has no stop: %s", gap.Quantity, s, c.ID, gap.Reason)
			}
		}
		if gap, late := l.setApart(s, now); gap.Quantity.IsPositive() {
			found[s] = append(found[s], gap)
			if late {
				bare[s.String()] = fmt.Sprintf("%v of %v has no stop: %s", gap.Quantity, s, gap.Reason)
			}
		}
		l.endOrphans(orphans, seen, now)
	}
	for s, why := range l.missedSymbols() {
		bare[s.String()] = why
	}
	gone := func(key string) bool { return !seen[strings.TrimPrefix(key, excessKey)] }
	maps.DeleteFunc(l.protector.since, func(id string, _ time.Time) bool { return gone(id) })
	maps.DeleteFunc(l.protector.tries, func(id string, _ *attempts) bool { return gone(id) })
	maps.DeleteFunc(l.protector.dust, func(id string, _ order.Gap) bool { return !seen[id] })
	maps.DeleteFunc(l.protector.passed, func(id string, _ bool) bool { return !seen[id] })
	l.protector.started = true
	l.watchLacking(lacking)
	l.showGaps(found)
	for subject, why := range bare {
		l.restrict(l.systemCaller(), guard.Restriction{Kind: guard.Unprotected, Subject: subject, Reason: why})
	}
	for _, r := range l.state.Restrictions {
		if r.Kind == guard.Unprotected && bare[r.Subject] == "" {
			l.liftRestriction(r.Kind, r.Subject)
		}
	}
}

// planOld records a plan for symbols of an account that was written before there were plans.
func (l *loop) planOld() {
	for _, s := range l.book.Unplanned() {
		e := order.Planned(s, l.book.OldPlan(s))
		e.At = l.now()
		if l.commit(l.systemCaller(), e) != nil {
			return // the next tick repeats it
		}
	}
}

// covers compares the plan of a symbol with its orders.
func (l *loop) covers(s market.Symbol) (covers []order.Cover, orphans []order.Order) {
	want := func(line order.Line) order.Protection {
		line.Best = l.best(line)
		return l.want(s, line)
	}
	covers, orphans = l.book.Covers(s, want, func(id string) bool { return l.inFlight[id] || l.polls[id] != nil })
	for i := range covers {
		covers[i].Best = l.best(covers[i].Line)
	}
	return covers, orphans
}

func (l *loop) forgetLine(id string) {
	delete(l.protector.since, id)
	delete(l.protector.tries, id)
}

// protect does what a line needs. It returns what has no stop, and whether that has been so for
// longer than the policy's grace.
func (l *loop) protect(s market.Symbol, c order.Cover, now time.Time) (gap order.Gap, late bool) {
	l.endExcess(s, c, now)
	quantity, limit := l.protectable(s, c)
	if !quantity.IsPositive() && limit == "" {
		l.endWrong(s, c, now)
		return l.noteDust(s, c, now), false
	}
	delete(l.protector.dust, c.ID)
	since, known := l.protector.since[c.ID]
	if !known {
		since = now
		if ended := c.Newest; !l.protector.started && ended.Status.Final() {
			since = ended.Updated // before the restart
		}
		l.protector.since[c.ID] = since
	}
	late = now.Sub(since) >= l.cfg.Policy.UnprotectedGrace
	switch {
	case c.Fills:
		limit = cmp.Or(limit, "its entry is still being filled")
	case !c.Waits && l.changing(s) == "":
		limit = l.reprotect(s, c, quantity, limit, late, now)
	}
	if !c.Protect.HasStop() {
		return order.Gap{}, false // a target alone protects nothing
	}
	return order.Gap{Quantity: c.Lacks, Reason: cmp.Or(limit, "a stop is being placed"), Since: since}, late
}

// endWrong cancels orders that protect a line and are not what it asks for, such as a stop without its
// target. The venue may be about to report more of them.
func (l *loop) endWrong(s market.Symbol, c order.Cover, now time.Time) {
	if len(c.Wrong) == 0 {
		l.forgetLine(c.ID)
		return
	}
	since, known := l.protector.since[c.ID]
	if !known {
		l.protector.since[c.ID] = now
	}
	if known && now.Sub(since) >= orphanGrace && !c.Waits && !c.Fills && l.changing(s) == "" && l.haltAllowsProtection() && l.mayTry(c.ID, now) {
		_ = l.requestCancel(l.systemCaller(), c.ID, l.cancelledFirst(c.Wrong)...) // the next attempt repeats it
	}
}

// mayTry reports whether the line's turn has come, and sets the next.
func (l *loop) mayTry(line string, now time.Time) bool {
	t := l.protector.tries[line]
	if t == nil {
		t = &attempts{}
		l.protector.tries[line] = t
	}
	if now.Before(t.next) {
		return false
	}
	t.failed(now, retry.Backoff{First: time.Second, Max: time.Minute})
	return true
}

// endOrphans cancels the orders that no line asks for, such as the legs of an entry that ended without
// a fill. The venue ends most of them by itself.
func (l *loop) endOrphans(orphans []order.Order, seen map[string]bool, now time.Time) {
	left := slices.DeleteFunc(orphans, func(o order.Order) bool {
		key := o.Line()
		seen[key] = true
		since, known := l.protector.since[key]
		if !known {
			l.protector.since[key] = now
			since = now
		}
		return o.NeedsQuery() || l.inFlight[o.ID] || o.Status == order.New || now.Sub(since) < orphanGrace
	})
	for _, o := range l.cancelledFirst(left) {
		if l.mayTry(o.Line(), now) {
			_ = l.requestCancel(l.systemCaller(), o.Line(), o) // the next attempt repeats it
		}
	}
}

// orphanGrace is how long the venue may take to end the orders of a line by itself.
const orphanGrace = 5 * time.Second

// protectable returns how much can get a stop, on the venue's step, and why it is less than
// what is due. Less than the venue trades is zero without a reason: it cannot be sold either.
func (l *loop) protectable(s market.Symbol, c order.Cover) (quantity decimal.Decimal, problem string) {
	inst, step := l.instruments[s], l.instruments[s].Step
	if can, _ := l.takes(s, c.Line); can.WholeLegs {
		step = decimal.Max(step, decimal.NewFromInt(1))
	}
	due := order.RoundDown(c.Lacks, step)
	price := c.Want.StopLoss
	if q, ok := l.cfg.Market.LastQuote(s); ok && price.IsZero() {
		price = q.Last
	}
	if !due.IsPositive() || due.LessThan(inst.MinQuantity) || price.IsPositive() && due.Mul(price).LessThan(inst.MinNotional) {
		return decimal.Zero, ""
	}
	quantity = order.RoundDown(decimal.Min(due, decimal.Max(l.freeUnits(s, c.Wrong...), decimal.Zero)), step)
	if quantity.LessThan(due) {
		problem = fmt.Sprintf("other orders hold %v of it", due.Sub(quantity))
	}
	return quantity, problem
}

// freeUnits returns how much of a position no open order would close, without some that end.
// Orders of a group that exclude each other count once, and legs whose entry is open do not count. It
// is negative if they would close more than is held.
func (l *loop) freeUnits(s market.Symbol, without ...order.Order) decimal.Decimal {
	held := l.book.Position(s).Held(l.instruments[s].Base)
	free, claims := held.Abs(), make(map[string]decimal.Decimal)
	for _, o := range l.book.Open() {
		ends := slices.ContainsFunc(without, func(other order.Order) bool { return other.ID == o.ID })
		if ends || o.Symbol != s || held.Sign() != -int(o.Side.Sign()) || o.Status == order.New || o.Status == order.PendingApproval || l.waitsForEntry(o) {
			continue
		}
		if o.Group.Name == "" {
			free = free.Sub(o.Remaining())
			continue
		}
		claims[o.Group.Name] = decimal.Max(claims[o.Group.Name], o.Remaining())
	}
	for _, claim := range claims {
		free = free.Sub(claim)
	}
	return free
}

// endExcess cancels the orders of a line that would close more than it is for, as after a sale
// elsewhere. What is held then gets orders of its size. A venue that makes a stop smaller as its
// target is filled may report that a moment later.
func (l *loop) endExcess(s market.Symbol, c order.Cover, now time.Time) {
	key := excessKey + c.ID
	switch {
	case !c.Over.IsPositive() || c.Fills:
		l.forgetLine(key)
		return
	case c.Waits || l.changing(s) != "" || !l.closesTooMuch(s, c.Side):
		delete(l.protector.since, key)
		return
	}
	if _, known := l.protector.since[key]; !known {
		l.protector.since[key] = now
	}
	if now.Sub(l.protector.since[key]) >= l.cfg.Policy.UnprotectedGrace && l.mayTry(key, now) {
		_ = l.requestCancel(l.systemCaller(), c.ID, l.cancelledFirst(c.Legs)...) // the next attempt repeats it
	}
}

// closesTooMuch reports whether open orders would close more than is held of a symbol. With
// nothing held on a side, its exits would open a position.
func (l *loop) closesTooMuch(s market.Symbol, side order.Side) bool {
	held := l.book.Position(s).Held(l.instruments[s].Base)
	return held.Sign() != int(side.Sign()) || l.freeUnits(s).IsNegative()
}

// excessKey is before the ID of a line whose orders close too much: these cancels have pauses
// of their own, since a line that lacks no stop is forgotten.
const excessKey = "over "

// waitsForEntry reports whether an order is a leg of an entry that is open.
func (l *loop) waitsForEntry(o order.Order) bool {
	if !o.Group.Leg || o.External || o.Local() && !o.Waiting || o.Status == order.Accepted || o.Status == order.PartiallyFilled {
		return false
	}
	entry, ok := l.book.Order(o.Group.Name)
	return ok && !entry.Status.Final()
}

// reprotect gives a line the orders that it lacks: it cancels those with other prices and places what
// the plan asks for. What the price has passed is sold as the stop would have sold it. Where the venue
// refused the stop, the policy decides. It returns what is in the way.
func (l *loop) reprotect(s market.Symbol, c order.Cover, quantity decimal.Decimal, problem string, late bool, now time.Time) string {
	can, held := l.takes(s, c.Line)
	if _, known := l.capabilities[s]; !known {
		return "it is not known which orders " + l.cfg.Broker.Name() + " takes in " + s.Name
	}
	refused := cmp.Or(c.Newest.Refused(), l.notTaken(s, c, can, held))
	if c.Newest.Status == order.Rejected && refused == "" {
		problem = tryAgain(c.Newest.Reason)
	}
	if held && refused != "" {
		problem, refused = refused, "" // candela tries again: the price has reached it
	}
	passed := !held && l.stopPassed(s, c)
	var exit order.Role
	switch {
	case passed:
		exit = order.StopLoss
	case refused != "" && late && l.cfg.Policy.OnUnprotected == guard.UnprotectedExit:
		exit = order.Exit
	}
	full := !held && can.MaxStops > 0 && c.Want.HasStop() && l.stopsAtVenue(s, c.Wrong...) >= can.MaxStops
	switch {
	case refused != "" && exit == 0:
		return refused
	case !l.haltAllowsProtection():
		return "trading is halted"
	case full && exit == 0 && len(c.Wrong) == 0:
		return fmt.Sprintf("%s holds %d stops in %s at a time, and all are in use", l.cfg.Broker.Name(), can.MaxStops, s.Name)
	case len(c.Wrong) == 0 && !quantity.IsPositive() || !l.mayTry(c.ID, now):
		return problem
	case len(c.Wrong) > 0:
		if err := l.requestCancel(l.systemCaller(), c.ID, l.cancelledFirst(c.Wrong)...); err != nil {
			l.cfg.Log.WarnContext(l.drainCtx, "cancel of an order with other prices failed", "order", c.Wrong[0].ID, "error", err)
		}
		return problem
	}
	l.placeFor(s, c, quantity, exit)
	return problem
}

// stopsAtVenue counts the stops that the venue has in a symbol, without some that end.
func (l *loop) stopsAtVenue(s market.Symbol, without ...order.Order) int {
	n := 0
	for _, o := range l.book.Open() {
		ends := slices.ContainsFunc(without, func(other order.Order) bool { return other.ID == o.ID })
		if o.Symbol == s && o.IsStop() && !o.Local() && !ends && o.Status != order.New && o.Status != order.PendingApproval {
			n++
		}
	}
	return n
}

// restExits makes targets of what is left of exits that wait for their price in the book: while they do,
// the part that they are to close keeps its stop. One at a price that the market has passed is about to
// trade.
func (l *loop) restExits(s market.Symbol, now time.Time) {
	q, priced := l.cfg.Market.LastQuote(s)
	for _, o := range l.book.Open() {
		if priced && o.Price.Cmp(q.Last) != -int(o.Side.Sign()) || o.Symbol != s || !l.book.IsExit(o) || o.Type != order.Limit || o.Status != order.Accepted && o.Status != order.PartiallyFilled ||
			o.TimeInForce == order.IOC || o.TimeInForce == order.FOK || l.inFlight[o.ID] || now.Sub(o.Updated) < restGrace || l.changing(s) != "" {
			continue
		}
		lines := order.Rest(l.lines(s), o, l.book.Bare(s), func(line string) string { return id.Derived("rest", o.ID, line) })
		if err := l.requestCancelWith(l.systemCaller(), lines, o.ID, o); err != nil {
			l.cfg.Log.WarnContext(l.drainCtx, "an exit that waits could not become a target", "order", o.ID, "error", err)
		}
	}
}

// restGrace is how long an exit at a limit may take to trade.
const restGrace = time.Second

// legsOf returns the orders of a line: a stop, a target, or both; with a role the order that closes it
// now.
func (l *loop) legsOf(s market.Symbol, c order.Cover, quantity decimal.Decimal, exit order.Role) []order.Origin {
	r := order.Request{Symbol: s, Side: c.Side.Opposite(), Type: order.Market, Quantity: quantity, ReduceOnly: true, Protect: c.Want}
	if slices.Contains(l.capabilities[s].Times, order.GTC) {
		r.TimeInForce = order.GTC
	}
	if exit != 0 {
		r.Protect, r.TimeInForce = order.Protection{}, 0
		if limit := c.Want.StopLossLimit; limit.IsPositive() && exit == order.StopLoss {
			r.Type, r.Price = order.Limit, limit
		}
	}
	g := order.Origin{Spec: r.Spec(id.New(l.cfg.Now()), l.cfg.Owner), Broker: l.cfg.Broker.Name(), Mode: l.cfg.Broker.Mode(), Client: "candela", Parent: c.ID}
	if exit != 0 {
		g.Role = exit
	} else if _, held := l.takes(s, c.Line); held {
		g.Holder = order.HolderCandela
	}
	return l.goOn(l.withLegs(g), c.Best)
}

// placeFor records and sends the orders of a line. The rules do not judge them: they only close what
// is held.
func (l *loop) placeFor(s market.Symbol, c order.Cover, quantity decimal.Decimal, exit order.Role) {
	now, orders := l.now(), l.legsOf(s, c, quantity, exit)
	t := l.send(l.systemCaller(), orders, nil, now)
	if t.err != nil {
		l.cfg.Log.ErrorContext(l.drainCtx, "protection could not be placed", "line", c.ID, "error", t.err)
		return
	}
	l.setWaiters(orders[0].ID, nil) // nothing waits for it
	l.followFrom(t.order.Order, c.Best)
	l.cfg.Log.WarnContext(l.drainCtx, "protection placed", "line", c.ID, "order", orders[0].ID, "quantity", quantity.String(), "stop", c.Want.StopLoss.String(), "sold", exit != 0, "unprotected_for", now.Sub(l.protector.since[c.ID]).String())
}

// missingLegs returns the orders that the plan of a symbol asks for and that no order is in place of,
// once some have ended.
func (l *loop) missingLegs(s market.Symbol, ended []order.Order) [][]order.Origin {
	var all [][]order.Origin
	free := l.freeUnits(s, ended...)
	covers, _ := l.covers(s)
	for _, c := range covers {
		can, held := l.takes(s, c.Line)
		quantity := order.RoundDown(decimal.Min(c.Lacks, free), l.instruments[s].Step)
		if most, _ := l.protectable(s, c); c.Fills || c.Waits && !l.onlyEnds(c, ended) || held || !quantity.IsPositive() || l.stopPassed(s, c) || l.notTaken(s, c, can, held) != "" || most.IsZero() && len(ended) == 0 {
			continue
		}
		free = free.Sub(quantity)
		all = append(all, l.legsOf(s, c, quantity, 0))
	}
	return all
}

// onlyEnds reports whether the answers that a line waits for are about orders that end.
func (l *loop) onlyEnds(c order.Cover, ended []order.Order) bool {
	return !slices.ContainsFunc(c.Legs, func(o order.Order) bool {
		return (o.NeedsQuery() || l.inFlight[o.ID]) && !slices.ContainsFunc(ended, func(e order.Order) bool { return e.ID == o.ID })
	})
}

// haltAllowsProtection reports whether orders that protect a position may be sent: an owner's
// halt keeps them, unless it was for all orders. No other halt does.
func (l *loop) haltAllowsProtection() bool {
	return !slices.ContainsFunc(l.state.Restrictions, func(r guard.Restriction) bool {
		return r.Halts() && (r.Kind != guard.OwnerHalt && r.Kind != guard.HostHalt || r.All)
	})
}

// mayProtect reports whether an order of the desk's own may be sent during a halt.
func (l *loop) mayProtect(o order.Order) bool {
	return (o.Parent != "" && o.ReduceOnly && o.ByDesk() || o.Fired) && l.haltAllowsProtection()
}

package desk

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/retry"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
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

// comparison is what one comparison of plans with orders found.
type comparison struct {
	now     time.Time
	seen    map[string]bool   // the lines, and those of orders that no line asks for
	lacking []order.Order     // the stops that lines lack, as prices to watch
	gaps    gaps              // what has no stop
	late    map[string]string // by symbol: what has had none for longer than the policy's grace
}

// protectChanged compares protection if anything has changed.
func (l *loop) protectChanged() {
	if !l.protector.changed || !l.reconciliation.succeededOnce || l.reload != nil || l.stopping || l.fenced != nil {
		return
	}
	l.protector.changed = false
	l.planOld()
	l.advanceDeferred()
	found := &comparison{now: l.now(), seen: make(map[string]bool), gaps: make(gaps), late: make(map[string]string)}
	for _, s := range l.book.Planned() {
		l.restExits(s, found.now)
		l.compare(s, found)
	}
	for s, why := range l.missedSymbols() {
		found.late[s.String()] = why
	}
	l.forgetUnseen(found.seen)
	l.protector.started = true
	l.watchLacking(found.lacking)
	l.showGaps(found.gaps)
	l.restrictFor(guard.Unprotected, found.late)
	l.reportState()
}

// compare compares the plan of a symbol with its orders, and does what its lines need.
func (l *loop) compare(s market.Symbol, found *comparison) {
	covers, orphans := l.covers(s)
	for _, c := range covers {
		found.seen[c.ID] = true
		if c.Lacks.IsPositive() && c.Protect.HasStop() && !c.Fills {
			found.lacking = append(found.lacking, l.lackedStop(s, c))
		}
		gap, late := l.protect(s, c, found.now)
		found.add(s, ", line "+c.ID+",", gap, late)
	}
	gap, late := l.setApart(s, found.now)
	found.add(s, "", gap, late)
	l.endOrphans(orphans, found)
}

// add notes what has no stop. part names it, if it is not the whole position.
func (c *comparison) add(s market.Symbol, part string, gap order.Gap, late bool) {
	if !gap.Quantity.IsPositive() {
		return
	}
	c.gaps[s] = append(c.gaps[s], gap)
	if late {
		c.late[s.String()] = fmt.Sprintf("%v of %v%s has no stop: %s", gap.Quantity, s, part, gap.Reason)
	}
}

// forgetUnseen forgets the lines that have ended.
func (l *loop) forgetUnseen(seen map[string]bool) {
	gone := func(key string) bool { return !seen[key[strings.LastIndexByte(key, ' ')+1:]] }
	maps.DeleteFunc(l.protector.since, func(key string, _ time.Time) bool { return gone(key) })
	maps.DeleteFunc(l.protector.tries, func(key string, _ *attempts) bool { return gone(key) })
	maps.DeleteFunc(l.protector.dust, func(key string, _ order.Gap) bool { return gone(key) })
	maps.DeleteFunc(l.protector.passed, func(key string, _ bool) bool { return gone(key) })
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

// forgetLine forgets when something of a line was first seen, and what was tried.
func (l *loop) forgetLine(id string) {
	delete(l.protector.since, id)
	l.forgetTries(id)
}

// forgetTries lets orders be cancelled and placed for a line without a pause.
func (l *loop) forgetTries(id string) {
	delete(l.protector.tries, id)
	delete(l.protector.tries, wrongKey+id)
}

// protect does what a line needs. It returns what has no stop, and whether that has been so for
// longer than the policy's grace.
func (l *loop) protect(s market.Symbol, c order.Cover, now time.Time) (gap order.Gap, late bool) {
	l.endExcess(s, c, now)
	quantity, limit := l.protectable(s, c)
	if !quantity.IsPositive() && limit == "" {
		if !l.tooSmall(s, c) {
			l.endWrong(s, c, now)
		}
		return l.noteDust(s, c, now), false
	}
	delete(l.protector.dust, c.ID)
	first := now
	if ended := c.Newest; !l.protector.started && ended.Status.Final() {
		first = ended.Updated // before the restart
	}
	since := l.since(c.ID, first)
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
	late := now.Sub(l.since(c.ID, now)) >= orphanGrace
	if late && !c.Waits && !c.Fills && l.changing(s) == "" && l.haltAllowsProtection() && l.mayTry(wrongKey+c.ID, now) {
		_ = l.requestCancel(l.systemCaller(), c.ID, l.cancelledFirst(c.Wrong)...) // the next attempt repeats it
	}
}

// wrongKey is before the ID of a line whose orders have other prices: these cancels have pauses of their own,
// so that what takes their place is sent with the answer.
const wrongKey = "wrong "

// since returns when something of a line was first seen, which is now if it was not.
func (l *loop) since(line string, now time.Time) time.Time {
	if _, known := l.protector.since[line]; !known {
		l.protector.since[line] = now
	}
	return l.protector.since[line]
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
func (l *loop) endOrphans(orphans []order.Order, found *comparison) {
	left := slices.DeleteFunc(orphans, func(o order.Order) bool {
		found.seen[o.Line()] = true
		since := l.since(o.Line(), found.now)
		return o.NeedsQuery() || l.inFlight[o.ID] || o.Status == order.New || found.now.Sub(since) < orphanGrace
	})
	for _, o := range l.cancelledFirst(left) {
		if l.mayTry(o.Line(), found.now) {
			_ = l.requestCancel(l.systemCaller(), o.Line(), o) // the next attempt repeats it
		}
	}
}

// orphanGrace is how long the venue may take to end the orders of a line by itself.
const orphanGrace = 5 * time.Second

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
	if now.Sub(l.since(key, now)) >= l.cfg.Policy.UnprotectedGrace && l.mayTry(key, now) {
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

// reprotect gives a line the orders that it lacks: it cancels those with other prices and places what
// the plan asks for. What the price has passed is sold as the stop would have sold it. Where the venue
// refused the stop, the policy decides. It returns what is in the way.
func (l *loop) reprotect(s market.Symbol, c order.Cover, quantity decimal.Decimal, problem string, late bool, now time.Time) string {
	if _, known := l.capabilities[s]; !known {
		return "it is not known which orders " + l.cfg.Broker.Name() + " takes in " + s.Name
	}
	if l.fullFor(s, c) && len(c.Wrong) == 0 && l.fitsOne(s, c.Line) {
		c.Wrong = inOne(c)
	}
	refused, problem := l.refusal(s, c, problem)
	exit := l.exitRole(s, c, refused != "" && late)
	if obstacle := l.obstacle(s, c, refused); obstacle != "" && exit == 0 {
		return obstacle
	}
	if !l.haltAllowsProtection() {
		return "trading is halted"
	}
	switch {
	case len(c.Wrong) > 0 && l.mayTry(wrongKey+c.ID, now):
		if err := l.requestCancel(l.systemCaller(), c.ID, l.cancelledFirst(c.Wrong)...); err != nil {
			l.cfg.Log.WarnContext(l.drainCtx, "cancel of an order with other prices failed", "order", c.Wrong[0].ID, "error", err)
		}
	case len(c.Wrong) == 0 && quantity.IsPositive() && l.mayTry(c.ID, now):
		l.placeFor(s, c, quantity, exit)
	}
	return problem
}

// refusal returns why the venue does not take the stop of a line, "" if it does, and what else is in the
// way. What candela holds is tried again: the price has reached it. So is a target without a stop: no
// restriction would say that it is missing.
func (l *loop) refusal(s market.Symbol, c order.Cover, problem string) (refused, other string) {
	can, held := l.takes(s, c.Line)
	refused = cmp.Or(c.Newest.Refused(), l.notTaken(s, c, can, held))
	switch {
	case refused != "" && (held || !c.Want.HasStop()):
		return "", refused
	case refused == "" && c.Newest.Status == order.Rejected:
		return "", tryAgain(c.Newest.Reason)
	default:
		return refused, problem
	}
}

// exitRole returns the role of the order that closes a line now, and zero if its orders are placed: as
// its stop or its target if the price has passed that, else as an exit if it gets none and the policy asks for it.
func (l *loop) exitRole(s market.Symbol, c order.Cover, withoutStop bool) order.Role {
	_, held := l.takes(s, c.Line)
	switch {
	case !held && l.stopPassed(s, c):
		return order.StopLoss
	case l.sellsAtTarget(s, c.Line):
		return order.TakeProfit
	case withoutStop && l.cfg.Policy.OnUnprotected == guard.UnprotectedExit:
		return order.Exit
	default:
		return 0
	}
}

// obstacle returns why the venue takes no orders for a line, "" if it does.
func (l *loop) obstacle(s market.Symbol, c order.Cover, refused string) string {
	if refused == "" && len(c.Wrong) == 0 && l.fullFor(s, c) {
		return fmt.Sprintf("%s holds %d stops in %s at a time, and all are in use", l.cfg.Broker.Name(), l.capabilities[s].MaxStops, s.Name)
	}
	return refused
}

// fullFor reports whether the venue has no room for another stop of a line.
func (l *loop) fullFor(s market.Symbol, c order.Cover) bool {
	can, held := l.takes(s, c.Line)
	return !held && can.MaxStops > 0 && c.Want.HasStop() && l.stopsAtVenue(s) >= can.MaxStops
}

// inOne returns the orders of a line that must end so that one stop protects all of it: the venue has no room
// for one more, and an exit that it refused has left a part without. None must have begun to sell.
func inOne(c order.Cover) []order.Order {
	for _, o := range c.Legs {
		if o.Begun() || o.Local() {
			return nil
		}
	}
	return c.Legs
}

// haltAllowsProtection reports whether orders that protect a position may be sent: an owner's
// halt keeps them, unless it was for all orders. No other halt does.
func (l *loop) haltAllowsProtection() bool {
	return !slices.ContainsFunc(l.state.Restrictions, func(r guard.Restriction) bool {
		return r.Halts() && (!r.Ordered() || r.All)
	})
}

// mayProtect reports whether an order of the desk's own may be sent during a halt.
func (l *loop) mayProtect(o order.Order) bool {
	return (o.Parent != "" && o.ReduceOnly && o.ByDesk() || o.Fired) && l.haltAllowsProtection()
}

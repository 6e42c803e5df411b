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

// protector compares the protection of positions with what their entries ask for, after
// every change and on every tick. It keeps only when it may act again: what is to be done
// follows from the book, so a restart repeats nothing.
type protector struct {
	changed bool                 // something was committed since the last comparison
	since   map[string]time.Time // by entry: when a part of its position was first seen without its stop
	tries   map[string]*attempts // by entry: of orders and cancels
	dust    map[string]order.Gap // by entry: what is too small for a stop, as it was logged
	gaps    gaps                 // what the last comparison found
}

// protectChanged compares protection if anything has changed.
func (l *loop) protectChanged() {
	if !l.protector.changed || !l.reconciliation.succeededOnce || l.reload != nil || l.stopping || l.fenced != nil {
		return
	}
	l.protector.changed = false
	l.advanceDeferred()
	now, bare, found := l.now(), make(map[string]string), make(gaps)
	seen := make(map[string]bool)
	for _, s := range l.book.EntrySymbols() {
		for _, c := range l.book.Covers(s, l.instruments[s].Base) {
			seen[c.Entry.ID] = true
			gap, late := l.protect(c, now)
			if gap.Quantity.IsPositive() {
				found[s] = append(found[s], gap)
			}
			if late {
				bare[s.String()] = fmt.Sprintf("%v of %v, from order %s, has no stop: %s", gap.Quantity, s, c.Entry.ID, gap.Reason)
			}
		}
	}
	for s, why := range l.missedSymbols() {
		bare[s.String()] = why
	}
	gone := func(id string) bool { return !seen[strings.TrimPrefix(id, excessKey)] }
	maps.DeleteFunc(l.protector.since, func(id string, _ time.Time) bool { return gone(id) })
	maps.DeleteFunc(l.protector.tries, func(id string, _ *attempts) bool { return gone(id) })
	maps.DeleteFunc(l.protector.dust, func(id string, _ order.Gap) bool { return !seen[id] })
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

func (l *loop) forgetEntry(id string) {
	delete(l.protector.since, id)
	delete(l.protector.tries, id)
}

// protect does what the position of an entry needs. It returns what has no stop, and whether
// that has been so for longer than the policy's grace.
func (l *loop) protect(c order.Cover, now time.Time) (gap order.Gap, late bool) {
	if c.Entry.Status.Final() && c.Entry.Claimed.IsZero() {
		l.endOrphans(c, now)
		return order.Gap{}, false
	}
	l.endExcess(c, now)
	quantity, limit := l.protectable(c)
	if !quantity.IsPositive() && limit == "" {
		l.forgetEntry(c.Entry.ID)
		return l.noteDust(c, now), false
	}
	delete(l.protector.dust, c.Entry.ID)
	since, known := l.protector.since[c.Entry.ID]
	if !known {
		since = now
		l.protector.since[c.Entry.ID] = now
	}
	late = now.Sub(since) >= l.cfg.Policy.UnprotectedGrace
	switch {
	case c.Settled && l.idle(c):
		limit = l.reprotect(c, quantity, limit, late, now)
	case !c.Entry.Status.Final():
		limit = cmp.Or(limit, "its entry is still being filled")
	}
	return order.Gap{Quantity: c.Due, Reason: cmp.Or(limit, "a stop is being placed"), Since: since}, late
}

// idle reports whether nothing of the entry's orders is on its way to the venue, and no answer
// about its exits is awaited.
func (l *loop) idle(c order.Cover) bool {
	for head := range l.deferred {
		if o, _ := l.book.Order(head); o.Symbol == c.Entry.Symbol {
			return false
		}
	}
	return !l.inFlight[c.Entry.ID] && !slices.ContainsFunc(c.Exits, func(o order.Order) bool { return l.inFlight[o.ID] || l.polls[o.ID] != nil })
}

// mayTry reports whether the entry's turn has come, and sets the next.
func (l *loop) mayTry(entry string, now time.Time) bool {
	t := l.protector.tries[entry]
	if t == nil {
		t = &attempts{}
		l.protector.tries[entry] = t
	}
	if now.Before(t.next) {
		return false
	}
	t.failed(now, retry.Backoff{First: time.Second, Max: time.Minute})
	return true
}

// endOrphans cancels the legs of an entry that ended without a fill.
func (l *loop) endOrphans(c order.Cover, now time.Time) {
	left := slices.DeleteFunc(slices.Clone(c.Exits), func(o order.Order) bool {
		return o.Status.Final() || o.NeedsQuery() || l.inFlight[o.ID]
	})
	if len(left) > 0 && now.Sub(c.Entry.Updated) >= orphanGrace && l.mayTry(c.Entry.ID, now) {
		_ = l.requestCancel(l.systemCaller(), c.Entry.ID, left...) // the next attempt repeats it
	}
}

// orphanGrace is how long the venue may take to end the legs of an entry by itself.
const orphanGrace = 5 * time.Second

// protectable returns how much can get a stop, on the venue's step, and why it is less than
// what is due. Less than the venue trades is zero without a reason: it cannot be sold either.
func (l *loop) protectable(c order.Cover) (quantity decimal.Decimal, problem string) {
	s := c.Entry.Symbol
	inst, step := l.instruments[s], l.instruments[s].Step
	if can, _ := l.takes(c); can.WholeLegs {
		step = decimal.Max(step, decimal.NewFromInt(1))
	}
	due := roundDown(c.Due, step)
	price := c.Wish.StopLoss
	if q, ok := l.cfg.Market.LastQuote(s); ok && price.IsZero() {
		price = q.Last
	}
	if !due.IsPositive() || due.LessThan(inst.MinQuantity) || price.IsPositive() && due.Mul(price).LessThan(inst.MinNotional) {
		return decimal.Zero, ""
	}
	quantity = roundDown(decimal.Min(due, decimal.Max(l.freeUnits(s), decimal.Zero)), step)
	if quantity.LessThan(due) {
		problem = fmt.Sprintf("other orders hold %v of it", due.Sub(quantity))
	}
	return quantity, problem
}

func roundDown(d, step decimal.Decimal) decimal.Decimal {
	if !step.IsPositive() || !d.IsPositive() {
		return d
	}
	return d.Sub(d.Mod(step))
}

// freeUnits returns how much of a position no open order would close. Orders of a group that
// exclude each other count once, and legs whose entry is open do not count. It is negative if
// they would close more than is held.
func (l *loop) freeUnits(s market.Symbol) decimal.Decimal {
	held := l.book.Position(s).Held(l.instruments[s].Base)
	free, claims := held.Abs(), make(map[string]decimal.Decimal)
	for _, o := range l.book.Open() {
		if o.Symbol != s || held.Sign() != -int(o.Side.Sign()) || o.Status == order.New || o.Status == order.PendingApproval || l.waitsForEntry(o) {
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

// endExcess cancels the exits of an entry that would close more than is held of it, as after a
// sale while the entry was being filled. What is held then gets a stop of its size. A venue
// that makes a stop smaller as its target is filled may report that a moment later.
func (l *loop) endExcess(c order.Cover, now time.Time) {
	key := excessKey + c.Entry.ID
	switch {
	case !c.Over.IsPositive():
		l.forgetEntry(key)
		return
	case !c.Settled || !l.idle(c) || !l.closesTooMuch(c.Entry):
		delete(l.protector.since, key)
		return
	}
	if _, known := l.protector.since[key]; !known {
		l.protector.since[key] = now
	}
	if now.Sub(l.protector.since[key]) >= l.cfg.Policy.UnprotectedGrace && l.mayTry(key, now) {
		_ = l.requestCancel(l.systemCaller(), c.Entry.ID, l.cancelledFirst(c.Working())...) // the next attempt repeats it
	}
}

// closesTooMuch reports whether open orders would close more than is held of the entry's symbol.
// With nothing held on the entry's side, its exits would open a position.
func (l *loop) closesTooMuch(entry order.Order) bool {
	held := l.book.Position(entry.Symbol).Held(l.instruments[entry.Symbol].Base)
	return held.Sign() != int(entry.Side.Sign()) || l.freeUnits(entry.Symbol).IsNegative()
}

// excessKey is before the ID of an entry whose exits close too much: these cancels have pauses
// of their own, since an entry that lacks no stop is forgotten.
const excessKey = "over "

// waitsForEntry reports whether an order is a leg of an entry that is open.
func (l *loop) waitsForEntry(o order.Order) bool {
	if !o.Group.Leg || o.External || o.Local() && !o.Waiting || o.Status == order.Accepted || o.Status == order.PartiallyFilled {
		return false
	}
	entry, ok := l.book.Order(o.Group.Name)
	return ok && !entry.Status.Final()
}

// reprotect gives a position the stop that it lacks: it cancels a target that lost its stop,
// and places both again. Where the venue refused that, or the price is beyond the stop, the
// policy decides. It returns what is in the way.
func (l *loop) reprotect(c order.Cover, quantity decimal.Decimal, problem string, late bool, now time.Time) string {
	if _, known := l.capabilities[c.Entry.Symbol]; !known {
		return "it is not known which orders " + l.cfg.Broker.Name() + " takes in " + c.Entry.Symbol.Name
	}
	refused := c.Refused
	if _, held := l.takes(c); held && refused != "" {
		problem, refused = refused, "" // candela tries again: the price has reached it
	}
	if c.Passing != "" {
		problem = tryAgain(c.Passing)
	}
	if refused == "" {
		refused = l.stopPassed(c)
	}
	exit := refused != "" && late && l.cfg.Policy.OnUnprotected == guard.UnprotectedExit
	loose := c.Loose()
	switch {
	case refused != "" && !exit:
		return refused
	case !l.haltAllowsProtection():
		return "trading is halted"
	case len(loose) == 0 && !quantity.IsPositive() || !l.mayTry(c.Entry.ID, now):
		return problem
	case len(loose) > 0:
		if err := l.requestCancel(l.systemCaller(), c.Entry.ID, loose...); err != nil {
			l.cfg.Log.WarnContext(l.drainCtx, "cancel of a target without its stop failed", "order", loose[0].ID, "error", err)
		}
		return problem
	}
	r := order.Request{Symbol: c.Entry.Symbol, Side: c.Entry.Side.Opposite(), Type: order.Market, Quantity: quantity, ReduceOnly: true}
	if !exit {
		r.Protect = l.fitting(c)
	}
	l.placeFor(c, r)
	return problem
}

// takes returns what is possible for the protection that an entry lacks, and whether candela
// holds it.
func (l *loop) takes(c order.Cover) (can order.Capabilities, held bool) {
	can = l.capabilities[c.Entry.Symbol]
	if c.Wish.IsZero() || !c.Due.IsPositive() || l.cfg.Policy.HeldStops != guard.HeldAllow {
		return can, false
	}
	r := order.Request{Symbol: c.Entry.Symbol, Side: c.Entry.Side.Opposite(), Type: order.Market, Quantity: roundDown(c.Due, l.instruments[c.Entry.Symbol].Step), ReduceOnly: true, Protect: c.Wish}
	in := guard.Intent{Spec: r.Spec("", ""), Broker: c.Entry.Broker, Mode: c.Entry.Mode}
	if c.Holder == "" && !guard.Holds(l.cfg.Policy, in, guard.Facts{Capabilities: can}) {
		return can, false
	}
	return can.Held(), true
}

// stopPassed returns that the price is at or beyond the stop, so that the venue would refuse
// it, or that the venue takes no such stop.
func (l *loop) stopPassed(c order.Cover) string {
	s := c.Entry.Symbol
	can, held := l.takes(c)
	switch {
	case held:
		return "" // it is sent at once if the price is beyond it
	case c.Wish.TrailPercent.IsPositive() && !can.Trails(), c.Wish.TrailPercent.IsZero() && c.Wish.StopLossLimit.IsZero() && !can.Stops,
		c.Wish.StopLossLimit.IsPositive() && !can.StopLimits:
		return l.cfg.Broker.Name() + " takes no such stop in " + s.Name
	case c.Wish.StopLoss.IsZero():
		return ""
	}
	q, ok := l.cfg.Market.LastQuote(s)
	if ok && q.Last.Cmp(c.Wish.StopLoss) != int(c.Entry.Side.Sign()) {
		return fmt.Sprintf("the price, %v, is beyond its stop at %v", q.Last, c.Wish.StopLoss)
	}
	return ""
}

// fitting returns the protection without a target that the venue would not take: in a pair it
// cannot hold, or at a price that the market has passed.
func (l *loop) fitting(c order.Cover) order.Protection {
	p := c.Wish
	can, _ := l.takes(c)
	q, ok := l.cfg.Market.LastQuote(c.Entry.Symbol)
	passed := ok && p.TakeProfit.IsPositive() && p.TakeProfit.Cmp(q.Last) != int(c.Entry.Side.Sign())
	if !can.Pairs || passed || p.TrailPercent.IsPositive() && !can.TrailLeg {
		p.TakeProfit = decimal.Zero
	}
	return p
}

// placeFor records and sends an order of the desk's own for the position of an entry. The
// rules do not judge it: it only closes what is held.
func (l *loop) placeFor(c order.Cover, r order.Request) {
	entry := c.Entry
	if slices.Contains(l.capabilities[r.Symbol].Times, order.GTC) && !r.Protect.IsZero() {
		r.TimeInForce = order.GTC
	}
	now := l.now()
	g := order.Origin{Spec: r.Spec(id.New(l.cfg.Now()), l.cfg.Owner), Broker: entry.Broker, Mode: entry.Mode, Client: "candela", Parent: entry.ID}
	if _, held := l.takes(c); held && !r.Protect.IsZero() {
		g.Holder = order.HolderCandela
	}
	t := l.send(l.systemCaller(), l.withLegs(g), now)
	if t.err != nil {
		l.cfg.Log.ErrorContext(l.drainCtx, "protection could not be placed", "entry", entry.ID, "error", t.err)
		return
	}
	l.setWaiters(g.ID, nil) // nothing waits for it
	l.followFrom(t.order.Order, c.Best)
	l.cfg.Log.WarnContext(l.drainCtx, "protection placed", "entry", entry.ID, "order", g.ID, "quantity", r.Quantity.String(), "stop", r.Protect.StopLoss.String(), "unprotected_for", now.Sub(l.protector.since[entry.ID]).String())
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
		entry, ok := l.book.Order(cmp.Or(o.Parent, o.ID))
		if e.Kind != order.KindFill || !ok || entry.Role != order.Entry || !entry.Status.Final() || entry.NeedsQuery() {
			continue // its own fills may come later
		}
		c := order.Cover{Entry: entry, Exits: l.book.Exits(entry.ID)}
		if excess := c.Excess(); excess.IsPositive() {
			l.restrict(l.systemCaller(), guard.Restriction{
				Kind: guard.LegOverfill, Subject: o.Symbol.String(),
				Reason: fmt.Sprintf("the exits of order %s closed %v more than it brought", entry.ID, excess),
			})
		}
	}
}

// protectedEntry returns the ID of the newest entry whose position an exit of this quantity
// can protect beside the stops it has, or "". While something is held that no entry brought and
// no stop closes, the exit is for that: the desk restores the stops of entries by itself. Where it
// does not, an exit of exactly what the entry lacks is the entry's.
func (l *loop) protectedEntry(s order.Spec) string {
	if s.Role != order.StopLoss && s.Role != order.TakeProfit {
		return ""
	}
	covers, unclaimed := l.book.Covers(s.Symbol, l.instruments[s.Symbol].Base), l.unclaimed(s)
	for _, c := range covers {
		if c.Entry.Side != s.Side.Opposite() || c.Bare().LessThan(s.Quantity) {
			continue
		}
		exact := s.Quantity.Equal(roundDown(c.Due, l.instruments[s.Symbol].Step)) && (c.Refused != "" || l.stopPassed(c) != "")
		if !unclaimed || exact {
			return c.Entry.ID
		}
	}
	return ""
}

// unclaimed reports whether something is held that no entry brought and no stop closes.
func (l *loop) unclaimed(s order.Spec) bool {
	return l.tradeable(s.Symbol, l.book.Unclaimed(s.Symbol, l.instruments[s.Symbol].Base))
}

// tradeable reports whether the venue trades a quantity, which may be off its step.
func (l *loop) tradeable(s market.Symbol, quantity decimal.Decimal) bool {
	inst := l.instruments[s]
	quantity = roundDown(quantity, inst.Step)
	q, ok := l.cfg.Market.LastQuote(s)
	return quantity.IsPositive() && quantity.GreaterThanOrEqual(inst.MinQuantity) && (!ok || quantity.Mul(q.Last).GreaterThanOrEqual(inst.MinNotional))
}

// closedEntry returns the ID of the entry, or of the target of the pair without an entry, whose
// position an exit closes: the one whose legs are released for it, unless more than one is, or
// something that no order holds is sold first. Then it is "", and Covers decides.
func (l *loop) closedEntry(s order.Spec, released []order.Order) string {
	if s.Role != order.Exit || s.Type != order.Market || len(released) == 0 {
		return ""
	}
	closed, most := "", decimal.Zero
	for _, o := range released {
		of := cmp.Or(o.Parent, o.Group.Name)
		if o.Role == order.Entry || o.External || of == "" || closed != "" && of != closed {
			return ""
		}
		closed, most = of, decimal.Max(most, o.Remaining())
	}
	entry, ok := l.book.Order(closed)
	if !ok || entry.Role != order.Entry && entry.Role != order.TakeProfit || most.LessThan(s.Quantity) || l.tradeable(s.Symbol, l.freeUnits(s.Symbol)) {
		return ""
	}
	return closed
}

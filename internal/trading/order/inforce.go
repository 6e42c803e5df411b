package order

import (
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"candela/lib/market"
)

// HasPlan reports whether a plan was ever recorded for a symbol.
func (b *Book) HasPlan(s market.Symbol) bool { _, ok := b.plans[s]; return ok }

// Planned returns the symbols that have a plan with lines, or orders that protect a position.
func (b *Book) Planned() []market.Symbol {
	found := make(map[market.Symbol]bool)
	for s, lines := range b.plans {
		if len(lines) > 0 {
			found[s] = true
		}
	}
	for _, m := range b.open {
		if o := b.orders[m.ID]; o.isLeg() {
			found[o.Symbol] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), bySymbol)
}

// Lines returns the plan in force, oldest first: the recorded one less what was closed since. They
// are never for more than is held. A line whose entry has brought nothing yet has no quantity.
func (b *Book) Lines(s market.Symbol) []Line {
	h := b.holding(s)
	lines := slices.Clone(b.plans[s])
	for i := range slices.Backward(lines) {
		l := &lines[i]
		l.Quantity = decimal.Max(decimal.Min(l.Quantity, h.most(l.Side, l.Deployment)), decimal.Zero)
		h.trade(l.Deployment, l.Side.Opposite(), l.Quantity)
	}
	return slices.DeleteFunc(lines, func(l Line) bool { return !l.Quantity.IsPositive() && !b.filling(l.ID) })
}

// Bare returns how much of a position no line is for, of what a deployment holds, "" for none, and of the rest.
func (b *Book) Bare(s market.Symbol, deployment string) Uncovered {
	return b.holding(s).bare(b.Lines(s), deployment)
}

// Due returns the lines for which the venue should have orders now: those in force, less what
// orders on their way will close, and what ended ones have closed by fills that are not known yet.
func (b *Book) Due(s market.Symbol) []Line {
	lines, _ := b.due(s)
	return lines
}

// due is Due with what is then held.
func (b *Book) due(s market.Symbol) (lines []Line, held holding) {
	held, lines = b.holding(s), b.Lines(s)
	for _, o := range append(b.Unreported(s), b.Closing(s)...) {
		if held.all.Sign() == -int(o.Side.Sign()) {
			owner := b.DeploymentOf(o)
			lines = Shorten(lines, o.Line(), owner, o.Side.Opposite(), o.Remaining(), held.bare(lines, owner))
			held.trade(owner, o.Side, o.Remaining())
		}
	}
	return slices.DeleteFunc(lines, func(l Line) bool { return !l.Quantity.IsPositive() && !b.filling(l.ID) }), held
}

// Shortened returns the IDs of the lines, as Due returns them, that an order of a deployment would shorten which
// closes a part of a position now.
func (b *Book) Shortened(s market.Symbol, named, deployment string, side Side, quantity decimal.Decimal) []string {
	due, held := b.due(s)
	var ids []string
	for i, l := range Shorten(due, named, deployment, side, quantity, held.bare(due, deployment)) {
		if !l.Quantity.Equal(due[i].Quantity) {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// Closing returns the open orders that close a position now, oldest first.
func (b *Book) Closing(s market.Symbol) []Order {
	var closing []Order
	for _, m := range b.open {
		if o := b.orders[m.ID]; o.Symbol == s && o.IsExit() && o.Status != PendingApproval {
			closing = append(closing, o)
		}
	}
	return closing
}

// Unreported returns the orders in a symbol that have ended and lack fills, oldest first. Their quantity is
// what the venue counts as filled, so that what remains of it is not known yet.
func (b *Book) Unreported(s market.Symbol) []Order {
	var all []Order
	for id := range b.unreported {
		if o := b.orders[id]; o.Symbol == s {
			o.Quantity = o.Claimed
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(x, y Order) int { return newestFirst(y, x) })
	return all
}

// IsExit reports whether an order closes a part of a position now, and does not wait for a price as
// the legs of a line do.
func (o Order) IsExit() bool {
	return !o.External && o.ReduceOnly && !o.IsStop() && o.Group.Name == "" && o.Role != TakeProfit
}

// Legs returns the open orders placed here that protect the position in a symbol, by creation.
func (b *Book) Legs(s market.Symbol) []Order {
	var legs []Order
	for _, m := range b.open {
		if o := b.orders[m.ID]; o.Symbol == s && o.isLeg() {
			legs = append(legs, o)
		}
	}
	return legs
}

// isLeg reports whether an order waits for a price at which it closes a part of a position.
func (o Order) isLeg() bool {
	return !o.External && o.Role != Entry && o.ReduceOnly && !o.IsExit() && o.Status != PendingApproval
}

// filling reports whether a line belongs to an entry of which more may come.
func (b *Book) filling(line string) bool {
	o, ok := b.orders[line]
	return ok && o.Role == Entry && o.Status != Denied && (!o.Status.Final() || o.NeedsQuery())
}

// follow changes the plan by a fill: an entry extends its line, and what closes a position shortens
// the line that it is for.
func (b *Book) follow(o Order, f Fill) {
	if o.Role == Entry {
		b.extend(o, f)
		b.tidy(f.Symbol)
		return
	}
	lines := b.plans[f.Symbol]
	switch {
	case b.filling(o.Line()) && lineIndex(lines, o.Line()) >= 0: // its entry's fill may be reported later
		i := lineIndex(lines, o.Line())
		lines[i].Quantity = lines[i].Quantity.Sub(f.Quantity)
	default:
		b.shorten(f.Symbol, o.Line(), b.DeploymentOf(o), f.Side.Opposite(), f.Quantity.Add(f.FeeInBase()))
		b.reopen(o, f)
	}
	b.tidy(f.Symbol)
}

// reopen gives an entry back what an exit that is reported late shows that it opened: the entry was taken
// to close what the exit had closed before.
func (b *Book) reopen(o Order, f Fill) {
	if !o.ReduceOnly || len(b.entries[f.Symbol]) == 0 {
		return
	}
	now := b.Position(f.Symbol).Quantity
	if now.Sign() != int(f.Side.Sign()) {
		return
	}
	left := decimal.Min(now.Abs(), f.Quantity) // what it did not close
	for _, id := range slices.Backward(b.entries[f.Symbol]) {
		entry := b.orders[id]
		lines := b.plans[f.Symbol]
		i := lineIndex(lines, id)
		room := entry.Filled
		if i >= 0 {
			room = room.Sub(lines[i].Quantity)
		}
		for _, exit := range b.Exits(id) {
			room = room.Sub(exit.Filled)
		}
		part := decimal.Min(left, room)
		if entry.Side != f.Side || entry.Protect.IsZero() || !part.IsPositive() || b.DeploymentOf(entry) != b.DeploymentOf(o) {
			continue
		}
		if left = left.Sub(part); i >= 0 {
			lines[i].Quantity = lines[i].Quantity.Add(part)
		} else {
			b.plans[f.Symbol] = append(lines, Line{ID: id, Side: entry.Side, Quantity: part, Protect: entry.Protect, By: id, Deployment: b.DeploymentOf(entry)})
		}
	}
}

// extend changes the plan by a fill of an entry: first it closes what is held on the other side, the
// rest is for its line.
func (b *Book) extend(o Order, f Fill) {
	lines, known := b.plans[f.Symbol]
	brought := f.Quantity.Sub(f.FeeInBase())
	if i := lineIndex(lines, o.ID); i >= 0 && lines[i].Quantity.IsNegative() { // its stop or target was reported first
		owed := decimal.Min(brought, lines[i].Quantity.Neg())
		lines[i].Quantity, brought = lines[i].Quantity.Add(owed), brought.Sub(owed)
	}
	before, owner := b.certain(f.Symbol), b.DeploymentOf(o)
	before.trade(owner, f.Side.Opposite(), brought)
	if before.all.Sign() == -int(f.Side.Sign()) {
		closed := decimal.Min(before.all.Abs(), brought)
		lines = Shorten(lines, "", owner, f.Side.Opposite(), closed, before.bare(lines, owner))
		brought = brought.Sub(closed)
		b.plans[f.Symbol] = lines
	}
	switch i := lineIndex(lines, o.ID); {
	case i >= 0:
		lines[i].Quantity = lines[i].Quantity.Add(brought)
	case known && !o.Protect.IsZero(): // more came after its line had ended
		b.plans[f.Symbol] = append(lines, Line{ID: o.ID, Side: o.Side, Quantity: brought, Protect: o.Protect, By: o.ID, Deployment: owner})
	}
}

// shorten changes the plan by what was closed of a position, whose quantity is that after it.
func (b *Book) shorten(s market.Symbol, line, deployment string, side Side, quantity decimal.Decimal) {
	lines := b.plans[s]
	if len(lines) == 0 { // after a late fill the position costs all its newest moves
		return
	}
	held := b.certain(s)
	if held.trade(deployment, side, quantity); held.all.Sign() == int(side.Sign()) {
		b.plans[s] = Shorten(lines, line, deployment, side, quantity, held.bare(lines, deployment))
	}
}

// certain returns what is held of a symbol with the fills of entries that have not been reported: a line whose
// stop or target has closed more than is known to have come is below zero by that much.
func (b *Book) certain(s market.Symbol) holding {
	held := b.holding(s)
	for _, l := range b.plans[s] {
		if l.Quantity.IsNegative() {
			held.trade(l.Deployment, l.Side, l.Quantity.Neg())
		}
	}
	return held
}

// tidy removes the lines that have ended. While something is unknown of an order, a line without a
// position is kept: the position may be reported later.
func (b *Book) tidy(s market.Symbol) {
	lines := b.plans[s]
	if len(lines) == 0 {
		return
	}
	flat := b.Position(s).Quantity.IsZero() && b.certain(s).all.IsZero() && !b.unsettled(s)
	b.plans[s] = slices.DeleteFunc(lines, func(l Line) bool {
		return !b.filling(l.ID) && (flat || !l.Quantity.IsPositive() || l.Protect.IsZero())
	})
}

// unsettled reports whether the outcome of an order in a symbol is unknown.
func (b *Book) unsettled(s market.Symbol) bool {
	for _, m := range b.open {
		if o := b.orders[m.ID]; o.Symbol == s && o.NeedsQuery() {
			return true
		}
	}
	return false
}

// plan applies a recorded plan. It was made from the lines in force, which are never for more than is known
// to be held; what they left out of a line, because fills have not been reported, stays with it.
func (b *Book) plan(p *Plan) {
	after, inForce := slices.Clone(p.Lines), b.Lines(p.Symbol)
	for k, l := range b.plans[p.Symbol] {
		switch i, was := lineIndex(after, l.ID), lineIndex(inForce, l.ID); {
		case i >= 0 && was >= 0:
			after[i].Quantity = after[i].Quantity.Add(l.Quantity.Sub(inForce[was].Quantity))
		case i < 0 && was < 0:
			after = slices.Insert(after, min(k, len(after)), l)
		}
	}
	b.plans[p.Symbol] = after
	b.tidy(p.Symbol)
}

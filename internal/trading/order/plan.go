package order

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/market"
)

// Line is the protection asked for a part of a position. The lines of a symbol are its plan. They
// are recorded, and the orders that protect the position follow from them.
type Line struct {
	ID       string          `json:"id"`               // of the entry, or of the order that asked for it
	Side     Side            `json:"side"`             // of the position
	Quantity decimal.Decimal `json:"quantity"`         // that it is for; it grows with the fills of its entry
	Protect  Protection      `json:"protect,omitzero"` // zero only while its entry is open
	Best     decimal.Decimal `json:"best,omitzero"`    // the best price that its trail has followed; zero if unknown
	By       string          `json:"by,omitempty"`     // ID of the order that last changed its prices, or "candela"
}

// Plan is all lines of a symbol after a change, oldest first.
type Plan struct {
	Symbol market.Symbol `json:"symbol"`
	Lines  []Line        `json:"lines,omitempty"`
}

// sound reports whether a plan can be recorded.
func (p *Plan) sound() bool {
	if p == nil || p.Symbol.IsZero() {
		return false
	}
	for _, l := range p.Lines {
		if l.ID == "" || l.Side.String() == "" || !l.Protect.bounded() || !within(maxFactDigits, l.Quantity, l.Best) {
			return false
		}
	}
	return true
}

// Planned returns the event that records a plan.
func Planned(s market.Symbol, lines []Line) Event {
	return Event{Kind: KindPlanned, Plan: &Plan{Symbol: s, Lines: lines}}
}

// Level returns the price that triggers the stop of the line, and zero without one, or if
// nothing is known of its trail.
func (l Line) Level() decimal.Decimal {
	if !l.Protect.TrailPercent.IsPositive() {
		return l.Protect.StopLoss
	}
	return l.Best.Sub(l.Best.Mul(l.Protect.TrailPercent).Shift(-2).Mul(decimal.NewFromInt(l.Side.Sign())))
}

// With returns the line with the prices that are named. What is not named stays.
func (l Line) With(p Protection, by string) Line {
	if p.HasStop() {
		if !p.TrailPercent.Equal(l.Protect.TrailPercent) {
			l.Best = decimal.Zero // another trail begins at the price of now
		}
		l.Protect.StopLoss, l.Protect.StopLossLimit, l.Protect.TrailPercent = p.StopLoss, p.StopLossLimit, p.TrailPercent
	}
	if p.TakeProfit.IsPositive() {
		l.Protect.TakeProfit = p.TakeProfit
	}
	l.By = by
	return l
}

// Line returns the ID of the line that an order protects or closes: that of its entry, of the
// first order of its pair, or its own.
func (o Order) Line() string { return cmp.Or(o.Parent, o.Group.Name, o.ID) }

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
	for id := range b.open {
		if o := b.orders[id]; b.isLeg(o) {
			found[o.Symbol] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), bySymbol)
}

// Lines returns the plan in force, oldest first: the recorded one less what was closed since. They
// are never for more than is held. A line whose entry has brought nothing yet has no quantity.
func (b *Book) Lines(s market.Symbol) []Line {
	held := b.Position(s).Quantity
	left := held.Abs()
	lines := slices.Clone(b.plans[s])
	for i := range slices.Backward(lines) {
		l := &lines[i]
		if held.Sign() != int(l.Side.Sign()) {
			l.Quantity = decimal.Zero
		}
		l.Quantity = decimal.Max(decimal.Min(l.Quantity, left), decimal.Zero)
		left = left.Sub(l.Quantity)
	}
	return slices.DeleteFunc(lines, func(l Line) bool { return !l.Quantity.IsPositive() && !b.filling(l.ID) })
}

// Bare returns how much of a position no line is for.
func (b *Book) Bare(s market.Symbol) decimal.Decimal {
	return bare(b.Position(s).Quantity, b.Lines(s))
}

func bare(held decimal.Decimal, lines []Line) decimal.Decimal {
	left := held.Abs()
	for _, l := range lines {
		left = left.Sub(decimal.Max(l.Quantity, decimal.Zero))
	}
	return decimal.Max(left, decimal.Zero)
}

// Due returns the lines for which the venue should have orders now: those in force, less what
// orders on their way will close.
func (b *Book) Due(s market.Symbol) []Line {
	held, lines := b.Position(s).Quantity, b.Lines(s)
	for _, o := range b.Closing(s) {
		lines = Shorten(lines, o.Line(), o.Side.Opposite(), o.Remaining(), bare(held, lines))
		held = held.Add(o.Remaining().Mul(decimal.NewFromInt(o.Side.Sign())))
	}
	return slices.DeleteFunc(lines, func(l Line) bool { return !l.Quantity.IsPositive() && !b.filling(l.ID) })
}

// Shortened returns the IDs of the lines, as Due returns them, that an order would shorten which closes
// a part of a position now.
func (b *Book) Shortened(s market.Symbol, named string, side Side, quantity decimal.Decimal) []string {
	due, held := b.Due(s), b.Position(s).Quantity
	for _, o := range b.Closing(s) {
		held = held.Add(o.Remaining().Mul(decimal.NewFromInt(o.Side.Sign())))
	}
	var ids []string
	for i, l := range Shorten(due, named, side, quantity, bare(held, due)) {
		if !l.Quantity.Equal(due[i].Quantity) {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// Closing returns the open orders that close a position now, oldest first.
func (b *Book) Closing(s market.Symbol) []Order {
	var closing []Order
	for id := range b.open {
		if o := b.orders[id]; o.Symbol == s && b.IsExit(o) && o.Status != PendingApproval {
			closing = append(closing, o)
		}
	}
	slices.SortFunc(closing, func(x, y Order) int { return newestFirst(y, x) })
	return closing
}

// IsExit reports whether an order closes a part of a position now, and does not wait for a price as
// the legs of a line do.
func (b *Book) IsExit(o Order) bool {
	return !o.External && o.ReduceOnly && !o.IsStop() && o.Group.Name == "" && o.Role != TakeProfit
}

// Legs returns the open orders placed here that protect the position in a symbol, by creation.
func (b *Book) Legs(s market.Symbol) []Order {
	var legs []Order
	for id := range b.open {
		if o := b.orders[id]; o.Symbol == s && b.isLeg(o) {
			legs = append(legs, o)
		}
	}
	slices.SortFunc(legs, func(x, y Order) int { return newestFirst(y, x) })
	return legs
}

// isLeg reports whether an order waits for a price at which it closes a part of a position.
func (b *Book) isLeg(o Order) bool {
	return !o.External && o.Role != Entry && o.ReduceOnly && !b.IsExit(o) && o.Status != PendingApproval
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
		b.shorten(f.Symbol, o.Line(), f.Side.Opposite(), f.Quantity.Add(f.FeeInBase()))
	}
	b.tidy(f.Symbol)
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
	before := b.certain(f.Symbol).Sub(brought.Mul(decimal.NewFromInt(f.Side.Sign())))
	if before.Sign() == -int(f.Side.Sign()) {
		closed := decimal.Min(before.Abs(), brought)
		lines = Shorten(lines, "", f.Side.Opposite(), closed, bare(before, lines))
		brought = brought.Sub(closed)
		b.plans[f.Symbol] = lines
	}
	switch i := lineIndex(lines, o.ID); {
	case i >= 0:
		lines[i].Quantity = lines[i].Quantity.Add(brought)
	case known && !o.Protect.IsZero(): // more came after its line had ended
		b.plans[f.Symbol] = append(lines, Line{ID: o.ID, Side: o.Side, Quantity: brought, Protect: o.Protect, By: o.ID})
	}
}

// shorten changes the plan by what was closed of a position, whose quantity is that after it.
func (b *Book) shorten(s market.Symbol, line string, side Side, quantity decimal.Decimal) {
	held := b.certain(s).Add(quantity.Mul(decimal.NewFromInt(side.Sign())))
	if lines := b.plans[s]; len(lines) > 0 && held.Sign() == int(side.Sign()) {
		b.plans[s] = Shorten(lines, line, side, quantity, bare(held, lines))
	}
}

// certain returns what is held of a symbol with the fills of entries that have not been reported: a line whose
// stop or target has closed more than is known to have come is below zero by that much.
func (b *Book) certain(s market.Symbol) decimal.Decimal {
	held := b.Position(s).Quantity
	for _, l := range b.plans[s] {
		if l.Quantity.IsNegative() {
			held = held.Sub(l.Quantity.Mul(decimal.NewFromInt(l.Side.Sign())))
		}
	}
	return held
}

// Shorten returns lines after a part of a position was closed: first the line that is named, then
// what no line is for, then the oldest line.
func Shorten(lines []Line, named string, side Side, quantity, bare decimal.Decimal) []Line {
	after := slices.Clone(lines)
	take := func(from *decimal.Decimal) {
		part := decimal.Max(decimal.Min(*from, quantity), decimal.Zero)
		*from, quantity = from.Sub(part), quantity.Sub(part)
	}
	if i := lineIndex(after, named); i >= 0 && after[i].Side == side {
		take(&after[i].Quantity)
	}
	take(&bare)
	for i := range after {
		if after[i].Side == side {
			take(&after[i].Quantity)
		}
	}
	return after
}

// Rest returns lines after an exit turned out to wait for its price: what is left of it is the target
// of the parts that it was to close. name returns the ID of a new line for a part of another; "" stands
// for what no line is for.
func Rest(lines []Line, o Order, bare decimal.Decimal, name func(line string) string) []Line {
	side := o.Side.Opposite()
	short := Shorten(lines, o.Line(), side, o.Remaining(), bare)
	var after []Line
	left := o.Remaining()
	for i, l := range lines {
		part := l.Quantity.Sub(short[i].Quantity)
		left = left.Sub(part)
		after = append(after, short[i])
		if part.IsPositive() {
			l = l.With(Protection{TakeProfit: o.Price}, o.ID)
			l.ID, l.Quantity = name(l.ID), part
			after = append(after, l)
		}
	}
	if left = decimal.Min(left, bare); left.IsPositive() {
		after = append(after, Line{ID: name(""), Side: side, Quantity: left, Protect: Protection{TakeProfit: o.Price}, By: o.ID})
	}
	return after
}

func lineIndex(lines []Line, id string) int {
	return slices.IndexFunc(lines, func(l Line) bool { return l.ID == id })
}

// tidy removes the lines that have ended. While something is unknown of an order, a line without a
// position is kept: the position may be reported later.
func (b *Book) tidy(s market.Symbol) {
	lines, known := b.plans[s]
	if !known {
		return
	}
	flat := b.Position(s).Quantity.IsZero() && b.certain(s).IsZero() && !b.unsettled(s)
	b.plans[s] = slices.DeleteFunc(lines, func(l Line) bool {
		return !b.filling(l.ID) && (flat || !l.Quantity.IsPositive() || l.Protect.IsZero())
	})
}

// unsettled reports whether the outcome of an order in a symbol is unknown.
func (b *Book) unsettled(s market.Symbol) bool {
	for id := range b.open {
		if o := b.orders[id]; o.Symbol == s && o.NeedsQuery() {
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

// errPlan is the error of a plan that cannot be recorded.
func errPlan() error {
	return fmt.Errorf("a plan without a symbol, or a line without an ID or out of bounds: %w", ErrMalformed)
}

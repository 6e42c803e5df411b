package order

import (
	"cmp"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"candela/lib/market"
)

// An account that was written before plans were recorded gets one at its first start: the prices and
// quantities of the orders that protect its positions. This file can go after the next release.

// Unplanned returns the symbols that have orders which protect a position, and no plan.
func (b *Book) Unplanned() []market.Symbol {
	found := make(map[market.Symbol]bool)
	for _, o := range b.orders {
		if !b.HasPlan(o.Symbol) && !o.External && (o.Role == Entry || o.Role == StopLoss || o.Role == TakeProfit) {
			found[o.Symbol] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), bySymbol)
}

// OldPlan returns the lines that the orders in a symbol stand for. What an entry brought and has no
// order gets the prices that its newest stop had, or that it asked for, unless somebody ended them.
func (b *Book) OldPlan(s market.Symbol) []Line {
	held := b.Position(s).Quantity
	lines := make(map[string]*Line)
	for _, o := range b.Legs(s) {
		if held.Sign() != -int(o.Side.Sign()) && !o.Group.Leg {
			continue
		}
		l := lines[o.Line()]
		if l == nil {
			l = &Line{ID: o.Line(), Side: o.Side.Opposite(), By: deskClient, Deployment: o.Deployment}
			lines[l.ID] = l
		}
		if o.IsStop() {
			l.Protect.StopLoss, l.Protect.TrailPercent, l.Best = o.StopPrice, o.TrailPercent, o.Best
			if o.TrailPercent.IsPositive() {
				l.Protect.StopLoss = decimal.Zero
			}
			if o.Type == Limit {
				l.Protect.StopLossLimit = o.Price
			}
		} else {
			l.Protect.TakeProfit = o.Price
		}
		if o.works(true) {
			l.Quantity = decimal.Max(l.Quantity, o.Remaining())
		}
	}
	for _, id := range b.entries[s] {
		b.oldEntry(b.orders[id], lines)
	}
	all := slices.Collect(maps.Values(lines))
	slices.SortFunc(all, func(x, y *Line) int {
		return cmp.Or(b.orders[x.ID].Created.Compare(b.orders[y.ID].Created), cmp.Compare(x.ID, y.ID))
	})
	plan := make([]Line, 0, len(all))
	for _, l := range all {
		plan = append(plan, *l)
	}
	return plan
}

// oldEntry sets the line of an entry.
func (b *Book) oldEntry(entry Order, lines map[string]*Line) {
	left := entry.Filled.Sub(entry.feesInBase())
	protect := entry.Protect
	for _, o := range b.Exits(entry.ID) {
		left = left.Sub(o.Filled)
		switch {
		case !o.IsStop() || !sent(o.Status) || o.Status == Rejected:
		case o.Status == Canceled && o.CancelFor == "" && o.CancelTried:
			protect = Protection{} // somebody ended it
		case o.Group.Name != entry.ID:
			protect = Protection{StopLoss: o.StopPrice, TrailPercent: o.TrailPercent, TakeProfit: protect.TakeProfit}
		}
	}
	l := lines[entry.ID]
	switch {
	case b.filling(entry.ID):
		if l == nil {
			l = &Line{ID: entry.ID, Side: entry.Side, Protect: entry.Protect, By: deskClient}
			lines[entry.ID] = l
		}
		l.Quantity = decimal.Max(left, decimal.Zero)
	case l != nil:
		l.Quantity = decimal.Max(l.Quantity, decimal.Max(left, decimal.Zero))
	case left.IsPositive() && !protect.IsZero():
		lines[entry.ID] = &Line{ID: entry.ID, Side: entry.Side, Quantity: left, Protect: protect, By: deskClient}
	}
}

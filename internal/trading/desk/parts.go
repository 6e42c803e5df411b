package desk

import (
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// A venue may take less in an order at the market than somebody holds. What closes more is several orders: an exit is
// recorded with all its parts in one commit, and each is sent and ends by itself; a line has several stops.

// marketMost returns the most that the venue takes in one order at the market, zero for any.
func (l *loop) marketMost(s market.Symbol) decimal.Decimal {
	inst := l.instruments[s]
	return order.RoundDown(inst.MaxMarket, inst.Step)
}

// inParts returns a quantity in parts that the venue takes, equal ones as far as its step allows.
func (l *loop) inParts(s market.Symbol, quantity decimal.Decimal) []decimal.Decimal {
	most := l.marketMost(s)
	if !most.IsPositive() || quantity.LessThanOrEqual(most) {
		return []decimal.Decimal{quantity}
	}
	n := quantity.Div(most).Ceil()
	part, step := quantity.Div(n), l.instruments[s].Step
	if down := order.RoundDown(part, step); step.IsPositive() && down.LessThan(part) {
		part = down.Add(step)
	}
	var parts []decimal.Decimal
	for ; quantity.GreaterThan(part) && len(parts) < guard.MaxParts-1; quantity = quantity.Sub(part) {
		parts = append(parts, part)
	}
	return append(parts, decimal.Min(quantity, part))
}

// stopParts returns the quantities of the orders that protect a line. A stop that becomes a limit order, and a target
// alone, may be for all of it.
func (l *loop) stopParts(s market.Symbol, p order.Protection, quantity decimal.Decimal) []decimal.Decimal {
	if !p.HasStop() || p.StopLossLimit.IsPositive() {
		return []decimal.Decimal{quantity}
	}
	return l.inParts(s, quantity)
}

// cutExit makes parts of an order that closes more at the market than the venue takes.
func (l *loop) cutExit(p *proposal) {
	g := &p.asked
	if !g.ReduceOnly || g.Role != order.Exit || g.Type != order.Market || g.StopPrice.IsPositive() || len(p.orders) != 1 {
		return
	}
	parts := l.inParts(g.Symbol, g.Quantity)
	if len(parts) == 1 {
		return
	}
	g.Quantity, g.Asked = parts[0], p.said.Terms()
	p.orders = []order.Origin{*g}
	for i, quantity := range parts[1:] {
		part := order.Origin{Spec: g.Spec, Broker: g.Broker, Mode: g.Mode, Token: g.Token, Client: g.Client, Parent: g.Parent, NotAfter: g.NotAfter, Policy: g.Policy, Scope: g.Scope, Deployment: g.Deployment, Quote: g.Quote}
		part.ID, part.Quantity = partID(g.ID, i+1), quantity
		p.orders = append(p.orders, part)
	}
}

func partID(head string, n int) string { return id.Derived("part", head, strconv.Itoa(n)) }

// parts returns the others of the orders that an exit was cut into.
func (l *loop) parts(head order.Order) (all []order.Order) {
	if head.Role != order.Exit {
		return nil
	}
	for n := 1; n < guard.MaxParts; n++ {
		part, ok := l.book.Order(partID(head.ID, n))
		if !ok {
			break
		}
		all = append(all, part)
	}
	return all
}

// fitsOne reports whether one stop can protect a line.
func (l *loop) fitsOne(s market.Symbol, line order.Line) bool {
	return len(l.stopParts(s, line.Protect, line.Quantity)) == 1
}

// stopsOf returns how many stops a line needs.
func (l *loop) stopsOf(s market.Symbol, line order.Line) int {
	return len(slices.DeleteFunc(l.stopParts(s, line.Protect, line.Quantity), decimal.Decimal.IsZero))
}

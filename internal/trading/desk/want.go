package desk

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// takes returns what is possible for the protection of a line, and whether candela holds it.
func (l *loop) takes(s market.Symbol, line order.Line) (can order.Capabilities, held bool) {
	can = l.capabilities[s]
	if line.Protect.IsZero() || l.cfg.Policy.HeldStops != guard.HeldAllow {
		return can, false
	}
	asked, _ := l.book.Order(line.ID)
	in := guard.Intent{Spec: l.lineRequest(s, line).Spec("", ""), Broker: l.cfg.Broker.Name(), Mode: l.cfg.Broker.Mode()}
	if asked.Holder == "" && !guard.Holds(l.cfg.Policy, in, guard.Facts{Capabilities: can}) {
		return can, false
	}
	return can.Held(), true
}

// notTaken returns that the venue takes no such stop, "" if it does.
func (l *loop) notTaken(s market.Symbol, c order.Cover, can order.Capabilities, held bool) string {
	w := c.Want
	if !held && w.HasStop() && (w.TrailPercent.IsPositive() && !can.Trails() || w.TrailPercent.IsZero() && w.StopLossLimit.IsZero() && !can.Stops || w.StopLossLimit.IsPositive() && !can.StopLimits) {
		return l.cfg.Broker.Name() + " takes no such stop in " + s.Name
	}
	return ""
}

// stopPassed reports whether the price is at or beyond the stop of a line that lacks it, or was since.
func (l *loop) stopPassed(s market.Symbol, c order.Cover) bool {
	level := c.Want.StopLoss
	if c.Want.TrailPercent.IsPositive() {
		level = c.Level()
	}
	q, ok := l.cfg.Market.LastQuote(s)
	can, _ := l.takes(s, c.Line)
	q = can.Triggering(q)
	if !level.IsPositive() || !ok || q.MarketClosed || l.now().Sub(q.At) > l.cfg.Policy.MaxQuoteAge {
		return false
	}
	t := l.held.triggers[l.lackedStop(s, c).ID]
	if q.Last.Cmp(level) != int(c.Side.Sign()) || t != nil && t.reached && !can.MarkTriggers {
		l.protector.passed[c.ID] = true
	}
	return l.protector.passed[c.ID]
}

// targetPassed reports whether the price is at or beyond the target of a line that has no order for it: one would be
// filled at once, and the venue takes no pair with it.
func (l *loop) targetPassed(s market.Symbol, line order.Line) bool {
	q, ok := l.cfg.Market.LastQuote(s)
	target := line.Protect.TakeProfit
	return ok && target.IsPositive() && target.Cmp(q.Last) != int(line.Side.Sign()) && !l.works(s, line.ID, order.TakeProfit)
}

// sellsAtTarget reports whether a line is closed at its target because the price has passed it. An old price says
// nothing.
func (l *loop) sellsAtTarget(s market.Symbol, line order.Line) bool {
	can, held := l.takes(s, line)
	q, _ := l.cfg.Market.LastQuote(s)
	return !held && can.Pairs && !q.MarketClosed && l.now().Sub(q.At) <= l.cfg.Policy.MaxQuoteAge && line.Protect.HasStop() && l.targetPassed(s, line)
}

// lackedStop returns the stop that a line lacks, as a price to watch. Its ID names no order. It began when the prices
// of the line last changed: what the market did before says nothing about it.
func (l *loop) lackedStop(s market.Symbol, c order.Cover) order.Order {
	name := fmt.Sprintf("line %s, stop %v, trail %v", c.ID, c.Want.StopLoss, c.Want.TrailPercent)
	spec := order.Spec{ID: name, Symbol: s, Side: c.Side.Opposite(), StopPrice: c.Want.StopLoss, TrailPercent: c.Want.TrailPercent, Best: c.Best}
	asked, ok := l.book.Order(c.By)
	if !ok {
		asked, _ = l.book.Order(c.ID)
	}
	return order.Order{Origin: order.Origin{Spec: spec}, Created: asked.Created}
}

// watchLacking watches the prices of stops that lines lack, so that a price which passes one and comes
// back is not missed.
func (l *loop) watchLacking(lacking []order.Order) {
	same := slices.EqualFunc(l.protector.bare, lacking, func(a, b order.Order) bool { return a.ID == b.ID })
	if l.protector.bare = lacking; !same {
		l.watchHeld(l.local())
	}
}

// want returns the prices that the orders of a line should have now. A target that the venue would not
// take is left out: in a pair that it cannot hold, or at a price that the market has passed, as far as that is known. A trail
// that would begin at a worse price than it has followed is a stop at its level, until the price is
// beyond.
func (l *loop) want(s market.Symbol, line order.Line) order.Protection {
	p := line.Protect
	can, _ := l.takes(s, line)
	passed := l.targetPassed(s, line) && !l.sellsAtTarget(s, line)
	if p.HasStop() && (!can.Pairs || passed || p.TrailPercent.IsPositive() && !can.TrailLeg) && !l.works(s, line.ID, order.TakeProfit) {
		p.TakeProfit = decimal.Zero
	}
	if p.TrailPercent.IsPositive() && !l.trailsNow(s, line) {
		p = l.notWider(s, line, p)
	}
	return p
}

// works reports whether a line has an open order of a role.
func (l *loop) works(s market.Symbol, line string, role order.Role) bool {
	return slices.ContainsFunc(l.book.Legs(s), func(o order.Order) bool {
		return o.Line() == line && o.Role == role && o.CancelRequested.IsZero()
	})
}

// trailsNow reports whether a line has an order that trails.
func (l *loop) trailsNow(s market.Symbol, line order.Line) bool {
	return slices.ContainsFunc(l.book.Legs(s), func(o order.Order) bool {
		return o.Line() == line.ID && o.TrailPercent.Equal(line.Protect.TrailPercent) && o.CancelRequested.IsZero()
	})
}

// nearTick returns the price on the venue's tick that is nearest to a level, and not further from the
// market.
func (l *loop) nearTick(s market.Symbol, level decimal.Decimal, side order.Side) decimal.Decimal {
	inst := l.instruments[s]
	tick := inst.TickAt(level)
	if q, _ := l.cfg.Market.LastQuote(s); !tick.IsPositive() {
		tick = usualTick(q.Last)
	}
	return onTick(level, tick, side)
}

// onTick returns the price on a tick that is nearest to a level of a position of a side, and not further from the
// market.
func onTick(level, tick decimal.Decimal, side order.Side) decimal.Decimal {
	down := order.RoundDown(level, tick)
	if side == order.Buy && down.LessThan(level) {
		return down.Add(tick)
	}
	return down
}

// usualTick returns a tick that a venue takes whose own is not known: the decimals that the last price has, and no
// fewer than two, or four below one.
func usualTick(last decimal.Decimal) decimal.Decimal {
	least := int32(2)
	if last.LessThan(decimal.NewFromInt(1)) {
		least = 4
	}
	return decimal.New(1, -max(least, -last.Exponent()))
}

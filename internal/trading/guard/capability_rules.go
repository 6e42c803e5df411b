package guard

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// capabilityRules are the rules about orders that the venue does not take.
func capabilityRules() []rule {
	venue := func(Policy) string { return "the venue's" }
	return []rule{
		{
			"protection_not_native", false, venue,
			"A stop, a trail, a pair or legs that the venue cannot hold, unless `held_stops` lets candela hold them.",
			checkNative,
		},
		{"venue_trail", false, venue, "A trail_percent outside the venue's bounds or off its step.", checkTrail},
		{"venue_time_in_force", false, venue, "A time_in_force that the venue does not have.", checkTime},
		{"venue_post_only", false, venue, "post_only at a venue that does not have it.", checkPostOnly},
		{"venue_whole_legs", false, venue, "A part of a unit with a stop, a trail or legs at a venue that takes these for whole units only.", checkWholeLegs},
		{"venue_flat_entry", false, venue, "An entry with legs while a position is held, at a venue that takes it only without one.", checkFlatEntry},
	}
}

// venue names the broker in texts.
func (q *orderCheck) venue() string { return cmp.Or(q.Broker, q.Symbol.Venue, "the venue") }

// notNative denies an argument that asks for something the venue cannot hold.
func (q *orderCheck) notNative(a argument, what, remedy string) *Denial {
	return deny(a.name, a.value.String(), "orders that "+q.venue()+" takes", "%s %v: %s has no %s in %v. %s", a.name, a.value, q.venue(), what, q.Symbol, remedy)
}

func checkNative(q *orderCheck) *Denial {
	if d := checkOwnStop(q); d != nil {
		return d
	}
	p, c := planOf(q.Spec), q.Capabilities
	if p.IsZero() {
		return nil
	}
	stop := argument{"stop_loss", p.StopLoss}
	if p.TrailPercent.IsPositive() {
		stop = argument{"trail_percent", p.TrailPercent}
	}
	pair := q.Role == order.TakeProfit && p.HasStop()
	if p.StopLoss.IsPositive() && !c.Stops && !c.StopLimits {
		return q.notNative(stop, "stop", "Omit it, and use set_alert to be notified of the price.")
	}
	if d := checkEntryLegs(q, p, stop); d != nil {
		return d
	}
	switch {
	case pair && !c.Pairs && !c.Stops && c.StopLimits:
		return q.notNative(argument{"take_profit", p.TakeProfit}, "pair of a target and a stop", "Omit stop_loss, or omit take_profit and give stop_loss with stop_loss_limit.")
	case pair && !c.Pairs:
		return q.notNative(argument{"take_profit", p.TakeProfit}, "pair of a target and a stop", "Give stop_loss or take_profit alone.")
	case p.TrailPercent.IsPositive() && !c.Trails():
		return q.notNative(stop, "trailing stop", "Use "+q.fixedStop()+".")
	case p.TrailPercent.IsPositive() && (p.entry || pair) && !c.TrailLeg:
		return q.notNative(stop, "trailing leg", "Use "+q.fixedStop()+", or place the order without it and a trailing stop with reduce_only once it is filled.")
	default:
		return checkStopKind(q, p, stop)
	}
}

// checkStopKind checks what the stop becomes when it triggers.
func checkStopKind(q *orderCheck, p plan, stop argument) *Denial {
	c := q.Capabilities
	switch {
	case p.StopLossLimit.IsPositive() && !c.StopLimits:
		return q.notNative(argument{"stop_loss_limit", p.StopLossLimit}, "stop that becomes a limit order", "Omit stop_loss_limit.")
	case p.StopLoss.IsPositive() && !p.StopLossLimit.IsPositive() && !c.Stops:
		return q.notNative(stop, "stop that becomes a market order",
			fmt.Sprintf("Give stop_loss_limit too, the worst price of that order, such as %v.", q.slipped(p.StopLoss, p.closing)))
	default:
		return nil
	}
}

// fixedStop names the stop that stays where a trailing one would begin.
func (q *orderCheck) fixedStop() string {
	p, base := planOf(q.Spec), q.base().value
	if !base.IsPositive() {
		return "stop_loss"
	}
	level := q.onTick(base.Add(percent(base, p.TrailPercent).Mul(decimal.NewFromInt(p.closing.Sign()))), p.closing == order.Sell)
	text := fmt.Sprintf("stop_loss, such as %v", level)
	if c := q.Capabilities; !c.Stops && c.StopLimits {
		text += fmt.Sprintf(" with stop_loss_limit %v", q.slipped(level, p.closing))
	}
	return text
}

// slipped returns the price beyond a trigger at which an order is assumed to fill.
func (q *orderCheck) slipped(trigger decimal.Decimal, side order.Side) decimal.Decimal {
	off := percent(trigger, q.limits.StopSlippagePct).Mul(decimal.NewFromInt(side.Sign()))
	return q.onTick(trigger.Add(off), side == order.Buy)
}

// checkOwnStop checks the stop price of the order itself.
func checkOwnStop(q *orderCheck) *Denial {
	a, c := argument{"stop_price", q.StopPrice}, q.Capabilities
	switch {
	case !q.waits():
		return nil
	case q.Role == order.Entry && !c.StopEntry:
		return q.notNative(a, "order that waits for a stop_price and has legs", "Omit stop_price, or place the order without legs and protect it with reduce_only once it is filled.")
	case q.Type == order.Market && !c.Stops && c.StopLimits:
		return q.notNative(a, "stop that becomes a market order", fmt.Sprintf("Use type limit with price, such as %v.", q.slipped(q.StopPrice, q.Side)))
	case q.Type == order.Limit && !c.StopLimits && c.Stops:
		return q.notNative(a, "stop that becomes a limit order", "Use type market without price.")
	case q.Type == order.Market && !c.Stops, q.Type == order.Limit && !c.StopLimits:
		return q.notNative(a, "stop", "Omit it, and use set_alert to be notified of the price.")
	default:
		return nil
	}
}

// checkEntryLegs checks that an entry may have its legs.
func checkEntryLegs(q *orderCheck, p plan, stop argument) *Denial {
	if !p.entry {
		return nil
	}
	c, target, first := q.Capabilities, argument{"take_profit", p.TakeProfit}, stop
	if !p.HasStop() {
		first = target
	}
	later := "Place the order without legs (omit " + strings.Join(q.legNames(), " and ") + "), and protect it with reduce_only once it is filled."
	both := p.HasStop() && p.TakeProfit.IsPositive()
	switch {
	case q.Side == order.Sell && !c.SellEntry:
		return q.notNative(first, "legs for a sale that opens a position", "To close a position say reduce_only.")
	case both && !c.TwoLegs && c.OneLeg:
		return q.notNative(target, "entry with two legs", "Omit take_profit or stop_loss.")
	case both && !c.TwoLegs, !both && !c.OneLeg && !c.TwoLegs:
		return q.notNative(first, "entry with legs", later)
	case !both && !c.OneLeg:
		return q.notNative(first, "entry with one leg", "Give both stop_loss and take_profit.")
	case q.Type == order.Market && !c.MarketEntry && q.limits.PriceBandPct.Off:
		return deny("type", "market", "limit", "type market: %s takes legs with limit orders only, and the policy has no price_band_pct from which a limit would follow. Use type limit with price.", q.venue())
	default:
		return nil
	}
}

func checkTrail(q *orderCheck) *Denial {
	trail, c := planOf(q.Spec).TrailPercent, q.Capabilities
	if !trail.IsPositive() {
		return nil
	}
	if trail.GreaterThanOrEqual(c.TrailMin) && trail.LessThanOrEqual(c.TrailMax) {
		return checkMultiple("trail_percent", trail, c.TrailStep, c.TrailMin, c.TrailMax)
	}
	nearest := decimal.Max(c.TrailMin, decimal.Min(trail, c.TrailMax))
	bounds := fmt.Sprintf("from %v to %v", c.TrailMin, c.TrailMax)
	d := deny("trail_percent", trail.String(), bounds, "trail_percent %v is not %s, as %s needs. The nearest is %v.", trail, bounds, q.venue(), nearest)
	d.Nearest = []string{nearest.String()}
	return d
}

func checkTime(q *orderCheck) *Denial {
	if q.Capabilities.Takes(q.TimeInForce) {
		return nil
	}
	names := q.Capabilities.TimeNames()
	list := strings.Join(names, ", ")
	if len(names) == 0 {
		return deny("time_in_force", q.TimeInForce.String(), "none", "time_in_force %v is not possible: %s has only its usual one. Omit it.", q.TimeInForce, q.venue())
	}
	d := deny("time_in_force", q.TimeInForce.String(), list, "time_in_force %v is not possible: %s has %s.", q.TimeInForce, q.venue(), list)
	d.Nearest = names
	return d
}

func checkPostOnly(q *orderCheck) *Denial {
	if !q.PostOnly || q.Capabilities.PostOnly {
		return nil
	}
	return deny("post_only", "true", "false", "post_only true is not possible: %s does not have it. Omit it, and use a price that does not trade at once.", q.venue())
}

// wholeOnly reports whether the venue takes the order for whole units only.
func (q *orderCheck) wholeOnly() bool {
	return q.Capabilities.WholeLegs && (!planOf(q.Spec).IsZero() || q.waits())
}

func checkWholeLegs(q *orderCheck) *Denial {
	if !q.wholeOnly() || q.Quantity.IsInteger() {
		return nil
	}
	below, above := q.Quantity.Floor(), q.Quantity.Ceil()
	d := deny("quantity", q.Quantity.String(), "whole units", "quantity %v: %s takes stops and legs for whole units only.", q.Quantity, q.venue())
	if below.IsPositive() {
		d.Nearest = append(d.Nearest, below.String())
	}
	d.Nearest = append(d.Nearest, above.String())
	d.Text += fmt.Sprintf(" The nearest are %s; without %s %v is possible.", strings.Join(d.Nearest, " and "), strings.Join(q.legNames(), " and "), q.Quantity)
	return d
}

// legNames lists the arguments of the order's stop, target and trigger.
func (q *orderCheck) legNames() []string {
	p := planOf(q.Spec)
	var names []string
	for _, a := range []argument{{"stop_loss", p.StopLoss}, {"stop_loss_limit", p.StopLossLimit}, {"trail_percent", p.TrailPercent}, {"take_profit", p.TakeProfit}} {
		if a.value.IsPositive() {
			names = append(names, a.name)
		}
	}
	if q.waits() {
		names = append(names, "stop_price")
	}
	return names
}

func checkFlatEntry(q *orderCheck) *Denial {
	p := planOf(q.Spec)
	if !p.entry || !q.Capabilities.FlatEntry || q.Held.IsZero() {
		return nil
	}
	a := argument{"take_profit", p.TakeProfit}
	switch {
	case p.StopLoss.IsPositive():
		a = argument{"stop_loss", p.StopLoss}
	case p.TrailPercent.IsPositive():
		a = argument{"trail_percent", p.TrailPercent}
	}
	return deny(a.name, a.value.String(), "no legs while a position is held",
		"%s %v: %s takes an entry with legs only while nothing is held, and %v of %v is. Place the order without legs, and protect it with reduce_only once it is filled.",
		a.name, a.value, q.venue(), q.Held, q.Symbol)
}

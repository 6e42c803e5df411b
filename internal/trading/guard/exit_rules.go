package guard

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// exitRules are the rules about orders against a position that other orders protect.
func exitRules() []rule {
	return []rule{
		{
			"reduce_only", false, func(Policy) string { return "the position" },
			"An order with reduce_only without a position that it reduces, or of more than is held. The stops and targets of what it closes give way to it, and those of the rest stay.",
			checkReduceOnly,
		},
		{
			"reserved", false, func(Policy) string { return "what no stop or target holds" },
			"A sale of what stops and targets hold, without reduce_only; or a purchase that would close what they close.",
			checkReserved,
		},
		{
			"which_line", false, func(Policy) string { return "the position or one line" },
			"A stop or target for a quantity that is neither the whole position nor one line of its plan.",
			checkWhichLine,
		},
		{
			"max_stops", false, func(Policy) string { return "the venue's" },
			"One more stop in a symbol than the venue holds at a time.",
			checkMaxStops,
		},
		{
			"allow_wider_stop", false, func(p Policy) string { return strconv.FormatBool(p.AllowWiderStop) },
			"A stop further from the market than the one that the plan has, unless that is allowed.",
			checkWiderStop,
		},
	}
}

// checkWhichLine denies a change of the plan that does not say what it is for.
func checkWhichLine(q *orderCheck) *Denial {
	if len(q.Unclear) == 0 {
		return nil
	}
	var quantities, lines []string
	for _, l := range q.Unclear {
		quantities = append(quantities, l.Quantity.String())
		lines = append(lines, fmt.Sprintf("line %s of %v (%s)", l.ID, l.Quantity, priceText(l.Protect)))
	}
	d := deny("quantity", q.Quantity.String(), "the whole position or a line",
		"quantity %v is neither the whole position nor one line of its plan, which is %s; %s. Give %v to change all of it, the quantity of one line, or replaces with the ID of its stop or target.",
		q.Quantity, strings.Join(lines, " and "), q.holding(), q.against())
	d.Nearest = append(quantities, q.against().String())
	return d
}

// priceText names the prices of a line.
func priceText(p order.Protection) string {
	var parts []string
	for _, a := range []argument{{"stop_loss", p.StopLoss}, {"trail_percent", p.TrailPercent}, {"take_profit", p.TakeProfit}} {
		if a.value.IsPositive() {
			parts = append(parts, a.name+" "+a.value.String())
		}
	}
	return strings.Join(parts, ", ")
}

// checkMaxStops counts the stops of the plan against what the venue holds.
func checkMaxStops(q *orderCheck) *Denial {
	most := q.Capabilities.MaxStops
	if most == 0 || q.Stops <= most || q.Holder != "" {
		return nil
	}
	field, next := "stop_loss", "Omit stop_loss and then set one stop for the whole position with reduce_only"
	var nearest []string
	if q.ReduceOnly {
		field, next = "quantity", "Give the quantity of a line of its plan, or of the whole position"
		for _, l := range q.Lines {
			nearest = append(nearest, l.Quantity.String())
		}
	}
	d := deny(field, strconv.Itoa(q.Stops), strconv.Itoa(most), "%s holds %d stops in %v at a time, and this would be number %d. %s, or close a part of the position first.",
		q.venue(), most, q.Symbol, q.Stops, next)
	d.Nearest = nearest
	return d
}

// nextStop returns the price that triggers the stop with which the order closes the
// position, and its argument; that of a trail follows from the last price. limited is
// whether it becomes a limit order, which may not trade. It is zero without such a stop.
func (q *orderCheck) nextStop() (stop argument, limited bool) {
	p := planOf(q.Spec)
	switch {
	case p.entry || q.Held.Sign() != -int(q.Side.Sign()):
		return argument{"stop_loss", decimal.Zero}, false
	case q.waits():
		return argument{"stop_price", q.StopPrice}, q.Type == order.Limit
	case p.TrailPercent.IsPositive():
		return argument{"trail_percent", q.trailLevel(q.Side, p.TrailPercent)}, false
	default:
		return argument{"stop_loss", p.StopLoss}, p.StopLossLimit.IsPositive()
	}
}

// trailLevel returns where a trail would trigger now, and zero without a price.
func (q *orderCheck) trailLevel(side order.Side, trail decimal.Decimal) decimal.Decimal {
	spec := order.Spec{Side: side, TrailPercent: trail}
	return openRisk{quote: q.Quote}.level(order.Order{Origin: order.Origin{Spec: spec}})
}

// checkWiderStop compares with the stop of each line whose prices change. One that may not trade is
// wider than any other.
func checkWiderStop(q *orderCheck) *Denial {
	stop, limited := q.nextStop()
	if q.limits.AllowWiderStop || !stop.value.IsPositive() {
		return nil
	}
	above := q.Side == order.Buy
	for _, l := range q.Lines {
		if limited && l.Protect.HasStop() && l.Protect.StopLossLimit.IsZero() {
			return deny(stop.name, stop.value.String(), "a stop that becomes a market order",
				"%s %v: the stop of line %s, whose place it takes, becomes a market order; one that becomes a limit order may not trade, and the policy does not allow a wider stop. Omit the limit.", stop.name, stop.value, l.ID)
		}
		level := q.lineLevel(l)
		if !level.IsPositive() || !isBeyond(stop.value, level, above) {
			continue
		}
		word, _ := words(above)
		d := deny(stop.name, stop.value.String(), level.String()+" or nearer to the price",
			"%s: a stop at %v is %s the stop at %v of line %s, whose place it takes, and the policy does not allow a wider stop. Use %v or a price nearer to the market.",
			stop.name, stop.value, word, level, l.ID, level)
		if stop.name != "trail_percent" {
			d.Nearest = []string{level.String()}
		}
		return d
	}
	return nil
}

// lineLevel returns the price that triggers the stop of a line. Nothing may be known of a trail:
// then it follows from the last price.
func (q *orderCheck) lineLevel(l order.Line) decimal.Decimal {
	if l.Protect.TrailPercent.IsPositive() && l.Best.IsZero() {
		return q.trailLevel(q.Side, l.Protect.TrailPercent)
	}
	return l.Level()
}

// Rests reports whether a limit order would wait in the book: it does not trade at once, and may stay.
func Rests(p Policy, in Intent, f Facts) bool {
	q := newCheck(p, State{}, in, f)
	if q.Type != order.Limit || q.waits() || q.TimeInForce == order.IOC || q.TimeInForce == order.FOK || !q.fresh() {
		return false
	}
	taker, known := q.Quote.TakerPrice(q.Side)
	if !known {
		taker = q.Quote.Last
	}
	return isBeyond(taker, q.Price, q.Side == order.Buy)
}

// Takes returns why the venue does not take the orders of a line, nil if it does.
func Takes(p Policy, in Intent, f Facts) *Denial {
	q := newCheck(p, State{}, in, f)
	for _, r := range capabilityRules() {
		if d := r.check(q); d != nil {
			d.Rule = r.name
			return d
		}
	}
	return nil
}

// claimed returns how much the exits may close. Those that exclude each other count once.
func claimed(exits []order.Order) decimal.Decimal {
	var sum pending
	for _, o := range exits {
		sum.add(o, decimal.Zero)
	}
	return sum.buy.Add(sum.sell)
}

// against returns how much is held that orders of this side close.
func (q *orderCheck) against() decimal.Decimal {
	return decimal.Max(q.Held.Mul(decimal.NewFromInt(-q.Side.Sign())), decimal.Zero)
}

// openSame returns what open orders of the order's side may still trade.
func (q *orderCheck) openSame() decimal.Decimal {
	if q.Side == order.Buy {
		return q.OpenBuy
	}
	return q.OpenSell
}

// checkReduceOnly counts what is left beside the orders that are not released.
func checkReduceOnly(q *orderCheck) *Denial {
	if !q.ReduceOnly || q.reduces() {
		return nil
	}
	most := decimal.Max(q.against().Sub(q.openSame()), decimal.Zero)
	if q.against().IsZero() {
		next := "to open a position omit reduce_only"
		switch {
		case !q.Held.IsZero():
			next = fmt.Sprintf("side %v reduces it", q.Side.Opposite())
		case q.Side == order.Sell && !q.limits.AllowShort:
			next = "side buy without reduce_only opens a position"
		}
		return deny("reduce_only", "true", "a position to reduce",
			"reduce_only true: there is no position that a %v of %v reduces; %s. Check get_positions; %s.", q.Side, q.Quantity, q.holding(), next)
	}
	d := deny("quantity", q.Quantity.String(), most.String(), "quantity %v is more than reduce_only allows, %v; %s.", q.Quantity, most, q.holding())
	if nearest := q.floor(most); nearest.IsPositive() {
		d.Nearest = []string{nearest.String()}
		d.Text += " The nearest is " + nearest.String() + "."
	}
	return d
}

// checkReserved denies an order that needs what exits hold and does not release them.
func checkReserved(q *orderCheck) *Denial {
	held, free := q.against(), q.against().Sub(q.openSame())
	if ended := q.endedEntries(q.Quantity, free); !q.ReduceOnly && held.IsPositive() && len(ended) > 0 {
		return deny("quantity", q.Quantity.String(), "what no open entry brought",
			"quantity %v: order %s is filled in part, and its stop and target will close all that it brings. Say reduce_only true to cancel the rest of it first, or cancel_order %s.",
			q.Quantity, ended[0].ID, ended[0].ID)
	}
	if q.ReduceOnly || len(q.Exits) == 0 || !held.IsPositive() || q.Quantity.LessThanOrEqual(free) || q.Quantity.GreaterThan(free.Add(claimed(q.Exits))) {
		return nil
	}
	names := make([]string, 0, len(q.Exits))
	for _, stops := range []bool{true, false} {
		for _, o := range q.Exits {
			if o.IsStop() == stops {
				names = append(names, exitName(o)+" "+o.ID)
			}
		}
	}
	d := deny("quantity", q.Quantity.String(), decimal.Max(free, decimal.Zero).String(),
		"quantity %v: %v of %v is held by %s. Say reduce_only true to release them, or cancel_order %s first.",
		q.Quantity, claimed(q.Exits), q.Symbol, strings.Join(names, " and "), cmp.Or(q.Exits[0].Group.Name, q.Exits[0].ID))
	if nearest := q.floor(free); nearest.IsPositive() {
		d.Nearest = []string{nearest.String()}
		d.Text += fmt.Sprintf(" %v is free.", nearest)
	}
	return d
}

// exitName says what an open order against a position is.
func exitName(o order.Order) string {
	switch {
	case o.StopPrice.IsPositive(), o.TrailPercent.IsPositive():
		return "stop"
	case o.Role == order.TakeProfit, o.Group.Name != "":
		return "target"
	default:
		return "order"
	}
}

// endedEntries returns the entries, with their legs, that must end before this much of what
// is free is closed: the legs of an entry close all that it brings, so what it brought so
// far must not be closed while more of it may come.
func (f Facts) endedEntries(quantity, free decimal.Decimal) []order.Order {
	var bound decimal.Decimal
	for _, o := range f.Filling {
		if o.Role == order.Entry {
			bound = bound.Add(o.Claimed)
		}
	}
	var ended []order.Order
	for _, o := range f.Filling {
		if o.Role == order.Entry {
			if quantity.LessThanOrEqual(free.Sub(bound)) {
				break
			}
			bound = bound.Sub(o.Claimed)
		}
		ended = append(ended, o)
	}
	return ended
}

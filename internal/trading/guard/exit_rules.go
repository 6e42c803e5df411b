package guard

import (
	"cmp"
	"fmt"
	"slices"
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
			"An order with reduce_only without a position that it reduces, or of more than is held. Stops and targets that hold the position are released for it.",
			checkReduceOnly,
		},
		{
			"reserved", false, func(Policy) string { return "what no stop or target holds" },
			"A sale of what stops and targets hold, without reduce_only; or a purchase that would close what they close.",
			checkReserved,
		},
		{
			"allow_wider_stop", false, func(p Policy) string { return strconv.FormatBool(p.AllowWiderStop) },
			"A stop further from the market than the one whose place it takes, unless that is allowed.",
			checkWiderStop,
		},
	}
}

// endedStops returns the stops of the position that end for the order. Those of an entry that
// is replaced are its own.
func (q *orderCheck) endedStops() []order.Order {
	ends := slices.Clone(q.released)
	if len(q.Replaced) > 0 && q.Replaced[0].Role != order.Entry {
		ends = append(ends, q.Replaced...)
	}
	return slices.DeleteFunc(ends, func(o order.Order) bool { return !o.IsStop() || !o.Protects(q.Held) })
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

// checkWiderStop compares with each of the stops that end for the order. One that may not
// trade is wider than any other.
func checkWiderStop(q *orderCheck) *Denial {
	stop, limited := q.nextStop()
	if q.limits.AllowWiderStop || !stop.value.IsPositive() {
		return nil
	}
	above := q.Side == order.Buy
	for _, o := range q.endedStops() {
		level := openRisk{quote: q.Quote}.level(o)
		if limited && o.Type == order.Market {
			return deny(stop.name, stop.value.String(), "a stop that becomes a market order",
				"%s %v: the stop of order %s, whose place it takes, becomes a market order; one that becomes a limit order may not trade, and the policy does not allow a wider stop. Omit the limit.", stop.name, stop.value, o.ID)
		}
		if !level.IsPositive() || !isBeyond(stop.value, level, above) {
			continue
		}
		word, _ := words(above)
		d := deny(stop.name, stop.value.String(), level.String()+" or nearer to the price",
			"%s: a stop at %v is %s the stop at %v of order %s, whose place it takes, and the policy does not allow a wider stop. Use %v or a price nearer to the market.",
			stop.name, stop.value, word, level, o.ID, level)
		if stop.name != "trail_percent" {
			d.Nearest = []string{level.String()}
		}
		return d
	}
	return nil
}

// checkKeepsStop denies an order that rests in the place of the stops of a position.
func checkKeepsStop(q *orderCheck) *Denial {
	stops := q.endedStops()
	if stop, _ := q.nextStop(); len(stops) == 0 || stop.value.IsPositive() || q.tradesNow() {
		return nil
	}
	return deny("stop_loss", none, "a stop",
		"stop_loss is %s: the order would wait at %v in place of the stop %s, and the policy requires a stop (require_stop = %q). Give stop_loss too, or close at once with type market.",
		none, q.Price, stops[0].ID, string(q.limits.RequireStop))
}

// tradesNow reports whether the order does not rest.
func (q *orderCheck) tradesNow() bool {
	if q.Type == order.Market {
		return !q.waits()
	}
	taker, known := q.Quote.TakerPrice(q.Side)
	if !known {
		taker = q.Quote.Last
	}
	return !q.waits() && q.fresh() && !isBeyond(taker, q.Price, q.Side == order.Buy)
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

// Releases returns the orders that must be cancelled before an order with reduce_only can
// be sent, because they hold what it closes: as few as are needed, the newest first, and
// all orders of a group together. Entries that are filled in part are among them.
func Releases(in Intent, f Facts) []order.Order {
	q := orderCheck{Intent: in, Facts: f}
	if !in.ReduceOnly {
		return nil
	}
	var released []order.Order
	free := q.against().Sub(q.openSame())
	done := make(map[string]bool)
	for _, o := range f.Exits {
		if in.Quantity.LessThanOrEqual(free) {
			break
		}
		if o.Group.Name != "" && done[o.Group.Name] {
			continue
		}
		done[o.Group.Name] = true
		var together []order.Order
		for _, other := range f.Exits {
			if other.ID == o.ID || o.Group.Name != "" && other.Group.Name == o.Group.Name {
				together = append(together, other)
			}
		}
		free = free.Add(claimed(together))
		released = append(released, together...)
	}
	return append(released, f.endedEntries(in.Quantity, free)...)
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

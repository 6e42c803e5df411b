package paper

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// maxGroup is an entry with a stop and a target.
const maxGroup = 3

// Capabilities returns which orders are taken in a symbol: all but entries that sell, because
// the account has no shorts but in perpetual futures. Day orders need a session.
func (b *Broker) Capabilities(ctx context.Context, s market.Symbol) (order.Capabilities, error) {
	inst, err := b.cfg.Market.Instrument(ctx, s)
	if err != nil {
		return order.Capabilities{}, err
	}
	return order.Capabilities{
		Stops: true, StopLimits: true, Times: times(inst.Calendar), PostOnly: true, TrailMin: minTrail(), TrailMax: maxTrail(), TrailFrom: true,
		Pairs: true, OneLeg: true, TwoLegs: true, MarketEntry: true, TrailLeg: true, LegsInPart: true, KeepsLegs: true,
		SellEntry: inst.Class == provider.Perpetual, Perpetuals: inst.Class == provider.Perpetual, MarkTriggers: inst.MarkTriggers,
	}, nil
}

// minTrail and maxTrail bound the distance of an order that trails, in percent.
func minTrail() decimal.Decimal { return decimal.New(1, -1) }
func maxTrail() decimal.Decimal { return decimal.NewFromInt(20) }

func times(c market.Calendar) []order.TimeInForce {
	if c.RoundTheClock() {
		return []order.TimeInForce{order.GTC, order.IOC, order.FOK}
	}
	return []order.TimeInForce{order.GTC, order.Day, order.IOC, order.FOK}
}

// sessionEnd returns when the session ends that is open, or is the next, by the clock of the
// venue: the day of a replay is that of its bars.
func (p *plan) sessionEnd(venue string, c market.Calendar) time.Time {
	var clock provider.Clock
	if p.clock != nil {
		clock = p.clock(venue)
	}
	now := clock.Unix(p.now)
	span, ok := c.Bucket(market.Day1, now)
	if !ok {
		span = c.Next(market.Day1, now)
	}
	return clock.Wall(span.Close)
}

// single refuses an order that belongs to others.
func single(orders []order.Spec) error {
	if o := orders[0]; o.Group.Leg || o.Role == order.Entry || !o.Protect.IsZero() {
		return fault.Field("order", o.ID, "an order without legs; one with legs is sent with them, as a group")
	}
	return nil
}

// grouped refuses orders that are no group.
func grouped(orders []order.Spec) error {
	if len(orders) < 2 || len(orders) > maxGroup {
		return fault.Missing("orders", "an entry with one or two legs, or a target and its stop")
	}
	first := orders[0]
	entry := first.Role == order.Entry
	if !entry && (len(orders) != 2 || first.Role != order.TakeProfit) || first.Group.Leg {
		return fault.Field("orders", first.Role.String(), "an entry with one or two legs, or a target and its stop")
	}
	side := first.Side
	if entry {
		side = side.Opposite()
	}
	roles, ids := map[order.Role]bool{first.Role: true}, map[string]bool{first.ID: true}
	for _, o := range orders[1:] {
		if o.Role != order.StopLoss && o.Role != order.TakeProfit || roles[o.Role] || ids[o.ID] || o.Group != (order.Group{Name: first.ID, Leg: entry}) ||
			o.Side != side || o.Symbol != first.Symbol || !o.Quantity.Equal(first.Quantity) || (o.Role == order.StopLoss) != stops(o) {
			return fault.Field("orders", o.ID, "a stop or a target of the group, of the same symbol and quantity, each once")
		}
		roles[o.Role], ids[o.ID] = true, true
	}
	if first.Group.Name != first.ID {
		return fault.Field("orders", first.ID, "a group with the name of its first order")
	}
	return nil
}

// stops reports whether an order waits for a stop price.
func stops(o order.Spec) bool { return o.StopPrice.IsPositive() || o.TrailPercent.IsPositive() }

// field returns what the client calls a price of an order.
func field(o order.Spec, name string) string {
	switch {
	case o.Role == order.TakeProfit:
		return "take_profit"
	case o.Role == order.StopLoss && name == "stop_price":
		return "stop_loss"
	case o.Role == order.StopLoss:
		return "stop_loss_limit"
	}
	return name
}

// soundTime holds how long an order stays open against what its symbol and type allow.
func soundTime(o order.Spec, inst provider.Instrument) error {
	atOnce := o.TimeInForce == order.IOC || o.TimeInForce == order.FOK
	switch {
	case o.TimeInForce == order.Day && inst.Calendar.RoundTheClock():
		return fault.Field("time_in_force", "day", "gtc, ioc or fok: "+o.Symbol.String()+" trades round the clock and has no session")
	case atOnce && o.Group.Leg:
		return fault.Field("time_in_force", o.TimeInForce.String(), "gtc or day for a leg, which must wait")
	case o.PostOnly && (o.Type != order.Limit || atOnce || stops(o)):
		return fault.Field("post_only", "true", "limit orders that rest, without stop_price, ioc or fok")
	}
	return nil
}

// soundStop holds the stop price and the trail against the rules of the symbol.
func soundStop(o order.Spec, inst provider.Instrument) error {
	trail := o.TrailPercent
	switch {
	case o.StopPrice.IsNegative():
		return fault.Field(field(o, "stop_price"), o.StopPrice.String(), "a number above 0")
	case !trail.IsZero() && (trail.LessThan(minTrail()) || trail.GreaterThan(maxTrail())):
		return fault.Field("trail_percent", trail.String(), minTrail().String()+" to "+maxTrail().String())
	case !trail.IsZero() && !o.StopPrice.IsZero():
		return fault.Field("trail_percent", trail.String(), "one of trail_percent and "+field(o, "stop_price"))
	case !trail.IsZero() && o.Type == order.Limit:
		return fault.Field("trail_percent", trail.String(), "market orders; a limit would be passed as the price falls")
	case o.Best.IsNegative() || !o.Best.IsZero() && trail.IsZero():
		return fault.Field("best", o.Best.String(), "a price above 0, with trail_percent")
	case o.StopPrice.IsZero():
		return nil
	}
	return soundPrice(field(o, "stop_price"), o.StopPrice, o.Quantity, inst)
}

// placed refuses prices on the wrong side: of the market, or for legs of the price of their
// entry. taker is what the first order would pay now; rests says that it does not.
func placed(orders []order.Spec, last, taker decimal.Decimal, rests bool) error {
	first := orders[0]
	if first.PostOnly && !rests {
		return fault.Field("post_only", "true", "a price that rests: at "+first.Price.String()+" it would take "+taker.String()+" now")
	}
	if first.Role == order.TakeProfit && len(orders) > 1 && !rests {
		return fault.Field("take_profit", first.Price.String(), "a price beyond "+taker.String()+", at which the market is now")
	}
	from := last
	switch {
	case first.Role != order.Entry:
	case !rests:
		from = taker
	case first.Type == order.Limit:
		from = first.Price
	default:
		from = first.StopPrice
	}
	for i, o := range orders {
		if i == 0 {
			if err := beyond(o, last); err != nil {
				return err
			}
			continue
		}
		if err := beyond(o, from); err != nil {
			return err
		}
	}
	return nil
}

// beyond refuses a stop that a price has reached already, and the target of an entry that is
// no profit.
func beyond(o order.Spec, price decimal.Decimal) error {
	side := map[order.Side]string{order.Sell: "below ", order.Buy: "above "}
	switch {
	case o.StopPrice.IsPositive() && (&ticket{Spec: o}).reached(price):
		return fault.Field(field(o, "stop_price"), o.StopPrice.String(), "a price "+side[o.Side]+price.String()+": it would trigger at once")
	case o.Group.Leg && o.Role == order.TakeProfit && o.Price.Sub(price).Sign() != -int(o.Side.Sign()):
		return fault.Field("take_profit", o.Price.String(), "a price "+side[o.Side.Opposite()]+price.String())
	}
	return nil
}

package desk

import (
	"maps"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// levels are the stop prices of open orders that trail, by ID, as the venue last reported them.
// They are shown and not stored: a venue moves them often, and reports them after a restart.
type levels map[string]decimal.Decimal

// noteLevel keeps the stop price that the venue reports of an order that trails. A trail never goes back, so a
// price that is further from the market is that of an older answer.
func (l *loop) noteLevel(o order.Order, r order.Report) {
	if !o.TrailPercent.IsPositive() || !r.StopPrice.IsPositive() {
		return
	}
	if known, ok := l.levels[o.ID]; ok && r.StopPrice.Cmp(known) != -int(o.Side.Sign()) {
		return
	}
	l.levels[o.ID] = r.StopPrice
	l.publish()
}

// best returns the best price that the trail of a line has followed, zero if nothing is known: as it was
// recorded, as its orders have followed it, or as the venue reports their level.
func (l *loop) best(line order.Line) decimal.Decimal {
	best := line.Best
	better := func(price decimal.Decimal) {
		if price.IsPositive() && (best.IsZero() || price.Cmp(best) == int(line.Side.Sign())) {
			best = price
		}
	}
	if !line.Protect.TrailPercent.IsPositive() {
		return decimal.Zero
	}
	for _, o := range l.book.OrdersOf(line) {
		if !o.TrailPercent.Equal(line.Protect.TrailPercent) || o.Waiting {
			continue
		}
		better(o.Best)
		if t := l.held.triggers[o.ID]; t != nil {
			better(decimal.NewFromFloat(t.Best()))
		}
		if level, ok := l.levels[o.ID]; ok {
			better(bestOf(o, level))
		}
	}
	return best
}

// bestOf returns the best price that an order which trails has followed by its level. It is rounded towards the
// market, so that the level which follows from it is no worse.
func bestOf(o order.Order, level decimal.Decimal) decimal.Decimal {
	hundred := decimal.NewFromInt(100)
	best := level.Mul(hundred).DivRound(hundred.Add(o.TrailPercent.Mul(decimal.NewFromInt(o.Side.Sign()))), 2*bestDigits)
	if o.Side == order.Sell {
		return best.RoundCeil(bestDigits)
	}
	return best.RoundFloor(bestDigits)
}

// bestDigits is how exact a best price is that follows from a level: more than order.Line.Level is.
const bestDigits = 16

// notWider returns the prices of a line as they are placed again. A trail that would begin at a worse price
// than it has followed is a stop at its level.
func (l *loop) notWider(s market.Symbol, line order.Line, p order.Protection) order.Protection {
	can, _ := l.takes(s, line)
	q, ok := l.cfg.Market.LastQuote(s)
	behind := ok && line.Best.IsPositive() && q.Last.Cmp(line.Best) != int(line.Side.Sign())
	if p.TrailPercent.IsPositive() && behind && !can.TrailFrom {
		p.StopLoss, p.TrailPercent = l.nearTick(s, line.Level(), line.Side), decimal.Zero
	}
	return p
}

// goOn lets the trails among orders begin at the best price that the one before has followed, where the
// venue takes that. What candela holds goes on by itself.
func (l *loop) goOn(orders []order.Origin, best decimal.Decimal) []order.Origin {
	for i := range orders {
		if g := &orders[i]; g.TrailPercent.IsPositive() && g.Holder == "" && l.capabilities[g.Symbol].TrailFrom {
			g.Best = best
		}
	}
	return orders
}

// shownLevels returns the levels for readers, without those of orders that have ended.
func (l *loop) shownLevels() levels {
	maps.DeleteFunc(l.levels, func(id string, _ decimal.Decimal) bool {
		o, ok := l.book.Order(id)
		return !ok || o.Status.Final()
	})
	if len(l.levels) == 0 {
		return nil
	}
	return maps.Clone(l.levels)
}

// show sets the stop prices of orders that trail to those of the moment. A trail that candela
// holds follows the best price that it has recorded.
func (all levels) show(orders []order.Order) {
	for i := range orders {
		o := &orders[i]
		if !o.TrailPercent.IsPositive() || o.Status.Final() {
			continue
		}
		if level, ok := all[o.ID]; ok {
			o.StopPrice = level
		} else if o.Local() && o.Best.IsPositive() {
			distance := o.Best.Mul(o.TrailPercent).Shift(-2).Mul(decimal.NewFromInt(o.Side.Sign()))
			o.StopPrice = o.Best.Add(distance).Round(levelDigits)
		}
	}
}

// levelDigits is how exact the level of a trail is shown that candela holds.
const levelDigits = 8

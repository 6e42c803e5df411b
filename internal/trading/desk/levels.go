package desk

import (
	"maps"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// levels are the stop prices of open orders that trail, by ID, as the venue last reported them.
// They are shown and not stored: a venue moves them often, and reports them after a restart.
type levels map[string]decimal.Decimal

// noteLevel keeps the stop price that the venue reports of an order that trails.
func (l *loop) noteLevel(o order.Order, r order.Report) {
	if o.TrailPercent.IsPositive() && r.StopPrice.IsPositive() && !l.levels[o.ID].Equal(r.StopPrice) {
		l.levels[o.ID] = r.StopPrice
		l.publish()
	}
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

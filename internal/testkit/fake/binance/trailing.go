package binance

import (
	"time"

	"github.com/shopspring/decimal"
)

// follow starts the order's trail at the last price, unless it has a stop price to reach
// first.
func (o *Order) follow(last decimal.Decimal, at time.Time) {
	if o.TrailingDelta > 0 && o.StopPrice.IsZero() {
		o.TrailingSince, o.best = at, last
	}
}

// trails reports whether a price is away from the best one by the order's distance. The
// price that meets the stop price is the first best one.
func (o *Order) trails(price decimal.Decimal, at time.Time) bool {
	if o.TrailingSince.IsZero() {
		if o.met(price) {
			o.TrailingSince, o.best, o.Updated = at, price, at
		}
		return false
	}
	distance := decimal.New(o.TrailingDelta, -4)
	if o.Side == sideSell {
		o.best = decimal.Max(o.best, price)
		return price.LessThanOrEqual(o.best.Mul(decimal.NewFromInt(1).Sub(distance)))
	}
	o.best = decimal.Min(o.best, price)
	return price.GreaterThanOrEqual(o.best.Mul(decimal.NewFromInt(1).Add(distance)))
}

// milli writes a time in milliseconds, and -1 for one that has not come.
func milli(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return t.UnixMilli()
}

// allowedDelta reports whether the filter TRAILING_DELTA lets the order's distance pass.
func (r rules) allowedDelta(o *Order) bool {
	least, most := r.minTrailBelow, r.maxTrailBelow
	if o.above() {
		least, most = r.minTrailAbove, r.maxTrailAbove
	}
	return o.TrailingDelta == 0 || o.TrailingDelta >= least && o.TrailingDelta <= most
}

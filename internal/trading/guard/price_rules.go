package guard

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// The rules that weigh an order at a price.

func checkQuoteAge(q *orderCheck) *Denial {
	limit := q.policy.MaxQuoteAge
	switch {
	case q.fresh(), q.reduces():
		return nil
	case !q.Quote.Last.IsPositive():
		return &Denial{Limit: limit.String(), Value: "no price", RetryAfter: time.Second, Text: fmt.Sprintf("there is no price of %v to judge the order by", q.Symbol)}
	}
	age := q.Now.Sub(q.Quote.At).Round(time.Millisecond)
	d := &Denial{
		Limit: limit.String(), Value: age.String(), RetryAfter: time.Second,
		Text: fmt.Sprintf("the last price of %v, %v, is %v old and the limit is %v", q.Symbol, q.Quote.Last, age, limit),
	}
	if q.Quote.Stalled(q.Now) {
		d.RetryAfter = 0
		d.Text += "; its market may be closed, its feed lost or its file old, so trying again soon does not help"
	}
	return d
}

// checkBand refuses a limit price that is too far above the last price, or below
// it. Without a fresh price, which only an order that reduces a position gets so
// far with, there is nothing to hold it against.
func checkBand(q *orderCheck, limit Limit, above bool) *Denial {
	if q.Type != order.Limit || limit.Off || !q.fresh() {
		return nil
	}
	last := q.Quote.Last
	width := percent(last, limit.Value)
	edge, beyond, word := last.Sub(width), q.Price.LessThan(last.Sub(width)), "below"
	if above {
		edge, beyond, word = last.Add(width), q.Price.GreaterThan(last.Add(width)), "above"
	}
	if !beyond {
		return nil
	}
	off := q.Price.Sub(last).Abs().Shift(2).DivRound(last, 2) // for people
	nearest := q.onTick(edge, above)
	d := &Denial{
		Limit: perCent(limit), Value: off.String() + " %", Field: "price",
		Text: fmt.Sprintf("price: %v is %v %% %s the last price %v and the limit is %v", q.Price, off, word, last, perCent(limit)),
	}
	if nearest.IsPositive() {
		d.Nearest = []string{nearest.String()}
		d.Text += "; the nearest allowed is " + nearest.String()
	}
	return d
}

// onTick returns the multiple of the venue's tick next to a price, towards the
// last price.
func (q *orderCheck) onTick(edge decimal.Decimal, down bool) decimal.Decimal {
	tick := q.Instrument.Tick
	if !tick.IsPositive() {
		return edge
	}
	_, rest := edge.QuoRem(tick, 0)
	if edge = edge.Sub(rest); !down && !rest.IsZero() {
		edge = edge.Add(tick)
	}
	return edge
}

func checkNotional(q *orderCheck) *Denial {
	limit, worth := q.limits.MaxOrderNotional, q.notional(q.Quantity)
	if !limit.exceeded(worth) {
		return nil
	}
	return &Denial{
		Limit: limit.String(), Value: worth.String(), Field: "quantity",
		Text: fmt.Sprintf("quantity: %v at up to %v is worth %s and the limit of one order is %v", q.Quantity, q.worst(), money(worth), limit),
	}
}

func checkSymbolExposure(q *orderCheck) *Denial {
	_, after := q.exposure()
	limit, worth := q.limits.MaxSymbolExposure, q.notional(after.Abs())
	if !limit.exceeded(worth) || !q.grows() {
		return nil
	}
	return &Denial{
		Limit: limit.String(), Value: worth.String(), Field: "quantity",
		Text: fmt.Sprintf("with this order, the position and the open orders, up to %v of %v could be held, worth %s, and the limit of a symbol is %v", after.Abs(), q.Symbol, money(worth), limit),
	}
}

func checkExposure(q *orderCheck) *Denial {
	_, after := q.exposure()
	limit, worth := q.policy.MaxExposure, q.notional(after.Abs()).Add(q.Others)
	if !limit.exceeded(worth) || !q.grows() {
		return nil
	}
	return &Denial{
		Limit: limit.String(), Value: worth.String(), Field: "quantity",
		Text: fmt.Sprintf("with this order all positions and open orders could be worth %s and the limit is %v", money(worth), limit),
	}
}

func checkDailyNotional(q *orderCheck) *Denial {
	limit, worth := q.policy.MaxDailyNotional, q.Traded.Add(q.notional(q.Quantity))
	if !limit.exceeded(worth) || q.reduces() {
		return nil
	}
	return &Denial{
		Limit: limit.String(), Value: worth.String(), RetryAfter: untilMidnight(q.Now),
		Text: fmt.Sprintf("with this order %s could be traded since midnight UTC and the limit of a day is %v", money(worth), limit),
	}
}

// untilMidnight returns how long the UTC day still lasts.
func untilMidnight(now time.Time) time.Duration {
	return 24*time.Hour - now.Sub(now.Truncate(24*time.Hour))
}

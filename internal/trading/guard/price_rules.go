package guard

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// The rules that need a price.

func checkQuoteAge(q *orderCheck) *Denial {
	limit := q.policy.MaxQuoteAge
	switch {
	case q.fresh(), q.reduces():
		return nil
	case !q.Quote.Last.IsPositive():
		return &Denial{Limit: limit.String(), Value: "no price", RetryAfter: time.Second, Text: fmt.Sprintf("No current price for %v. Retry in 1 s.", q.Symbol)}
	}
	age := q.Now.Sub(q.Quote.At).Round(time.Millisecond)
	d := &Denial{
		Limit: limit.String(), Value: age.String(), RetryAfter: time.Second,
		Text: fmt.Sprintf("The last price of %v, %v, is %v old; the limit is %v.", q.Symbol, q.Quote.Last, age, limit),
	}
	if q.Quote.Stalled(q.Now) {
		d.RetryAfter = 0
		d.Text += " Its market may be closed, its feed lost or its file old, so a retry soon does not help."
	}
	return d
}

// checkBand denies a limit price that is too far above or below the last price. Without
// a fresh price only an order that reduces a position gets here, and it passes.
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
	off := q.Price.Sub(last).Abs().Shift(2).DivRound(last, 2) // rounded for display
	nearest := q.onTick(edge, above)
	d := &Denial{
		Limit: perCent(limit), Value: off.String() + " %", Field: "price",
		Text: fmt.Sprintf("price %v is %v %% %s the last price %v; the limit is %v.", q.Price, off, word, last, perCent(limit)),
	}
	if nearest.IsPositive() {
		d.Nearest = []string{nearest.String()}
		d.Text += " The nearest allowed price is " + nearest.String() + "."
	}
	return d
}

// onTick rounds a price to the venue's tick, towards the last price.
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
		Text: fmt.Sprintf("quantity %v at up to %v is worth %s; the limit per order is %v.", q.Quantity, q.worst(), money(worth), limit),
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
		Text: fmt.Sprintf("Exposure in %[2]v could reach %[1]v, worth %[3]s; the limit per symbol is %[4]v.", after.Abs(), q.Symbol, money(worth), limit),
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
		Text: fmt.Sprintf("Total exposure could reach %s; the limit is %v.", money(worth), limit),
	}
}

func checkDailyNotional(q *orderCheck) *Denial {
	limit, worth := q.policy.MaxDailyNotional, q.Traded.Add(q.notional(q.Quantity))
	if !limit.exceeded(worth) || q.reduces() {
		return nil
	}
	return &Denial{
		Limit: limit.String(), Value: worth.String(), RetryAfter: untilMidnight(q.Now),
		Text: fmt.Sprintf("The notional traded since midnight UTC could reach %s; the limit per day is %v.", money(worth), limit),
	}
}

// untilMidnight returns the rest of the UTC day.
func untilMidnight(now time.Time) time.Duration {
	return 24*time.Hour - now.Sub(now.Truncate(24*time.Hour))
}

package guard

import (
	"fmt"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// CheckRequest returns an error if the arguments of a request exclude each other or cannot
// be numbers of an order. It needs no price. Such a request makes no order, so nothing is
// recorded. Rules about a single order are those of Check.
func CheckRequest(r order.Request) error {
	for _, check := range []func(order.Request) *Denial{requestNumbers, requestStops, requestPrices, requestExit, requestTimes, requestSize, requestRisk, requestDistances} {
		if d := check(r); d != nil {
			return &fault.Error{
				Kind: fault.Invalid, Code: "invalid_argument", Message: d.Text, Field: d.Field, Value: d.Value, Allowed: d.Limit, Suggestions: d.Nearest,
			}
		}
	}
	return nil
}

// argument is a number of a request with its name.
type argument struct {
	name  string
	value decimal.Decimal
}

// requestNumbers checks the new arguments; amounts checks quantity and price.
func requestNumbers(r order.Request) *Denial {
	const limit = "greater than 0 with at most 24 digits on each side of the point"
	for _, a := range []argument{
		{"stop_price", r.StopPrice},
		{"stop_loss", r.Protect.StopLoss},
		{"stop_loss_limit", r.Protect.StopLossLimit},
		{"take_profit", r.Protect.TakeProfit},
		{"trail_percent", r.Protect.TrailPercent},
		{"risk_pct", r.Sizing.Percent},
		{"risk_amount", r.Sizing.Amount},
		{"notional", r.Sizing.Notional},
		{"stop_loss_pct", r.Sizing.StopLossPct},
		{"take_profit_pct", r.Sizing.TakeProfitPct},
	} {
		if !order.Bounded(a.value) || a.value.IsNegative() {
			return deny(a.name, formatNumber(a.value), limit, "%s must be %s (got %s).", a.name, limit, formatNumber(a.value))
		}
	}
	for _, a := range []argument{{"trail_percent", r.Protect.TrailPercent}, {"risk_pct", r.Sizing.Percent}} {
		if hundred := decimal.NewFromInt(100); a.value.GreaterThanOrEqual(hundred) {
			d := deny(a.name, a.value.String(), "below 100", "%s %v is not below 100: it is per cent, not a price or an amount.", a.name, a.value)
			if a.name == "trail_percent" {
				d.Text += fmt.Sprintf(" For a stop that stays at a price use stop_loss %v in place of trail_percent.", a.value)
			}
			return d
		}
	}
	return nil
}

// exclude denies an argument that another one excludes.
func exclude(a argument, other, text string) *Denial {
	return deny(a.name, a.value.String(), "no "+a.name+" with "+other, "%s %v is not possible with %s%s", a.name, a.value, other, text)
}

// requestStops checks that there is one kind of stop.
func requestStops(r order.Request) *Denial {
	p := r.Protect
	trail, limit := argument{"trail_percent", p.TrailPercent}, argument{"stop_loss_limit", p.StopLossLimit}
	switch {
	case p.TrailPercent.IsPositive() && r.StopPrice.IsPositive() && r.ReduceOnly:
		return exclude(trail, "stop_price", "; give one of them. A trailing stop begins at the current price.")
	case p.TrailPercent.IsPositive() && p.StopLoss.IsPositive():
		return exclude(trail, "stop_loss", "; give one of them: a stop that follows the price, or one that stays.")
	case p.StopLossLimit.IsPositive() && !p.StopLoss.IsPositive():
		return deny(limit.name, limit.value.String(), "only with stop_loss", "stop_loss_limit %v needs stop_loss: it is the worst price of the order that stop_loss triggers.", limit.value)
	default:
		return nil
	}
}

// closingSide returns the side of the orders that close the position.
func closingSide(r order.Request) order.Side {
	if r.ReduceOnly {
		return r.Side
	}
	return r.Side.Opposite()
}

// requestPrices checks stop_loss against its limit and the target.
func requestPrices(r order.Request) *Denial {
	p, sells := r.Protect, closingSide(r) == order.Sell
	beyond, before := "above", "below"
	if !sells {
		beyond, before = before, beyond
	}
	isBeyond := func(a, b decimal.Decimal) bool { return a.Cmp(b) == map[bool]int{true: 1, false: -1}[sells] }
	if limit := p.StopLossLimit; limit.IsPositive() && isBeyond(limit, p.StopLoss) {
		d := deny("stop_loss_limit", limit.String(), fmt.Sprintf("%v or %s", p.StopLoss, before),
			"stop_loss_limit %v is %s stop_loss %v: such an order could not trade once it triggers. Use %v or a price %s it.", limit, beyond, p.StopLoss, p.StopLoss, before)
		d.Nearest = []string{p.StopLoss.String()}
		return d
	}
	if r.ReduceOnly && r.Type == order.Limit && r.StopPrice.IsPositive() && isBeyond(r.Price, r.StopPrice) {
		d := deny("price", r.Price.String(), fmt.Sprintf("%v or %s", r.StopPrice, before),
			"price %v is %s stop_price %v: such an order could not trade once it triggers. Use %v or a price %s it.", r.Price, beyond, r.StopPrice, r.StopPrice, before)
		d.Nearest = []string{r.StopPrice.String()}
		return d
	}
	if !p.StopLoss.IsPositive() || !p.TakeProfit.IsPositive() || isBeyond(p.TakeProfit, p.StopLoss) {
		return nil
	}
	text := "they are swapped: stop_loss %[2]v and take_profit %[1]v would be right."
	if p.StopLoss.Equal(p.TakeProfit) {
		text = "they are equal. Omit the one that is wrong, or give a stop_loss " + before + " the price and a take_profit " + beyond + " it."
	}
	return deny("stop_loss", p.StopLoss.String(), before+" take_profit "+p.TakeProfit.String(),
		"stop_loss %[1]v is not "+before+" take_profit %[2]v, as the orders that %[3]v the position need; "+text, p.StopLoss, p.TakeProfit, closingSide(r))
}

// requestExit checks the arguments of a stop, a target or a pair that closes a position.
func requestExit(r order.Request) *Denial {
	if !r.ReduceOnly || !r.Protects() {
		return nil
	}
	with := "stop_loss or take_profit of an order with reduce_only"
	switch {
	case r.StopPrice.IsPositive():
		return exclude(argument{"stop_price", r.StopPrice}, with, ": use stop_loss in its place, the price that triggers the exit, and omit stop_price.")
	case r.Price.IsPositive():
		return exclude(argument{"price", r.Price}, with, ": take_profit is the price of the target and stop_loss_limit that of the stop; use type market and omit price.")
	case r.Type == order.Limit:
		return deny("type", "limit", "market", "type limit needs no price with %s; use type market: take_profit is a limit order anyway.", with)
	case r.TimeInForce == order.IOC || r.TimeInForce == order.FOK:
		return deny("time_in_force", r.TimeInForce.String(), "gtc or day", "time_in_force %v is not possible with %s: they wait for a price. Omit it.", r.TimeInForce, with)
	default:
		return nil
	}
}

// requestTimes checks post_only, which wants an order that rests.
func requestTimes(r order.Request) *Denial {
	if !r.PostOnly {
		return nil
	}
	only := func(format string, args ...any) *Denial {
		return deny("post_only", "true", "a limit order that rests", "post_only true is not possible "+format, args...)
	}
	switch {
	case r.ReduceOnly && r.Protects():
		return only("with stop_loss or take_profit of an order with reduce_only. Omit it.")
	case r.Type != order.Limit:
		return only("for a market order, which never rests. Use type limit with price, or omit post_only.")
	case r.StopPrice.IsPositive():
		return only("with stop_price %v. Omit one of them.", r.StopPrice)
	case r.TimeInForce == order.IOC || r.TimeInForce == order.FOK:
		return only("with time_in_force %v, which never rests. Omit one of them.", r.TimeInForce)
	default:
		return nil
	}
}

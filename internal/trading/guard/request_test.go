package guard_test

import (
	"strings"
	"testing"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// bracket is a request that CheckRequest lets pass: an entry with both legs.
func bracket() order.Request {
	return order.Request{
		Symbol: symbol, Side: order.Buy, Type: order.Limit, Quantity: dec("0.06"), Price: dec("50000"),
		Protect: order.Protection{StopLoss: dec("48500"), TakeProfit: dec("53000")},
	}
}

// pairOf is a request that closes a position.
func pairOf() order.Request {
	r := bracket()
	r.Side, r.Type, r.Price, r.ReduceOnly = order.Sell, order.Market, dec("0"), true
	return r
}

func TestCheckRequest(t *testing.T) {
	t.Parallel()
	type change func(*order.Request)
	for name, tc := range map[string]struct {
		from   func() order.Request
		change change
		field  string
		text   string
	}{
		"a bracket":          {bracket, func(*order.Request) {}, "", ""},
		"a pair":             {pairOf, func(*order.Request) {}, "", ""},
		"a negative stop":    {bracket, func(r *order.Request) { r.Protect.StopLoss = dec("-1") }, "stop_loss", "stop_loss must be greater than 0 with at most 24 digits on each side of the point (got -1)."},
		"an absurd target":   {bracket, func(r *order.Request) { r.Protect.TakeProfit = dec("1e400") }, "take_profit", "a number of the size 1e400"},
		"a price as a trail": {pairOf, func(r *order.Request) { r.Protect = order.Protection{TrailPercent: dec("48500")} }, "trail_percent", "trail_percent 48500 is not below 100: it is per cent"},
		"a stop price and a trail": {pairOf, func(r *order.Request) {
			r.Protect = order.Protection{TrailPercent: dec("2")}
			r.StopPrice = dec("48500")
		}, "trail_percent", "trail_percent 2 is not possible with stop_price; give one of them."},
		"a stop and a trail":        {bracket, func(r *order.Request) { r.Protect.TrailPercent = dec("2") }, "trail_percent", "trail_percent 2 is not possible with stop_loss; give one of them"},
		"a limit without its stop":  {bracket, func(r *order.Request) { r.Protect.StopLoss, r.Protect.StopLossLimit = dec("0"), dec("48000") }, "stop_loss_limit", "stop_loss_limit 48000 needs stop_loss"},
		"a limit above its stop":    {bracket, func(r *order.Request) { r.Protect.StopLossLimit = dec("48600") }, "stop_loss_limit", "stop_loss_limit 48600 is above stop_loss 48500: such an order could not trade once it triggers. Use 48500 or a price below it."},
		"a limit at its stop":       {bracket, func(r *order.Request) { r.Protect.StopLossLimit = dec("48500") }, "", ""},
		"legs that are equal":       {bracket, func(r *order.Request) { r.Protect.TakeProfit = dec("48500") }, "stop_loss", "stop_loss 48500 is not below take_profit 48500, as the orders that sell the position need; they are equal."},
		"legs that are swapped":     {bracket, func(r *order.Request) { r.Side = order.Sell }, "stop_loss", "stop_loss 48500 is not above take_profit 53000, as the orders that buy the position need; they are swapped: stop_loss 53000 and take_profit 48500 would be right."},
		"a pair with a stop price":  {pairOf, func(r *order.Request) { r.StopPrice = dec("1") }, "stop_price", "omit stop_price"},
		"a pair with a price":       {pairOf, func(r *order.Request) { r.Type, r.Price = order.Limit, dec("1") }, "price", "price 1 is not possible with"},
		"a pair of limit orders":    {pairOf, func(r *order.Request) { r.Type = order.Limit }, "type", "use type market"},
		"a pair at once":            {pairOf, func(r *order.Request) { r.TimeInForce = order.FOK }, "time_in_force", "time_in_force fok is not possible"},
		"a pair that must rest":     {pairOf, func(r *order.Request) { r.PostOnly = true }, "post_only", "Omit it."},
		"a market order that rests": {bracket, func(r *order.Request) { r.Type, r.PostOnly = order.Market, true }, "post_only", "Use type limit with price, or omit post_only."},
		"a stop that must rest":     {bracket, func(r *order.Request) { r.StopPrice, r.PostOnly = dec("51000"), true }, "post_only", "with stop_price 51000"},
		"rest and at once":          {bracket, func(r *order.Request) { r.TimeInForce, r.PostOnly = order.IOC, true }, "post_only", "with time_in_force ioc"},
		"post-only":                 {bracket, func(r *order.Request) { r.PostOnly = true }, "", ""},
		"two risks":                 {bracket, func(r *order.Request) { r.Sizing = order.Sizing{Percent: dec("1"), Amount: dec("100")} }, "risk_amount", "give one of them"},
		"a risk and a quantity":     {bracket, func(r *order.Request) { r.Sizing.Percent = dec("1") }, "risk_pct", "risk_pct 1 is not possible with quantity 0.06"},
		"a risk of all":             {bracket, func(r *order.Request) { r.Sizing.Percent = dec("100") }, "risk_pct", "not below 100"},
		"the risk of an exit":       {pairOf, func(r *order.Request) { r.Quantity, r.Sizing.Amount = dec("0"), dec("100") }, "risk_amount", "give quantity"},
		"a risk without a stop": {bracket, func(r *order.Request) {
			r.Quantity, r.Sizing.Amount, r.Protect.StopLoss = dec("0"), dec("100"), dec("0")
		}, "risk_amount", "risk_amount 100 needs stop_loss, stop_loss_pct or trail_percent"},
		"a risk with a limited stop": {bracket, func(r *order.Request) {
			r.Quantity, r.Sizing.Amount, r.Protect.StopLossLimit = dec("0"), dec("100"), dec("48000")
		}, "risk_amount", "omit stop_loss_limit"},
		"a risk with a trailing stop": {bracket, func(r *order.Request) {
			r.Quantity, r.Sizing.Amount, r.Protect = dec("0"), dec("100"), order.Protection{TrailPercent: dec("3")}
		}, "", ""},
	} {
		r := tc.from()
		tc.change(&r)
		err := guard.CheckRequest(r)
		e := fault.Of(err)
		if tc.field == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if e == nil || e.Kind != fault.Invalid || e.Field != tc.field || !strings.Contains(e.Message, tc.text) || e.Value == "" || e.Allowed == "" || !strings.Contains(e.Message, e.Field) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

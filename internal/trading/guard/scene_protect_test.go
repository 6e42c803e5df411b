package guard_test

import (
	"github.com/shopspring/decimal"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// every is a venue that takes everything.
func every() order.Capabilities {
	return order.Capabilities{
		Stops: true, StopLimits: true, Times: []order.TimeInForce{order.GTC, order.IOC, order.FOK}, PostOnly: true,
		TrailMin: dec("0.1"), TrailMax: dec("20"), Pairs: true, OneLeg: true, TwoLegs: true, MarketEntry: true, TrailLeg: true, SellEntry: true, StopEntry: true,
	}
}

// protect gives the order of a scene legs, at a venue that takes everything.
func (s *scene) protect(stop, target string) {
	s.Capabilities = every()
	s.Role, s.Group.Name = order.Entry, s.ID
	s.Protect = order.Protection{StopLoss: dec(stop), TakeProfit: dec(target)}
}

// request makes the order of a scene that of a request in the same symbol.
func (s *scene) request(r order.Request) {
	r.Symbol = symbol
	s.Capabilities, s.Spec = every(), r.Spec(s.ID, "me")
}

// exit makes the order a stop, a target or a pair that closes what is held.
func (s *scene) exit(quantity string, p order.Protection) {
	s.request(order.Request{Side: order.Sell, Type: order.Market, Quantity: dec(quantity), ReduceOnly: true, Protect: p})
}

// holding adds an order that holds a part of the position.
func (s *scene) holding(id, quantity, stop string, g order.Group) {
	spec := order.Spec{ID: id, Symbol: symbol, Side: order.Sell, Type: order.Market, Quantity: dec(quantity), StopPrice: dec(stop), ReduceOnly: true, Role: order.StopLoss, Group: g}
	if spec.StopPrice.IsZero() {
		spec.Type, spec.Price, spec.Role = order.Limit, dec("66000"), order.TakeProfit
	}
	s.Exits = append(s.Exits, order.Order{Origin: order.Origin{Spec: spec}, Status: order.Accepted})
}

// line says that the order changes a line of 0.1 with these prices.
func (s *scene) line(p order.Protection) {
	s.Lines = []order.Line{{ID: "l1", Side: order.Buy, Quantity: dec("0.1"), Protect: p}}
}

func protectiveRefusals() map[string]refusal {
	return map[string]refusal{
		"a stop of an absurd size": {
			"amounts", "greater than 0 with at most 24 digits on each side of the point", "a number of any size", "stop_loss", "stop_loss", "",
			func(s *scene) { s.protect("1e400", "66000") },
		},
		"a reduction of nothing": {
			"reduce_only", "a position to reduce", "true", "reduce_only true: there is no position that a sell of 0.01 reduces; 0 of binance:BTCUSDT is held. Check get_positions; side buy without reduce_only opens a position.", "reduce_only", "",
			func(s *scene) { s.exit("0.01", order.Protection{StopLoss: dec("58000")}); s.Held = dec("0") },
		},
		"a reduction of more than is held": {
			"reduce_only", "0.1", "0.2", "quantity 0.2 is more than reduce_only allows, 0.1; 0.1 of binance:BTCUSDT is held. The nearest is 0.1.", "quantity", "0.1",
			func(s *scene) { s.exit("0.2", order.Protection{StopLoss: dec("58000")}) },
		},
		"a reduction beside an order that is not released": {
			"reduce_only", "0.04", "0.05", "The nearest is 0.04.", "quantity", "0.04",
			func(s *scene) {
				s.exit("0.05", order.Protection{})
				s.OpenSell = dec("0.1")
				s.holding("s1", "0.04", "58000", order.Group{})
			},
		},
		"a sale of what a pair holds": {
			"reserved", "0", "0.1", "quantity 0.1: 0.1 of binance:BTCUSDT is held by stop s1 and target t1. Say reduce_only true to release them, or cancel_order t1 first.", "quantity", "",
			func(s *scene) {
				s.sell("0.1")
				s.OpenSell = dec("0.1")
				s.holding("s1", "0.1", "58000", order.Group{Name: "t1"})
				s.holding("t1", "0.1", "0", order.Group{Name: "t1"})
			},
		},
		"a sale of more than is free beside a stop": {
			"reserved", "0.04", "0.1", "held by stop s1. Say reduce_only true to release them, or cancel_order s1 first. 0.04 is free.", "quantity", "0.04",
			func(s *scene) {
				s.sell("0.1")
				s.OpenSell = dec("0.06")
				s.holding("s1", "0.06", "58000", order.Group{})
			},
		},
		"a stop that is wider than that of the second line": {
			"allow_wider_stop", "58500 or nearer to the price", "58200", "stop_loss: a stop at 58200 is below the stop at 58500 of line l2", "stop_loss", "58500",
			func(s *scene) {
				s.Held = dec("0.2")
				s.exit("0.2", order.Protection{StopLoss: dec("58200")})
				s.line(order.Protection{StopLoss: dec("58000")})
				s.Lines = append(s.Lines, order.Line{ID: "l2", Side: order.Buy, Quantity: dec("0.1"), Protect: order.Protection{StopLoss: dec("58500")}})
			},
		},
		"a stop that is moved away": {
			"allow_wider_stop", "58000 or nearer to the price", "57000", "stop_loss: a stop at 57000 is below the stop at 58000 of line l1, whose place it takes, and the policy does not allow a wider stop. Use 58000 or a price nearer to the market.", "stop_loss", "58000",
			func(s *scene) {
				s.exit("0.1", order.Protection{StopLoss: dec("57000")})
				s.line(order.Protection{StopLoss: dec("58000")})
			},
		},
		"a stop that is replaced by a wide trail": {
			"allow_wider_stop", "58000 or nearer to the price", "54000", "trail_percent: a stop at 54000 is below", "trail_percent", "",
			func(s *scene) {
				s.exit("0.1", order.Protection{TrailPercent: dec("10")})
				s.line(order.Protection{StopLoss: dec("58000")})
			},
		},
		"a trail that is replaced by a stop further away": {
			"allow_wider_stop", "58800 or nearer to the price", "57000", "stop_loss: a stop at 57000 is below the stop at 58800 of line l1", "stop_loss", "58800",
			func(s *scene) {
				s.exit("0.1", order.Protection{StopLoss: dec("57000")})
				s.line(order.Protection{TrailPercent: dec("2")})
			},
		},
		"a trail that has followed the price, replaced by a stop further away": {
			"allow_wider_stop", "60760 or nearer to the price", "59500", "stop_loss: a stop at 59500 is below the stop at 60760 of line l1", "stop_loss", "60760",
			func(s *scene) {
				s.exit("0.1", order.Protection{StopLoss: dec("59500")})
				s.line(order.Protection{TrailPercent: dec("2")})
				s.Lines[0].Best = dec("62000")
			},
		},
		"a stop for no part that the plan has": {
			"which_line", "the whole position or a line", "0.03", "quantity 0.03 is neither the whole position nor one line of its plan, which is line l1 of 0.06 (stop_loss 58000) and line l2 of 0.04 (trail_percent 2, take_profit 66000)", "quantity", "0.06 0.04 0.1",
			func(s *scene) {
				s.exit("0.03", order.Protection{StopLoss: dec("58500")})
				s.Unclear = []order.Line{
					{ID: "l1", Side: order.Buy, Quantity: dec("0.06"), Protect: order.Protection{StopLoss: dec("58000")}},
					{ID: "l2", Side: order.Buy, Quantity: dec("0.04"), Protect: order.Protection{TrailPercent: dec("2"), TakeProfit: dec("66000")}},
				}
			},
		},
		"one stop more than the venue holds": {
			"max_stops", "5", "6", "binance holds 5 stops in binance:BTCUSDT at a time, and this would be number 6. Omit stop_loss and then set one stop for the whole position with reduce_only, or close a part of the position first.", "stop_loss", "",
			func(s *scene) {
				s.protect("58000", "66000")
				s.Capabilities.MaxStops, s.Stops = 5, 6
			},
		},
		"a part of a line with a stop more than the venue holds": {
			"max_stops", "5", "6", "Give the quantity of a line of its plan, or of the whole position, or close a part of the position first.", "quantity", "0.1",
			func(s *scene) {
				s.exit("0.02", order.Protection{StopLoss: dec("58500")})
				s.line(order.Protection{StopLoss: dec("58000")})
				s.Capabilities.MaxStops, s.Stops = 5, 6
			},
		},
		"a stop that is replaced by one that may not trade": {
			"allow_wider_stop", "a stop that becomes a market order", "58000", "stop_loss 58000: the stop of line l1, whose place it takes, becomes a market order", "stop_loss", "",
			func(s *scene) {
				s.exit("0.1", order.Protection{StopLoss: dec("58000"), StopLossLimit: dec("58000")})
				s.line(order.Protection{StopLoss: dec("58000")})
			},
		},
		"a stop where there are none": {
			"protection_not_native", "orders that binance takes", "58000", "stop_loss 58000: binance has no stop in binance:BTCUSDT. Omit it, and use set_alert to be notified of the price.", "stop_loss", "",
			func(s *scene) { s.protect("58000", "66000"); s.Capabilities = order.Capabilities{} },
		},
		"a stop at market where stops become limits": {
			"protection_not_native", "orders that binance takes", "58000", "Give stop_loss_limit too", "stop_loss", "",
			func(s *scene) { s.protect("58000", "66000"); s.Capabilities.Stops = false },
		},
		"a stop with a limit where there are none": {
			"protection_not_native", "orders that binance takes", "57900", "Omit stop_loss_limit.", "stop_loss_limit", "",
			func(s *scene) {
				s.protect("58000", "66000")
				s.Protect.StopLossLimit, s.Capabilities.StopLimits = dec("57900"), false
			},
		},
		"a trailing stop where there are none": {
			"protection_not_native", "orders that binance takes", "2", "trail_percent 2: binance has no trailing stop in binance:BTCUSDT. Use stop_loss, such as 58800.", "trail_percent", "",
			func(s *scene) {
				s.exit("0.1", order.Protection{TrailPercent: dec("2")})
				s.Capabilities.TrailMin, s.Capabilities.TrailMax = dec("0"), dec("0")
			},
		},
		"a trailing leg where there are none": {
			"protection_not_native", "orders that binance takes", "2", "no trailing leg in binance:BTCUSDT. Use stop_loss, such as 58800, or place the order without it and a trailing stop with reduce_only once it is filled.", "trail_percent", "",
			func(s *scene) {
				s.protect("0", "66000")
				s.Protect.TrailPercent, s.Capabilities.TrailLeg = dec("2"), false
			},
		},
		"a pair where there are none": {
			"protection_not_native", "orders that binance takes", "66000", "Give stop_loss or take_profit alone.", "take_profit", "",
			func(s *scene) {
				s.exit("0.1", order.Protection{StopLoss: dec("58000"), TakeProfit: dec("66000")})
				s.Capabilities.Pairs = false
			},
		},
		"two legs where there is one": {
			"protection_not_native", "orders that binance takes", "66000", "Omit take_profit or stop_loss.", "take_profit", "",
			func(s *scene) { s.protect("58000", "66000"); s.Capabilities.TwoLegs = false },
		},
		"one leg where there are two": {
			"protection_not_native", "orders that binance takes", "58000", "Give both stop_loss and take_profit.", "stop_loss", "",
			func(s *scene) { s.protect("58000", "0"); s.Capabilities.OneLeg = false },
		},
		"legs where there are none": {
			"protection_not_native", "orders that binance takes", "66000", "Place the order without legs (omit take_profit), and protect it with reduce_only once it is filled.", "take_profit", "",
			func(s *scene) {
				s.protect("0", "66000")
				s.Capabilities.OneLeg, s.Capabilities.TwoLegs = false, false
			},
		},
		"legs of a short sale where there are none": {
			"protection_not_native", "orders that binance takes", "62000", "To close a position say reduce_only.", "stop_loss", "",
			func(s *scene) {
				s.protect("62000", "54000")
				s.sell("0.01")
				s.AllowShort, s.Capabilities.SellEntry = true, false
			},
		},
		"legs of an entry that waits where there are none": {
			"protection_not_native", "orders that binance takes", "61000", "Omit stop_price", "stop_price", "",
			func(s *scene) {
				s.protect("58000", "66000")
				s.market()
				s.StopPrice, s.Capabilities.StopEntry = dec("61000"), false
			},
		},
		"a market entry with legs without a band": {
			"protection_not_native", "limit", "market", "Use type limit with price.", "type", "",
			func(s *scene) {
				s.protect("58000", "66000")
				s.market()
				s.PriceBandPct, s.Capabilities.MarketEntry = guard.Limit{Off: true}, false
			},
		},
		"a stop entry at market where stops become limits": {
			"protection_not_native", "orders that binance takes", "61000", "Use type limit with price, such as 61305.", "stop_price", "",
			func(s *scene) { s.market(); s.StopPrice, s.Capabilities.StopLimits = dec("61000"), true },
		},
		"a stop entry at a limit where stops are at market": {
			"protection_not_native", "orders that binance takes", "61000", "Use type market without price.", "stop_price", "",
			func(s *scene) { s.StopPrice, s.Capabilities.Stops = dec("61000"), true },
		},
		"a stop entry where there are no stops": {
			"protection_not_native", "orders that binance takes", "61000", "use set_alert", "stop_price", "",
			func(s *scene) { s.StopPrice = dec("61000") },
		},
		"a trail below the venue's": {
			"venue_trail", "from 0.5 to 20", "0.2", "trail_percent 0.2 is not from 0.5 to 20, as binance needs. The nearest is 0.5.", "trail_percent", "0.5",
			func(s *scene) {
				s.exit("0.1", order.Protection{TrailPercent: dec("0.2")})
				s.Capabilities.TrailMin = dec("0.5")
			},
		},
		"a time in force that the venue does not have": {
			"venue_time_in_force", "gtc, ioc, fok", "day", "time_in_force day is not possible: binance has gtc, ioc, fok.", "time_in_force", "gtc ioc fok",
			func(s *scene) { s.Capabilities, s.TimeInForce = every(), order.Day },
		},
		"a time in force at a venue with one": {
			"venue_time_in_force", "none", "ioc", "Omit it.", "time_in_force", "",
			func(s *scene) { s.TimeInForce = order.IOC },
		},
		"post-only where there is none": {
			"venue_post_only", "false", "true", "post_only true is not possible: binance does not have it. Omit it, and use a price that does not trade at once.", "post_only", "",
			func(s *scene) { s.PostOnly = true },
		},
		"legs of a part of a share": {
			"venue_whole_legs", "whole units", "1.5", "quantity 1.5: binance takes stops and legs for whole units only. The nearest are 1 and 2; without stop_loss and take_profit 1.5 is possible.", "quantity", "1 2",
			func(s *scene) { s.protect("58000", "66000"); s.Quantity, s.Capabilities.WholeLegs = dec("1.5"), true },
		},
		"a stop for half a share": {
			"venue_whole_legs", "whole units", "0.1", "The nearest are 1; without stop_loss 0.1 is possible.", "quantity", "1",
			func(s *scene) {
				s.exit("0.1", order.Protection{StopLoss: dec("58000")})
				s.Capabilities.WholeLegs = true
			},
		},
		"legs while a position is held": {
			"venue_flat_entry", "no legs while a position is held", "58000", "stop_loss 58000: binance takes an entry with legs only while nothing is held, and 0.1 of binance:BTCUSDT is. Place the order without legs", "stop_loss", "",
			func(s *scene) { s.protect("58000", "66000"); s.Capabilities.FlatEntry = true },
		},
		"a trailing leg while a position is held": {
			"venue_flat_entry", "no legs while a position is held", "2", "trail_percent 2", "trail_percent", "",
			func(s *scene) {
				s.protect("0", "0")
				s.Protect.TrailPercent, s.Capabilities.FlatEntry = dec("2"), true
			},
		},
		"a stop between two ticks": {
			"venue_tick", "multiples of 0.01", "58000.003", "stop_loss 58000.003 is not a multiple of the venue's step 0.01. The nearest are 58000 and 58000.01.", "stop_loss", "58000 58000.01",
			func(s *scene) { s.protect("58000.003", "66000") },
		},
		"a target between two ticks": {
			"venue_tick", "multiples of 0.01", "66000.003", "take_profit", "take_profit", "66000 66000.01",
			func(s *scene) { s.exit("0.1", order.Protection{TakeProfit: dec("66000.003")}) },
		},
		"a stop worth too little for the venue": {
			"venue_leg_notional", "5.9", "5.8", "quantity 0.0001 at 58000 is worth 5.8; the venue's minimum is 5.9 USDT. The minimum quantity is 0.00011.", "quantity", "0.00011",
			func(s *scene) {
				s.protect("58000", "66000")
				s.Quantity, s.Instrument.MinNotional = dec("0.0001"), dec("5.9")
			},
		},
		"a trail worth too little for the venue": {
			"venue_leg_notional", "5.9", "5.88", "quantity 0.0001 at 58800 is worth 5.88; the venue's minimum is 5.9 USDT. The minimum quantity is 0.00011.", "quantity", "0.00011",
			func(s *scene) {
				s.exit("0.0001", order.Protection{TrailPercent: dec("2")})
				s.Instrument.MinNotional = dec("5.9")
			},
		},
		"a sell that waits for a price above": {
			"stop_price_side", "below 60000", "61000", "stop_price 61000 is not below the last price 60000: a sell waits for a price below 60000. For one above it use type limit with price 61000 and no stop_price. For example 59000, 1.67 % below.", "stop_price", "59000",
			func(s *scene) { s.sell("0.1"); s.market(); s.StopPrice, s.Capabilities = dec("61000"), every() },
		},
		"a buy that waits for the last price": {
			"stop_price_side", "above 60000", "60000", "a buy waits for a price above 60000", "stop_price", "60060",
			func(s *scene) { s.market(); s.StopPrice, s.Capabilities = dec("60000"), every() },
		},
		"a stop above the price": {
			"stop_side", "below 60000", "62000", "stop_loss 62000 is not below the last price 60000, because it is to sell when the price falls. Did you mean take_profit 62000? For example 58000, 3.33 % below.", "stop_loss", "58000",
			func(s *scene) { s.protect("62000", "0") },
		},
		"a stop above the price beside a target": {
			"stop_side", "below 60000", "62000", "because it is to sell when the price falls. For example 58000", "stop_loss", "58000",
			func(s *scene) { s.protect("62000", "66000") },
		},
		"a stop of a short below the price": {
			"stop_side", "above 60000", "58000", "stop_loss 58000 is not above the last price 60000, because it is to buy when the price rises. Did you mean take_profit 58000? For example 62000, 3.33 % above.", "stop_loss", "62000",
			func(s *scene) { s.protect("58000", "0"); s.sell("0.2"); s.AllowShort = true },
		},
		"a stop above the entry": {
			"stop_side", "below 58000", "58500", "stop_loss 58500 is not below the entry price 58000: it would trigger as soon as the entry is filled. Use a price below 58000, or an entry above 58500.", "stop_loss", "57500",
			func(s *scene) { s.protect("58500", "66000"); s.Price = dec("58000") },
		},
		"a stop above the price at which the entry waits": {
			"stop_side", "below 61000", "61500", "the entry price 61000", "stop_loss", "60500",
			func(s *scene) { s.protect("61500", "66000"); s.market(); s.StopPrice = dec("61000") },
		},
		"the stop of a held position above the price": {
			"stop_side", "below 60000", "63000", "Did you mean take_profit 63000?", "stop_loss", "57000",
			func(s *scene) { s.exit("0.1", order.Protection{StopLoss: dec("63000")}) },
		},
		"per cent for the stop of a short": {
			"stop_side", "above 60000", "5", "It is a price, not per cent: 5 % above is 63000.", "stop_loss", "63000",
			func(s *scene) { s.protect("5", "0"); s.sell("0.2"); s.AllowShort = true },
		},
		"a target below the entry": {
			"target_side", "above 60000", "58000", "take_profit 58000 is not above the entry price 60000, because it is to sell at a profit. Did you mean stop_loss 58000? For example 62000, 3.33 % above.", "take_profit", "62000",
			func(s *scene) { s.protect("0", "58000") },
		},
		"a target below the price": {
			"target_side", "above 60000", "59000", "take_profit 59000 is not above the last price 60000", "take_profit", "61000",
			func(s *scene) { s.exit("0.1", order.Protection{StopLoss: dec("58000"), TakeProfit: dec("59000")}) },
		},
		"per cent for a target": {
			"target_side", "above 60000", "6", "It is a price, not per cent: 6 % above is 63600.", "take_profit", "63600",
			func(s *scene) { s.protect("58000", "6") },
		},
		"a stop inside the noise": {
			"min_stop_distance_pct", "at least 0.1 % below 60000", "59990", "stop_loss 59990 is 0.02 % below the entry price 60000; the limit is at least 0.1 %. The nearest allowed price is 59940.", "stop_loss", "59940",
			func(s *scene) { s.protect("59990", "66000") },
		},
		"a trail inside the noise": {
			"min_stop_distance_pct", "at least 0.1 %", "0.05", "trail_percent 0.05 is nearer than the limit of 0.1 %.", "trail_percent", "0.1",
			func(s *scene) {
				s.exit("0.1", order.Protection{TrailPercent: dec("0.05")})
				s.Capabilities.TrailMin = dec("0.01")
			},
		},
		"per cent for a stop": {
			"max_stop_distance_pct", "at most 20 % below 60000", "5", "stop_loss 5 is 99.99 % below the entry price 60000; the limit is at most 20 %. It is a price, not per cent: 5 % below is 57000.", "stop_loss", "57000",
			func(s *scene) { s.protect("5", "66000") },
		},
		"a stop that protects nothing": {
			"max_stop_distance_pct", "at most 20 % below 60000", "30000", "stop_loss 30000 is 50 % below the entry price 60000; the limit is at most 20 %. The nearest allowed price is 48000.", "stop_loss", "48000",
			func(s *scene) { s.protect("30000", "66000") },
		},
		"a waiting exit that protects nothing": {
			"max_stop_distance_pct", "at most 20 % below 60000", "30000", "stop_price 30000 is 50 % below the last price", "stop_price", "48000",
			func(s *scene) {
				s.exit("0.1", order.Protection{})
				s.StopPrice = dec("30000")
			},
		},
		"a stop of a short that protects nothing": {
			"max_stop_distance_pct", "at most 20 % above 60000", "90000", "50 % above the entry price 60000", "stop_loss", "72000",
			func(s *scene) { s.protect("90000", "0"); s.sell("0.2"); s.AllowShort = true },
		},
		"a trail that protects nothing": {
			"max_stop_distance_pct", "at most 20 %", "25", "trail_percent 25 is further away than the limit of 20 %.", "trail_percent", "20",
			func(s *scene) {
				s.exit("0.1", order.Protection{TrailPercent: dec("25")})
				s.Capabilities.TrailMax = dec("50")
			},
		},
		"a target that is never reached": {
			"max_target_distance_pct", "at most 50 % above 60000", "120000", "take_profit 120000 is 100 % above the entry price 60000; the limit is at most 50 %. The nearest allowed price is 90000.", "take_profit", "90000",
			func(s *scene) { s.protect("58000", "120000") },
		},
		"post-only above the ask": {
			"post_only", "below 60001", "60001", "price 60001 would trade at once, which post_only excludes: the ask is 60001. The nearest price is 60000.99.", "price", "60000.99",
			func(s *scene) {
				s.Capabilities, s.PostOnly, s.Price, s.Quote.Ask = every(), true, dec("60001"), dec("60001")
			},
		},
		"post-only below the last price": {
			"post_only", "above 60000", "59999", "the last price is 60000", "price", "60000.01",
			func(s *scene) { s.Capabilities, s.PostOnly, s.Price = every(), true, dec("59999"); s.sell("0.1") },
		},
		"an entry without a stop": {
			"require_stop", "a stop", "none", `stop_loss is none: a buy of 0.01 opens a position, and the policy requires a stop (require_stop = "always"). Give stop_loss or trail_percent.`, "stop_loss", "",
			func(s *scene) { s.RequireStop = guard.StopAlways },
		},
		"an entry with a target alone": {
			"require_stop", "a stop", "none", "Give stop_loss or trail_percent.", "stop_loss", "",
			func(s *scene) {
				s.protect("0", "66000")
				s.RequireStop, s.Mode, s.AllowedSymbols = guard.StopLive, order.Live, []market.Symbol{symbol}
			},
		},
		"more risk than an order may take": {
			"max_trade_risk", "20", "24.08", "quantity 0.01 at up to 60000 risks 24.08 (the stop at 58000, fees and slippage); the limit of an order is 20. The largest quantity is 0.0083.", "quantity", "0.0083",
			func(s *scene) { s.protect("58000", "66000"); s.MaxTradeRisk = limit("20") },
		},
		"the whole worth as risk": {
			"max_trade_risk", "20", "600", "quantity 0.01 at up to 60000 risks 600 (no stop, so its whole worth)", "quantity", "0.00033",
			func(s *scene) { s.MaxTradeRisk = limit("20") },
		},
		"a stop that may not trade": {
			"max_trade_risk", "20", "600", "stop_loss_limit, so its whole worth", "quantity", "0.00033",
			func(s *scene) {
				s.protect("58000", "66000")
				s.MaxTradeRisk, s.Protect.StopLossLimit = limit("20"), dec("57900")
			},
		},
		"more risk than a short may take": {
			"max_trade_risk", "20", "24.32", "quantity 0.01 at 60000 or less risks 24.32 (the stop at 62000, fees and slippage)", "quantity", "0.00822",
			func(s *scene) {
				s.protect("62000", "54000")
				s.sell("0.01")
				s.AllowShort, s.Held, s.MaxTradeRisk = true, dec("0"), limit("20")
			},
		},
		"more risk than one step may take": {
			"max_trade_risk", "0", "24.08", "Use a stop nearer to the entry, or wait until less is at risk.", "quantity", "",
			func(s *scene) { s.protect("58000", "66000"); s.MaxTradeRisk = limit("0") },
		},
		"more risk than a part of the equity": {
			"max_trade_risk_pct", "20", "24.08", "the limit of an order, 1 % of the equity of 2000 is 20. The largest quantity is 0.0083.", "quantity", "0.0083",
			func(s *scene) {
				s.protect("58000", "66000")
				s.MaxTradeRiskPct, s.Equity = limit("1"), decimal.NewNullDecimal(dec("2000"))
			},
		},
		"a part of an unknown equity": {
			"max_trade_risk_pct", "1 % of the equity", "0.01", "quantity 0.01 cannot be checked: the equity of the account is unknown now", "quantity", "",
			func(s *scene) { s.protect("58000", "66000"); s.MaxTradeRiskPct = limit("1") },
		},
		"more risk than all may take": {
			"max_open_risk", "100", "104.08", "quantity 0.01 at up to 60000 risks 24.08 (the stop at 58000, fees and slippage), with 80 at risk already; the limit of all positions and orders together is 100. The largest quantity is 0.0083.", "quantity", "0.0083",
			func(s *scene) { s.protect("58000", "66000"); s.MaxOpenRisk, s.OpenRisk = limit("100"), dec("80") },
		},
		"an entry that waits far away": {
			"resting_band_pct", "5 %", "10 %", "stop_price 66000 is 10 % above the last price 60000; the limit is 5 %. The nearest allowed price is 63000.", "stop_price", "63000",
			func(s *scene) { s.market(); s.StopPrice, s.Capabilities = dec("66000"), every() },
		},
		"an entry that waits and then pays too much": {
			"price_band_pct", "5 %", "8.2 %", "price 66000 is 8.2 % above stop_price 61000; the limit is 5 %. The nearest allowed price is 64050.", "price", "64050",
			func(s *scene) { s.StopPrice, s.Price, s.Capabilities = dec("61000"), dec("66000"), every() },
		},
	}
}

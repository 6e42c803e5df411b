package app

import (
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/guard"
)

// protectionTables are the mistakes at each broker, in the order in which they are made.
func protectionTables() []protections {
	return []protections{
		{
			"Paper", "Each call is a market order to buy 0.1 BTCUSDT with the listed arguments changed, under the default policy, at a last price of\n50,000. From the first sale on, 0.1 is held; from PAIR_STOP on, a stop at 48,000 and a target at 53,000 hold it.",
			onPaper(nil), append(paperEntries(), paperExits()...),
		},
		{
			"Paper, with limits of risk", "The same with `require_stop = \"always\"`, `max_trade_risk = 200`, `max_open_risk = 250` and `max_stop_distance_pct = 5`.",
			onPaper(func(p *guard.Policy) {
				limit := func(n int64) guard.Limit { return guard.Limit{Value: decimal.NewFromInt(n)} }
				p.RequireStop, p.MaxTradeRisk, p.MaxOpenRisk, p.MaxStopDistancePct = guard.StopAlways, limit(200), limit(250), limit(5)
			}), riskMistakes(),
		},
		{
			"Binance", "The same at Binance. ETHUSDT, at 2,000, has no stops at market and no trailing stops there, and ETHUSDC has no groups.",
			onBinance, binanceMistakes(),
		},
		{
			"Alpaca", "Each call is a market order to buy 10 AAPL, at 200. The policy allows short positions in MSFT, at 400. BTC/USD is at 50,000.",
			onAlpaca, alpacaMistakes(),
		},
		{
			"Perpetual futures on paper", "Each call is a market order to buy 0.1 BTCUSDT.P with the listed arguments changed, at a last price of 50,000, under a policy with\n`max_leverage = 5` and `allow_short = true`. From the first exit on, 0.1 is held short.",
			onPerpetual("5", true), append(shortEntries(), shortExits()...),
		},
		{
			"Perpetual futures that the policy does not allow", "The same under the default policy.", onPerpetual("0", false), perpetualsOff(),
		},
		{
			"Perpetual futures at a high leverage", "The same with `max_leverage = 10`.", onPerpetual("10", true), highLeverage(),
		},
		{
			"Perpetual futures without short positions", "The same with `max_leverage = 5` and `allow_short = false`.", onPerpetual("5", false), longOnly(),
		},
	}
}

func paperEntries() []mistake {
	return []mistake{
		{name: "a stop above the price", arguments: `{"stop_loss":52000}`, rule: "stop_side", says: "Did you mean take_profit 52000?"},
		{name: "the same, meant as a target", arguments: `{"stop_loss":52500}`, rule: "stop_side", says: "take_profit", next: `{"stop_loss":"absent","take_profit":52500}`},
		{name: "a stop at the price", arguments: `{"stop_loss":50000}`, rule: "stop_side", says: "not below the last price 50000"},
		{name: "per cent for a price", arguments: `{"stop_loss":5}`, rule: "max_stop_distance_pct", says: "5 % below is 47500"},
		{name: "a target below the entry", arguments: `{"take_profit":48000}`, rule: "target_side", says: "Did you mean stop_loss 48000?"},
		{name: "per cent for a target", arguments: `{"take_profit":10}`, rule: "target_side", says: "10 % above is 55000"},
		{name: "a stop above the entry's limit", arguments: `{"type":"limit","price":48000,"stop_loss":48500}`, rule: "stop_side", says: "would trigger as soon as the entry is filled"},
		{name: "a target below the entry's limit", arguments: `{"type":"limit","price":49000,"take_profit":48500}`, rule: "target_side", says: "not above the entry price 49000"},
		{name: "both legs equal", arguments: `{"stop_loss":48000,"take_profit":48000}`, rule: "invalid_argument", says: "they are equal", next: `{"take_profit":"absent"}`},
		{name: "legs swapped", arguments: `{"stop_loss":53000,"take_profit":48000}`, rule: "invalid_argument", says: "swapped", next: `{"stop_loss":48000,"take_profit":53000}`},
		{name: "a limit above the stop", arguments: `{"stop_loss":48500,"stop_loss_limit":48600}`, rule: "invalid_argument", says: "could not trade once it triggers"},
		{name: "a limit without a stop", arguments: `{"stop_loss_limit":48000}`, rule: "invalid_argument", says: "needs stop_loss", next: `{"stop_loss":48500}`, free: "stop_loss"},
		{name: "stop_price and a trail", arguments: `{"stop_price":51000,"trail_percent":2}`, rule: "invalid_argument", says: "give one of them", next: `{"stop_price":"absent"}`},
		{name: "a stop and a trail", arguments: `{"stop_loss":48000,"trail_percent":2}`, rule: "invalid_argument", says: "give one of them", next: `{"stop_loss":"absent"}`},
		{name: "a trail too tight", arguments: `{"trail_percent":0.05}`, rule: "venue_trail", says: "paper"},
		{name: "a trail too wide", arguments: `{"trail_percent":25}`, rule: "venue_trail", says: "from 0.1 to 20"},
		{name: "a price for a trail", arguments: `{"trail_percent":48000}`, rule: "invalid_argument", says: "per cent", next: `{"trail_percent":"absent","stop_loss":48000}`},
		{name: "a stop too near", arguments: `{"stop_loss":49990}`, rule: "min_stop_distance_pct", says: "0.02 % below"},
		{name: "a stop too far away", arguments: `{"stop_loss":30000}`, rule: "max_stop_distance_pct", says: "40 % below"},
		{name: "a target too far away", arguments: `{"take_profit":100000}`, rule: "max_target_distance_pct", says: "100 % above"},
		{name: "a stop off the grid", arguments: `{"stop_loss":48000.001}`, rule: "venue_tick", says: "stop_loss 48000.001"},
		{name: "a target off the grid", arguments: `{"take_profit":52000.009}`, rule: "venue_tick", says: "take_profit 52000.009"},
		{name: "a quantity off the step", arguments: `{"quantity":0.012345,"stop_loss":48000}`, rule: "venue_step", says: "0.01234 and 0.01235"},
		{name: "a quantity whose stop is too small", arguments: `{"quantity":0.0001,"stop_loss":48000}`, rule: "venue_leg_notional", says: "minimum quantity"},
		{name: "day without a session", arguments: `{"stop_loss":48000,"time_in_force":"day"}`, rule: "venue_time_in_force", says: "paper has gtc, ioc, fok"},
		{name: "a purchase that waits for a lower price", arguments: `{"stop_price":49000}`, rule: "stop_price_side", says: "above 50000"},
		{name: "the same, meant as a limit", arguments: `{"stop_price":49500}`, rule: "stop_price_side", says: "use type limit", next: `{"type":"limit","price":49500,"stop_price":"absent"}`},
		{name: "a stop_price out of reach", arguments: `{"stop_price":60000}`, rule: "resting_band_pct", says: "stop_price 60000"},
		{name: "legs of an order that waits", arguments: `{"stop_price":51000,"stop_loss":49000}`, rule: "protection_not_native", says: "paper", next: `{"stop_price":"absent"}`},
		{name: "post_only at market", arguments: `{"post_only":true,"stop_loss":48000}`, rule: "invalid_argument", says: "never rests", next: `{"post_only":"absent"}`},
		{name: "post_only that would trade", arguments: `{"type":"limit","price":50100,"post_only":true,"stop_loss":48000}`, rule: "post_only", says: "would trade at once"},
		{name: "a risk without a stop", arguments: `{"quantity":"absent","risk_pct":1}`, rule: "invalid_argument", says: "needs stop_loss", next: `{"stop_loss":48500}`, free: "stop_loss"},
		{name: "a risk too small", arguments: `{"quantity":"absent","risk_amount":0.01,"stop_loss":48500}`, rule: "invalid_argument", says: "too small"},
		{name: "two risks", arguments: `{"quantity":"absent","risk_amount":100,"risk_pct":1,"stop_loss":48500}`, rule: "invalid_argument", says: "give one of them", next: `{"risk_amount":"absent"}`},
		{name: "a time that has passed", arguments: `{"stop_loss":48000,"not_after":"2020-01-01T00:00:00Z"}`, rule: "too_late", says: "nothing was done", next: `{"not_after":"absent"}`},
		{name: "a sale with reduce_only of nothing", arguments: `{"side":"sell","reduce_only":true,"stop_loss":48000}`, rule: "reduce_only", says: "no position", next: `{"side":"buy","reduce_only":"absent"}`},
		{name: "a short sale with a stop", arguments: `{"side":"sell","stop_loss":48000}`, rule: "allow_short", says: "would open a short position", next: `{"side":"buy"}`},
	}
}

func paperExits() []mistake {
	pair := `{"side":"sell","quantity":0.1,"reduce_only":true,"stop_loss":48000,"take_profit":53000}`
	return []mistake{
		{
			name: "a stop for what is held without reduce_only", before: func(f *floor) { f.place("BOUGHT", `{}`) },
			arguments: `{"side":"sell","quantity":0.05,"stop_loss":48000}`, rule: "protection_not_native", says: "say reduce_only", next: `{"reduce_only":true}`,
		},
		{name: "reduce_only of more than is held", arguments: `{"side":"sell","quantity":0.2,"reduce_only":true,"stop_loss":48000}`, rule: "reduce_only", says: "0.1"},
		{name: "the stop of a sale above the price", arguments: `{"side":"sell","reduce_only":true,"stop_loss":51000}`, rule: "stop_side", says: "when the price falls"},
		{name: "a target below the price", arguments: `{"side":"sell","reduce_only":true,"take_profit":49000}`, rule: "target_side", says: "Did you mean stop_loss 49000?"},
		{name: "a sale that waits for a higher price", arguments: `{"side":"sell","reduce_only":true,"stop_price":51000}`, rule: "stop_price_side", says: "use type limit", next: `{"type":"limit","price":51000,"stop_price":"absent"}`},
		{name: "a stop-limit that cannot trade", arguments: `{"side":"sell","type":"limit","price":48500,"reduce_only":true,"stop_price":48000}`, rule: "invalid_argument", says: "could not trade once it triggers"},
		{name: "a limit price beside a stop", arguments: `{"side":"sell","type":"limit","price":53000,"reduce_only":true,"stop_loss":48000}`, rule: "invalid_argument", says: "take_profit", next: `{"type":"market","price":"absent","take_profit":53000}`},
		{name: "stop_price and a target", arguments: `{"side":"sell","reduce_only":true,"stop_price":48000,"take_profit":53000}`, rule: "invalid_argument", says: "stop_loss in its place", next: `{"stop_price":"absent","stop_loss":48000}`},
		{name: "a pair that must trade at once", arguments: `{"side":"sell","reduce_only":true,"stop_loss":48000,"take_profit":53000,"time_in_force":"ioc"}`, rule: "invalid_argument", says: "Omit it", next: `{"time_in_force":"absent"}`},
		{
			name: "a sale of what a pair holds", before: func(f *floor) { f.place("PAIR", pair) },
			arguments: `{"side":"sell"}`, rule: "reserved", says: "PAIR_STOP", next: `{"reduce_only":true}`,
		},
		{name: "a second stop, further away", arguments: `{"side":"sell","reduce_only":true,"stop_loss":47000}`, rule: "allow_wider_stop", says: "48000"},
		{
			name: "a stop moved away", arguments: `{"side":"sell","reduce_only":true,"stop_loss":47000,"take_profit":53000,"replaces":"PAIR_STOP"}`,
			rule: "allow_wider_stop", says: "line PAIR_HEAD",
		},
		{name: "an unknown order replaced", arguments: `{"side":"sell","reduce_only":true,"stop_loss":48500,"take_profit":53000,"replaces":"nothing"}`, rule: "unknown_order", says: "PAIR_HEAD", next: `{"replaces":"PAIR_STOP"}`},
		{name: "a closed order replaced", arguments: `{"side":"sell","reduce_only":true,"stop_loss":48500,"take_profit":53000,"replaces":"BOUGHT_HEAD"}`, rule: "order_closed", says: "filled", next: `{"replaces":"absent"}`},
		{
			name: "an order in another symbol replaced", before: func(f *floor) { f.place("OTHER", `{"symbol":"ETHUSDT","type":"limit","price":1950}`) },
			arguments: `{"side":"sell","reduce_only":true,"stop_loss":48500,"take_profit":53000,"replaces":"OTHER_HEAD"}`, rule: "order_closed", says: "ETHUSDT", next: `{"replaces":"PAIR_STOP"}`,
		},
		{
			name: "the same key with another stop", before: func(f *floor) {
				f.place("KEYED", `{"type":"limit","price":49000,"stop_loss":48000,"idempotency_key":"k"}`)
			},
			arguments: `{"type":"limit","price":49000,"stop_loss":47500,"idempotency_key":"k"}`, rule: "idempotency_key_used", says: "stop_loss 48000", next: `{"idempotency_key":"k2"}`, free: "idempotency_key",
		},
		{
			name: "a part that is no line", before: func(f *floor) {
				f.place("PART", `{"side":"sell","quantity":0.04,"reduce_only":true,"take_profit":52000}`)
			},
			arguments: `{"side":"sell","quantity":0.05,"reduce_only":true,"stop_loss":48500}`, rule: "which_line", says: "Give 0.1 to change all of it",
		},
		{name: "a stop moved too late", tool: "cancel_order", arguments: `{"order_id":"BOUGHT_HEAD"}`, rule: "order_closed", says: "get_orders", nextTool: "get_orders", next: `{"filter":"open"}`},
	}
}

func riskMistakes() []mistake {
	return []mistake{
		{name: "no stop", arguments: `{"quantity":0.01}`, rule: "require_stop", says: "stop_loss or trail_percent", next: `{"stop_loss":48500}`, free: "stop_loss"},
		{name: "a stop too far away", arguments: `{"quantity":0.01,"stop_loss":45000}`, rule: "max_stop_distance_pct", says: "The nearest allowed price is 47500"},
		{name: "too much risk", arguments: `{"stop_loss":48500}`, rule: "max_trade_risk", says: "The largest quantity is"},
		{name: "a stop that bounds no loss", arguments: `{"quantity":0.01,"stop_loss":48500,"stop_loss_limit":48400}`, rule: "max_trade_risk", says: "because of stop_loss_limit", next: `{"stop_loss_limit":"absent"}`},
		{
			name: "too much risk beside what is held", before: func(f *floor) { f.place("ENTRY", `{"quantity":0.04,"stop_loss":48500,"take_profit":53000}`) },
			arguments: `{"quantity":0.045,"stop_loss":48500}`, rule: "max_open_risk", says: "at risk already",
		},
		{
			name: "the last stop cancelled", tool: "cancel_order", arguments: `{"order_id":"ENTRY_STOP"}`, rule: "last_stop", says: "reduce_only",
			nextTool: "place_order", next: `{"symbol":"BTCUSDT","side":"sell","quantity":0.04,"reduce_only":true,"stop_loss":48600,"replaces":"ENTRY_STOP"}`, free: "stop_loss",
		},
	}
}

func binanceMistakes() []mistake {
	return []mistake{
		{name: "a stop above the price", arguments: `{"stop_loss":51000,"take_profit":55000}`, rule: "stop_side", says: "because it is to sell when the price falls"},
		{name: "day", arguments: `{"stop_loss":48000,"time_in_force":"day"}`, rule: "venue_time_in_force", says: "binance has gtc, ioc, fok"},
		{name: "a trail too tight", arguments: `{"trail_percent":0.05}`, rule: "venue_trail", says: "as binance needs"},
		{name: "a trail too wide", arguments: `{"trail_percent":30}`, rule: "venue_trail", says: "The nearest is 20"},
		{name: "a trail too fine", arguments: `{"trail_percent":1.005}`, rule: "venue_trail", says: "step 0.01"},
		{name: "a stop at market that the symbol lacks", arguments: `{"symbol":"ETHUSDT","stop_loss":1900}`, rule: "protection_not_native", says: "stop_loss_limit", next: `{"stop_loss_limit":1890.5}`},
		{name: "a trail that the symbol lacks", arguments: `{"symbol":"ETHUSDT","trail_percent":2}`, rule: "protection_not_native", says: "no trailing stop", next: `{"trail_percent":"absent","stop_loss":1960,"stop_loss_limit":1950.2}`},
		{name: "a trigger at market that the symbol lacks", arguments: `{"symbol":"ETHUSDT","stop_price":2050}`, rule: "protection_not_native", says: "Use type limit with price", next: `{"type":"limit","price":2060.25}`},
		{name: "legs that the symbol lacks", arguments: `{"symbol":"ETHUSDC","stop_loss":1900,"take_profit":2200}`, rule: "protection_not_native", says: "without legs", next: `{"stop_loss":"absent","take_profit":"absent"}`},
		{name: "legs of an order that waits", arguments: `{"stop_price":51000,"stop_loss":49000}`, rule: "protection_not_native", says: "Omit stop_price", next: `{"stop_price":"absent"}`},
		{name: "post_only that would trade", arguments: `{"type":"limit","price":50500,"post_only":true}`, rule: "post_only", says: "would trade at once"},
		{name: "a quantity below the step", arguments: `{"quantity":0.000001,"stop_loss":48000}`, rule: "venue_step", says: "The smallest quantity is 0.00011"},
		{name: "a stop worth too little", arguments: `{"quantity":0.0001,"stop_loss":48000}`, rule: "venue_leg_notional", says: "minimum"},
		{name: "a target off the grid", arguments: `{"stop_loss":48000,"take_profit":53000.00001}`, rule: "venue_tick", says: "take_profit 53000.00001"},
		{
			name: "one leg of a group cancelled", before: func(f *floor) {
				f.place("BOUGHT", `{}`)
				f.place("PAIR", `{"side":"sell","quantity":0.0999,"reduce_only":true,"stop_loss":48000,"take_profit":53000}`)
				f.place("WAITING", `{"type":"limit","quantity":0.02,"price":48900,"stop_loss":47000,"take_profit":53000}`)
			},
			tool: "cancel_order", arguments: `{"order_id":"WAITING_STOP"}`, rule: "leg_of_pair", says: "Use cancel_order with WAITING_HEAD", next: `{"order_id":"WAITING_HEAD"}`, nextTool: "cancel_order",
		},
		{name: "a sale of what legs hold", arguments: `{"side":"sell","quantity":0.09}`, rule: "reserved", says: "PAIR_STOP", next: `{"reduce_only":true}`},
		{name: "a sale of more than is held", arguments: `{"side":"sell","quantity":0.2,"reduce_only":true}`, rule: "reduce_only", says: "The nearest is"},
		{name: "a stop moved away", arguments: `{"side":"sell","quantity":0.09,"reduce_only":true,"stop_loss":47000,"take_profit":53000,"replaces":"PAIR_STOP"}`, rule: "allow_wider_stop", says: "line PAIR_HEAD"},
		{
			name: "more stops than the venue holds", before: func(f *floor) {
				for range 4 {
					f.place("MORE", `{"quantity":0.01,"stop_loss":48000}`)
				}
			},
			arguments: `{"quantity":0.01,"stop_loss":48500}`, rule: "max_stops", says: "binance holds 5 stops", next: `{"stop_loss":"absent"}`,
		},
		{
			name: "a part of a line beyond them", arguments: `{"side":"sell","quantity":0.05,"reduce_only":true,"stop_loss":48500,"replaces":"PAIR_STOP"}`, rule: "max_stops", says: "the quantity of a line",
		},
	}
}

func alpacaMistakes() []mistake {
	return []mistake{
		{name: "a part of a share with legs", arguments: `{"quantity":0.5,"stop_loss":190,"take_profit":220}`, rule: "venue_whole_legs", says: "alpaca takes stops and legs for whole units only"},
		{name: "a part of a share, without legs", arguments: `{"quantity":1.5,"stop_loss":190}`, rule: "venue_whole_legs", says: "without stop_loss 1.5 is possible", next: `{"stop_loss":"absent"}`},
		{name: "a trailing leg", arguments: `{"trail_percent":2}`, rule: "protection_not_native", says: "alpaca has no trailing leg", next: `{"trail_percent":"absent","stop_loss":196}`},
		{name: "post_only", arguments: `{"type":"limit","price":195,"post_only":true,"stop_loss":190}`, rule: "venue_post_only", says: "alpaca does not have it", next: `{"post_only":"absent"}`},
		{name: "a stop above the price", arguments: `{"stop_loss":210,"take_profit":230}`, rule: "stop_side", says: "not below the last price 200"},
		{name: "a stop off the grid", arguments: `{"stop_loss":190.005}`, rule: "venue_tick", says: "190"},
		{name: "the stop of a short sale below the price", arguments: `{"symbol":"MSFT","side":"sell","stop_loss":380}`, rule: "stop_side", says: "when the price rises"},
		{name: "the target of a short sale above the price", arguments: `{"symbol":"MSFT","side":"sell","take_profit":420}`, rule: "target_side", says: "Did you mean stop_loss 420?"},
		{name: "the legs of a short sale swapped", arguments: `{"symbol":"MSFT","side":"sell","stop_loss":380,"take_profit":420}`, rule: "invalid_argument", says: "swapped", next: `{"stop_loss":420,"take_profit":380}`},
		{name: "legs of an order that waits", arguments: `{"stop_price":205,"stop_loss":190}`, rule: "protection_not_native", says: "Omit stop_price", next: `{"stop_price":"absent"}`},
		{name: "legs of a crypto pair", arguments: `{"symbol":"BTC/USD","quantity":0.1,"stop_loss":48000}`, rule: "protection_not_native", says: "without legs", next: `{"stop_loss":"absent"}`},
		{name: "a trigger at market of a crypto pair", arguments: `{"symbol":"BTC/USD","quantity":0.1,"stop_price":51000}`, rule: "protection_not_native", says: "Use type limit with price", next: `{"type":"limit","price":51255}`},
		{name: "fok for a crypto pair", arguments: `{"symbol":"BTC/USD","quantity":0.1,"type":"limit","price":49000,"time_in_force":"fok"}`, rule: "venue_time_in_force", says: "alpaca has gtc, ioc"},
		{
			name: "one leg of a bracket cancelled", before: func(f *floor) { f.place("ENTRY", `{"type":"limit","price":198,"stop_loss":190,"take_profit":220}`) },
			tool: "cancel_order", arguments: `{"order_id":"ENTRY_STOP"}`, rule: "leg_of_pair", says: "Use cancel_order with ENTRY_HEAD", next: `{"order_id":"ENTRY_HEAD"}`, nextTool: "cancel_order",
		},
		{
			name: "a pair for parts of shares", before: func(f *floor) { f.place("AGAIN", `{"quantity":5}`) },
			arguments: `{"side":"sell","quantity":1.5,"reduce_only":true,"stop_loss":190}`, rule: "venue_whole_legs", says: "whole units",
		},
		{
			name: "another stop while the entry is filled", before: func(f *floor) {
				f.place("PART", `{"type":"limit","price":198,"stop_loss":190,"take_profit":220}`)
				f.trade(f.ids["PART_HEAD"], decimal.NewFromInt(4))
				time.Sleep(5 * time.Second)
			},
			arguments: `{"side":"sell","quantity":9,"reduce_only":true,"stop_loss":192}`, rule: "entry_open", says: "its stop and target belong to it", nextTool: "cancel_order", next: `{"order_id":"PART_HEAD"}`,
		},
		{name: "a sale of shares that are not held", arguments: `{"side":"sell","quantity":100,"reduce_only":true,"stop_loss":190}`, rule: "reduce_only", says: "The nearest is"},
	}
}

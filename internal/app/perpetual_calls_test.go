package app

import (
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/trading/guard"
)

// onPerpetual is a paper account whose calls are about a perpetual future.
func onPerpetual(leverage string, short bool) func(*testing.T) *floor {
	return func(t *testing.T) *floor {
		t.Helper()
		f := onPaper(func(p *guard.Policy) {
			p.MaxLeverage, p.AllowShort = guard.Limit{Value: decimal.RequireFromString(leverage)}, short
		})(t)
		f.symbol = "BTCUSDT.P"
		return f
	}
}

func shortEntries() []mistake {
	return []mistake{
		{name: "the stop of a short below the price", arguments: `{"side":"sell","stop_loss":48500}`, rule: "stop_side", says: "Did you mean take_profit 48500?"},
		{name: "the same, meant as a target", arguments: `{"side":"sell","stop_loss":47500}`, rule: "stop_side", says: "take_profit", next: `{"stop_loss":"absent","take_profit":47500}`},
		{name: "the stop of a short at the price", arguments: `{"side":"sell","stop_loss":50000}`, rule: "stop_side", says: "not above the last price 50000"},
		{name: "the target of a short above the price", arguments: `{"side":"sell","take_profit":52000}`, rule: "target_side", says: "Did you mean stop_loss 52000?"},
		{name: "the legs of a short swapped", arguments: `{"side":"sell","stop_loss":47000,"take_profit":52000}`, rule: "invalid_argument", says: "swapped", next: `{"stop_loss":52000,"take_profit":47000}`},
		{name: "both legs of a short equal", arguments: `{"side":"sell","stop_loss":52000,"take_profit":52000}`, rule: "invalid_argument", says: "they are equal", next: `{"take_profit":"absent"}`},
		{name: "per cent for the stop of a short", arguments: `{"side":"sell","stop_loss":3}`, rule: "stop_side", says: "3 % above is 51500"},
		{name: "per cent for the target of a short", arguments: `{"side":"sell","take_profit":5}`, rule: "max_target_distance_pct", says: "5 % below is 47500"},
		{name: "the stop of a short beyond its liquidation", arguments: `{"side":"sell","stop_loss":59900}`, rule: "stop_before_liquidation", says: "Use a stop below"},
		{name: "the stop of a long beyond its liquidation", arguments: `{"stop_loss":40100}`, rule: "stop_before_liquidation", says: "Use a stop above"},
		{name: "the stop of a short too near", arguments: `{"side":"sell","stop_loss":50010}`, rule: "min_stop_distance_pct", says: "0.02 % above"},
		{name: "the stop of a short far beyond its liquidation", arguments: `{"side":"sell","stop_loss":90000}`, rule: "stop_before_liquidation", says: "Use a stop below 59462.14"},
		{name: "the target of a short too far away", arguments: `{"side":"sell","take_profit":20000}`, rule: "max_target_distance_pct", says: "60 % below"},
		{name: "the stop of a short off the grid", arguments: `{"side":"sell","stop_loss":51500.001}`, rule: "venue_tick", says: "stop_loss 51500.001"},
		{name: "the target of a short off the grid", arguments: `{"side":"sell","take_profit":48000.009}`, rule: "venue_tick", says: "take_profit 48000.009"},
		{name: "a short off the step", arguments: `{"side":"sell","quantity":0.012345}`, rule: "venue_step", says: "0.01234 and 0.01235"},
		{name: "a short of nothing", arguments: `{"side":"sell","quantity":0}`, rule: "invalid_argument", says: "a number above 0", next: `{"quantity":0.1}`, free: "quantity"},
		{name: "a negative quantity for a short", arguments: `{"quantity":-0.1}`, rule: "invalid_argument", says: "a number above 0", next: `{"quantity":0.1}`, free: "quantity"},
		{name: "a short worth too much", arguments: `{"side":"sell","quantity":1}`, rule: "max_order_notional", says: "the limit per order is 10000", next: `{"quantity":0.1}`, free: "quantity"},
		{name: "the limit of a stop of a short below it", arguments: `{"side":"sell","stop_loss":51500,"stop_loss_limit":51400}`, rule: "invalid_argument", says: "could not trade once it triggers"},
		{name: "a limit without a stop", arguments: `{"side":"sell","stop_loss_limit":52000}`, rule: "invalid_argument", says: "needs stop_loss", next: `{"stop_loss":51500}`, free: "stop_loss"},
		{name: "a stop and a trail", arguments: `{"side":"sell","stop_loss":51500,"trail_percent":2}`, rule: "invalid_argument", says: "give one of them", next: `{"stop_loss":"absent"}`},
		{name: "a trail too tight", arguments: `{"side":"sell","trail_percent":0.05}`, rule: "venue_trail", says: "paper"},
		{name: "a trail beyond the liquidation", arguments: `{"side":"sell","trail_percent":19.8}`, rule: "stop_before_liquidation", says: "would be liquidated first", next: `{"trail_percent":5}`, free: "trail_percent"},
		{name: "a price for a trail", arguments: `{"side":"sell","trail_percent":51500}`, rule: "invalid_argument", says: "per cent", next: `{"trail_percent":"absent","stop_loss":51500}`},
		{name: "day without a session", arguments: `{"side":"sell","time_in_force":"day"}`, rule: "venue_time_in_force", says: "paper has gtc, ioc, fok"},
		{name: "a short that waits for a higher price", arguments: `{"side":"sell","stop_price":51000}`, rule: "stop_price_side", says: "below 50000"},
		{name: "the same, meant as a limit", arguments: `{"side":"sell","stop_price":50500}`, rule: "stop_price_side", says: "use type limit", next: `{"type":"limit","price":50500,"stop_price":"absent"}`},
		{name: "a stop_price out of reach", arguments: `{"side":"sell","stop_price":40000}`, rule: "resting_band_pct", says: "stop_price 40000"},
		{name: "a limit of a short far below the price", arguments: `{"side":"sell","type":"limit","price":40000}`, rule: "price_band_pct", says: "20 % below"},
		{name: "a limit of a short far above the price", arguments: `{"side":"sell","type":"limit","price":60000}`, rule: "resting_band_pct", says: "20 % above"},
		{name: "a limit without a price", arguments: `{"side":"sell","type":"limit"}`, rule: "missing_argument", says: "price", next: `{"price":50500}`, free: "price"},
		{name: "post_only of a short that would trade", arguments: `{"side":"sell","type":"limit","price":49900,"post_only":true}`, rule: "post_only", says: "would trade at once"},
		{name: "post_only at market", arguments: `{"side":"sell","post_only":true}`, rule: "invalid_argument", says: "never rests", next: `{"post_only":"absent"}`},
		{name: "legs of a short that waits", arguments: `{"side":"sell","stop_price":49000,"stop_loss":51000}`, rule: "protection_not_native", says: "paper", next: `{"stop_price":"absent"}`},
		{name: "the stop of a resting short below its limit", arguments: `{"side":"sell","type":"limit","price":51000,"stop_loss":50500}`, rule: "stop_side", says: "would trigger as soon as the entry is filled"},
		{name: "the target of a resting short above its limit", arguments: `{"side":"sell","type":"limit","price":51000,"take_profit":51500}`, rule: "target_side", says: "not below the entry price 51000"},
		{name: "a risk without a stop", arguments: `{"side":"sell","quantity":"absent","risk_pct":0.1}`, rule: "invalid_argument", says: "needs stop_loss", next: `{"stop_loss":51500}`, free: "stop_loss"},
		{name: "two risks", arguments: `{"side":"sell","quantity":"absent","risk_amount":100,"risk_pct":0.1,"stop_loss":51500}`, rule: "invalid_argument", says: "give one of them", next: `{"risk_amount":"absent"}`},
		{name: "a time that has passed", arguments: `{"side":"sell","not_after":"2020-01-01T00:00:00Z"}`, rule: "too_late", says: "nothing was done", next: `{"not_after":"absent"}`},
		{name: "an exit of nothing", arguments: `{"side":"sell","reduce_only":true}`, rule: "reduce_only", says: "no position", next: `{"reduce_only":"absent"}`},
		{name: "buying back nothing", arguments: `{"reduce_only":true}`, rule: "reduce_only", says: "no position", next: `{"reduce_only":"absent"}`},
		{name: "a leverage", arguments: `{"leverage":10}`, rule: "unknown_argument", says: "leverage", next: `{"leverage":"absent"}`},
		{name: "a leverage of a short", arguments: `{"side":"sell","leverage":"5x"}`, rule: "unknown_argument", says: "leverage", next: `{"leverage":"absent"}`},
		{name: "a margin mode", arguments: `{"margin_mode":"isolated"}`, rule: "unknown_argument", says: "margin_mode", next: `{"margin_mode":"absent"}`},
		{name: "a margin type", arguments: `{"marginType":"CROSS"}`, rule: "unknown_argument", says: "marginType", next: `{"marginType":"absent"}`},
		{name: "a side of hedge mode", arguments: `{"position_side":"SHORT"}`, rule: "unknown_argument", says: "position_side", next: `{"position_side":"absent"}`},
		{name: "the same in capitals", arguments: `{"positionSide":"LONG"}`, rule: "unknown_argument", says: "positionSide", next: `{"positionSide":"absent"}`},
		{name: "close_position", arguments: `{"close_position":true}`, rule: "unknown_argument", says: "close_position", next: `{"close_position":"absent"}`},
		{name: "a hedge mode", arguments: `{"hedge":true}`, rule: "unknown_argument", says: "hedge", next: `{"hedge":"absent"}`},
		{name: "a deployment", arguments: `{"deployment":"0199a0"}`, rule: "unknown_argument", says: "deployment", next: `{"deployment":"absent"}`},
		{name: "a key of a deployment", arguments: `{"idempotency_key":"s1-0123456789abcdef0123456789abcdef01234567"}`, rule: "invalid_argument", says: "one of a deployment", next: `{"idempotency_key":"absent"}`},
		{name: "a margin", arguments: `{"margin":1000}`, rule: "unknown_argument", says: "margin", next: `{"margin":"absent"}`},
		{name: "the side of a position", arguments: `{"side":"short"}`, rule: "invalid_argument", says: "did you mean", next: `{"side":"sell"}`},
		{name: "a quantity with its unit", arguments: `{"quantity":"0.1 BTC"}`, rule: "invalid_argument", says: "without quotes", next: `{"quantity":0.1}`},
		{name: "a time in force of the venue", arguments: `{"side":"sell","time_in_force":"GTX"}`, rule: "invalid_argument", says: "use gtc, day, ioc, fok", next: `{"time_in_force":"gtc"}`},
		{name: "contracts", arguments: `{"side":"sell","contracts":3}`, rule: "unknown_argument", says: "contracts", next: `{"contracts":"absent"}`},
		{name: "a liquidation price", arguments: `{"side":"sell","liquidation_price":60000}`, rule: "unknown_argument", says: "liquidation_price", next: `{"liquidation_price":"absent"}`},
		{name: "a trigger price", arguments: `{"side":"sell","trigger_price":49000}`, rule: "unknown_argument", says: "stop_loss protects an entry", next: `{"trigger_price":"absent"}`},
		{name: "a type that no order has", arguments: `{"type":"liquidation"}`, rule: "invalid_argument", says: "use market, limit", next: `{"type":"market"}`},
		{name: "a working type", arguments: `{"working_type":"MARK_PRICE"}`, rule: "unknown_argument", says: "working_type", next: `{"working_type":"absent"}`},
	}
}

func shortExits() []mistake {
	return []mistake{
		{
			name: "a purchase that turns the short round", before: func(f *floor) { f.place("SHORT", `{"side":"sell","stop_loss":52000,"take_profit":46000}`) },
			arguments: `{"quantity":0.15}`, rule: "one_side", says: "Send buy 0.1 with reduce_only first, then buy 0.05.", next: `{"reduce_only":true,"quantity":0.1}`,
		},
		{name: "buying back more than is held", arguments: `{"quantity":0.15,"reduce_only":true}`, rule: "reduce_only", says: "0.1"},
		{name: "selling to close a short", arguments: `{"side":"sell","reduce_only":true}`, rule: "reduce_only", says: "buy", next: `{"side":"buy"}`},
		{name: "buying back what legs hold without reduce_only", arguments: `{"quantity":0.05}`, rule: "reserved", says: "SHORT_STOP", next: `{"reduce_only":true}`},
		{name: "the stop of what is held below the price", arguments: `{"reduce_only":true,"stop_loss":49000}`, rule: "stop_side", says: "when the price rises"},
		{name: "the target of what is held above the price", arguments: `{"reduce_only":true,"take_profit":51000}`, rule: "target_side", says: "Did you mean stop_loss 51000?"},
		{name: "a wider stop", arguments: `{"reduce_only":true,"stop_loss":53000}`, rule: "allow_wider_stop", says: "52000"},
		{name: "a wider stop in place of the first", arguments: `{"reduce_only":true,"stop_loss":53000,"replaces":"SHORT_STOP"}`, rule: "allow_wider_stop", says: "52000"},
		{name: "a stop beyond the liquidation", arguments: `{"reduce_only":true,"stop_loss":59900}`, rule: "allow_wider_stop", says: "52000"},
		{name: "per cent for the stop of what is held", arguments: `{"reduce_only":true,"stop_loss":3}`, rule: "stop_side", says: "3 % above"},
		{name: "a part that is no line", arguments: `{"reduce_only":true,"quantity":0.15,"stop_loss":51500}`, rule: "reduce_only", says: "0.1"},
		{name: "an exit that waits for a lower price", arguments: `{"reduce_only":true,"stop_price":49000}`, rule: "stop_price_side", says: "use type limit", next: `{"type":"limit","price":49000,"stop_price":"absent"}`},
		{name: "a limit price beside a stop", arguments: `{"type":"limit","price":47000,"reduce_only":true,"stop_loss":51500}`, rule: "invalid_argument", says: "take_profit", next: `{"type":"market","price":"absent","take_profit":47000}`},
		{name: "stop_price and a target", arguments: `{"reduce_only":true,"stop_price":51500,"take_profit":47000}`, rule: "invalid_argument", says: "stop_loss in its place", next: `{"stop_price":"absent","stop_loss":51500}`},
		{name: "a pair that must trade at once", arguments: `{"reduce_only":true,"stop_loss":51500,"take_profit":47000,"time_in_force":"ioc"}`, rule: "invalid_argument", says: "Omit it", next: `{"time_in_force":"absent"}`},
		{name: "an unknown order replaced", arguments: `{"reduce_only":true,"stop_loss":51500,"replaces":"nothing"}`, rule: "unknown_order", says: "SHORT_STOP", next: `{"replaces":"SHORT_STOP"}`},
		{name: "the entry replaced", arguments: `{"reduce_only":true,"stop_loss":51500,"replaces":"SHORT_HEAD"}`, rule: "order_closed", says: "filled", next: `{"replaces":"absent"}`},
		{
			name: "a purchase beyond the short, without legs", before: func(f *floor) {
				f.place("OUT", `{"reduce_only":true}`)
				f.place("BARE", `{"side":"sell"}`)
			},
			arguments: `{"quantity":0.15}`, rule: "one_side", says: "Send buy 0.1 with reduce_only first, then buy 0.05.",
		},
		{name: "a bracket against the short", arguments: `{"quantity":0.05,"stop_loss":48000}`, rule: "one_side", says: "Send it with reduce_only and without them", next: `{"reduce_only":true,"stop_loss":"absent"}`},
		{name: "a first stop beyond the liquidation", arguments: `{"reduce_only":true,"stop_loss":59900}`, rule: "stop_before_liquidation", says: "Use a stop below"},
		{name: "a first stop on the wrong side", arguments: `{"reduce_only":true,"stop_loss":48000}`, rule: "stop_side", says: "Did you mean take_profit 48000?"},
		{name: "more than the symbol may be worth", before: func(f *floor) {
			f.place("MORE", `{"side":"sell"}`)
			f.place("MORE", `{"side":"sell"}`)
			f.place("MORE", `{"side":"sell"}`)
		}, arguments: `{"side":"sell"}`, rule: "max_symbol_exposure", says: "the limit per symbol is 25000", next: `{"quantity":0.05}`, free: "quantity"},
	}
}

func perpetualsOff() []mistake {
	off := "the policy allows none (max_leverage = 0)"
	return []mistake{
		{name: "a long", arguments: `{}`, rule: "max_leverage", says: off, next: `{"symbol":"BTCUSDT"}`},
		{name: "a long with legs", arguments: `{"stop_loss":48500,"take_profit":53000}`, rule: "max_leverage", says: off, next: `{"symbol":"BTCUSDT"}`},
		{name: "a limit", arguments: `{"type":"limit","price":49500}`, rule: "max_leverage", says: off, next: `{"symbol":"BTCUSDT"}`},
		{name: "a stop order", arguments: `{"stop_price":51000}`, rule: "max_leverage", says: off, next: `{"symbol":"BTCUSDT"}`},
		{name: "a trail", arguments: `{"trail_percent":2}`, rule: "max_leverage", says: off, next: `{"symbol":"BTCUSDT"}`},
		{name: "a risk", arguments: `{"quantity":"absent","risk_amount":100,"stop_loss":48500}`, rule: "max_leverage", says: off, next: `{"symbol":"BTCUSDT"}`},
		{name: "an amount of money", arguments: `{"quantity":"absent","notional":1000}`, rule: "max_leverage", says: off, next: `{"symbol":"BTCUSDT"}`},
		{name: "small letters", arguments: `{"symbol":"btcusdt.p"}`, rule: "max_leverage", says: off, next: `{"symbol":"BTCUSDT"}`},
		{name: "with the venue", arguments: `{"symbol":"binance:BTCUSDT.P"}`, rule: "max_leverage", says: off, next: `{"symbol":"BTCUSDT"}`},
	}
}

func highLeverage() []mistake {
	near := "At a leverage of 10 no quantity is further away; only the owner can lower max_leverage"
	pair := `{"symbol":"BTCUSDT"}`
	return []mistake{
		{name: "a long", arguments: `{}`, rule: "min_liquidation_distance_pct", says: near, next: pair, free: "symbol"},
		{name: "a smaller long", arguments: `{"quantity":0.001}`, rule: "min_liquidation_distance_pct", says: near, next: pair, free: "symbol"},
		{name: "a limit", arguments: `{"type":"limit","price":49900}`, rule: "min_liquidation_distance_pct", says: near, next: pair, free: "symbol"},
		{name: "a stop does not help", arguments: `{"stop_loss":49000}`, rule: "min_liquidation_distance_pct", says: near, next: pair, free: "symbol"},
	}
}

func longOnly() []mistake {
	return []mistake{
		{name: "a short", arguments: `{"side":"sell"}`, rule: "allow_short", says: "would open a short position", next: `{"side":"buy"}`},
		{name: "a resting short", arguments: `{"side":"sell","type":"limit","price":51000}`, rule: "allow_short", says: "would open a short position", next: `{"side":"buy"}`},
		{
			name: "a sale of more than is held", before: func(f *floor) { f.place("LONG", `{}`) },
			arguments: `{"side":"sell","quantity":0.3}`, rule: "allow_short", says: "The largest quantity is 0.1.",
		},
		{name: "an exit of more than is held", arguments: `{"side":"sell","quantity":0.3,"reduce_only":true}`, rule: "reduce_only", says: "0.1"},
		{name: "buying to close a long", arguments: `{"reduce_only":true}`, rule: "reduce_only", says: "sell", next: `{"side":"sell"}`},
		{name: "the stop of a long above the price", arguments: `{"side":"sell","reduce_only":true,"stop_loss":51000}`, rule: "stop_side", says: "when the price falls"},
		{name: "the target of a long below the price", arguments: `{"side":"sell","reduce_only":true,"take_profit":49000}`, rule: "target_side", says: "Did you mean stop_loss 49000?"},
		{name: "a stop of a long beyond its liquidation", arguments: `{"side":"sell","reduce_only":true,"stop_loss":40100}`, rule: "stop_before_liquidation", says: "Use a stop above"},
		{name: "a bracket against the long", arguments: `{"side":"sell","quantity":0.05,"stop_loss":52000}`, rule: "one_side", says: "Send it with reduce_only and without them", next: `{"reduce_only":true,"stop_loss":"absent"}`},
	}
}

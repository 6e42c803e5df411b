package guard_test

import (
	"maps"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func limit(s string) guard.Limit { return guard.Limit{Value: dec(s)} }

var (
	noon   = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	symbol = market.Symbol{Venue: "binance", Name: "BTCUSDT"}
)

// scene is an order that every rule lets pass: a limit buy of 0.01 BTC at the last
// price, with 0.1 held.
type scene struct {
	guard.Policy
	guard.State
	guard.Intent
	guard.Facts
}

func passing() *scene {
	return &scene{
		Policy: guard.Default(),
		Intent: guard.Intent{
			Spec: order.Spec{
				ID: "o1", Owner: "me", Symbol: symbol, Side: order.Buy, Type: order.Limit,
				Quantity: dec("0.01"), Price: dec("60000"),
			},
			Mode: order.Paper, Token: "k1",
		},
		Facts: guard.Facts{
			Now: noon, Quote: order.Quote{Last: dec("60000"), At: noon}, Rate: dec("1"),
			Instrument: provider.Instrument{
				Symbol: symbol, Base: "BTC", Quote: "USDT", Tick: dec("0.01"), Step: dec("0.00001"),
				MinQuantity: dec("0.0001"), MaxQuantity: dec("9000"), MinNotional: dec("5"),
			},
			Held: dec("0.1"),
		},
	}
}

func (s *scene) check() *guard.Denial { return guard.Check(s.Policy, s.State, s.Intent, s.Facts) }

func (s *scene) recent(n int, age time.Duration) {
	for range n {
		r := guard.Recent{Spec: s.Spec, Token: s.Token, At: noon.Add(-age)}
		r.ID, r.Quantity = "o0", dec("7")
		s.Recent = append(s.Recent, r)
	}
}

func (s *scene) raise(k guard.RestrictionKind) {
	s.State, _ = s.Restrict(guard.Restriction{Kind: k, Reason: "because", By: "me", Since: noon})
}

func (s *scene) sell(quantity string) {
	s.Side, s.Quantity = order.Sell, dec(quantity)
}

func (s *scene) market() { s.Type, s.Price = order.Market, decimal.Zero }

// refusal is an order that a rule refuses, with what it says.
type refusal struct {
	rule, limit, value, text string
	field, nearest           string
	change                   func(*scene)
}

// refusals has for each rule orders that it refuses.
func refusals() map[string]refusal {
	all := plainRefusals()
	maps.Copy(all, protectiveRefusals())
	maps.Copy(all, evidenceRefusals())
	maps.Copy(all, perpetualRefusals())
	maps.Copy(all, deploymentRefusals())
	return all
}

func plainRefusals() map[string]refusal {
	return map[string]refusal{
		"a quantity of nothing": {
			"amounts", "greater than 0 with at most 24 digits on each side of the point", "0", "quantity must be greater than 0 with at most 24 digits on each side of the point (got 0).", "quantity", "",
			func(s *scene) { s.Quantity = dec("0") },
		},
		"a negative quantity": {
			"amounts", "greater than 0 with at most 24 digits on each side of the point", "-1", "quantity must be greater than 0 with at most 24 digits on each side of the point (got -1).", "quantity", "",
			func(s *scene) { s.Quantity = dec("-1") },
		},
		"an absurd quantity": {
			"amounts", "greater than 0 with at most 24 digits on each side of the point", "a number of the size 1e400", "quantity must be greater than 0 with at most 24 digits on each side of the point (got a number of the size 1e400).", "quantity", "",
			func(s *scene) { s.Quantity = dec("1e400") },
		},
		"a limit order without a price": {
			"amounts", "greater than 0 with at most 24 digits on each side of the point", "0", "price must be greater than 0 with at most 24 digits on each side of the point (got 0).", "price", "",
			func(s *scene) { s.Price = dec("0") },
		},
		"an absurd price": {
			"amounts", "greater than 0 with at most 24 digits on each side of the point", "a number of the size 1e-400", "price must be greater than 0 with at most 24 digits on each side of the point (got a number of the size 1e-400).", "price", "",
			func(s *scene) { s.Price = dec("1e-400") },
		},
		"a market order with a price": {
			"amounts", "no price", "60000", "A market order has no price. Omit price.", "price", "",
			func(s *scene) { s.Type = order.Market },
		},
		"an order while the owner has halted": {
			"halted", "no orders", "HALTED", "Trading is halted: owner_halt by me: because; lifted with candela resume", "", "",
			func(s *scene) { s.raise(guard.OwnerHalt) },
		},
		"an order that reduces while the owner has halted": {
			"halted", "no orders", "HALTED", "Trading is halted: owner_halt by me: because; lifted with candela resume", "", "",
			func(s *scene) { s.raise(guard.OwnerHalt); s.sell("0.1") },
		},
		"an order when the store fails": {
			"halted", "no orders", "HALTED", "store_failure", "", "",
			func(s *scene) { s.raise(guard.StoreFailure) },
		},
		"an order before the account was compared": {
			"halted", "no orders", "HALTED", "unreconciled", "", "",
			func(s *scene) { s.State = s.Restart(noon) },
		},
		"an order in a state that another build wrote": {
			"halted", "no orders", "HALTED", "meteor", "", "",
			func(s *scene) { s.raise("meteor") },
		},
		"a symbol that is not in the list": {
			"allowed_symbols", "AAPL, kraken:BTCUSDT", "binance:BTCUSDT", "symbol binance:BTCUSDT is not allowed by the policy. Allowed: AAPL, kraken:BTCUSDT.", "symbol", "",
			func(s *scene) {
				s.AllowedSymbols = []market.Symbol{{Name: "AAPL"}, {Venue: "kraken", Name: "BTCUSDT"}}
			},
		},
		"live without a list": {
			"allowed_symbols", "the symbols of allowed_symbols", "binance:BTCUSDT", "The policy allows no symbol for live trading. The owner must set allowed_symbols.", "symbol", "",
			func(s *scene) { s.Mode = order.Live },
		},
		"too many orders of one token": {
			"max_orders_per_minute", "20 per minute", "21", "20 orders in the last minute; the limit is 20. Wait, and check get_orders first.", "", "",
			func(s *scene) { s.recent(20, 30*time.Second) },
		},
		"too many orders of one token that only reduce": {
			"max_orders_per_minute", "80 per minute", "81", "80 orders in the last minute; the limit is 80. Wait, and check get_orders first.", "", "",
			func(s *scene) { s.recent(80, 30*time.Second); s.sell("0.1") },
		},
		"the same way out again": {
			"duplicate_window", "one within 2s without an idempotency_key", "o0", "Duplicate of order o0, placed 1s ago.", "idempotency_key", "",
			func(s *scene) { s.sell("0.05"); s.recent(1, time.Second); s.Recent[0].Quantity = dec("0.05") },
		},
		"too many open orders that only reduce": {
			"max_open_orders", "80", "81", "80 orders are open; the limit is 80. Cancel one first.", "", "",
			func(s *scene) { s.OpenOrders = 80; s.sell("0.1") },
		},
		"the same order again": {
			"duplicate_window", "one within 2s without an idempotency_key", "o0", "Duplicate of order o0, placed 1.5s ago. If you want a second order, give each one its own idempotency_key.", "idempotency_key", "",
			func(s *scene) {
				s.recent(1, 1500*time.Millisecond)
				s.Recent[0].Quantity = dec("0.010")
			},
		},
		"too many open orders in the symbol": {
			"max_symbol_open_orders", "10", "11", "10 orders are open in binance:BTCUSDT; the limit is 10. Cancel one first.", "", "",
			func(s *scene) { s.SymbolOrders = 10 },
		},
		"too many open orders": {
			"max_open_orders", "20", "21", "20 orders are open; the limit is 20. Cancel one first.", "", "",
			func(s *scene) { s.OpenOrders = 20 },
		},
		"too large a quantity": {
			"max_order_quantity", "0.005", "0.01", "quantity 0.01 is above the limit of 0.005 per order.", "quantity", "",
			func(s *scene) { s.MaxOrderQuantity = limit("0.005") },
		},
		"too large a quantity by the symbol's own limit": {
			"max_order_quantity", "0.009", "0.01", "0.009", "quantity", "",
			func(s *scene) {
				own := s.Limits
				own.MaxOrderQuantity = limit("0.009")
				s.Symbols = map[market.Symbol]guard.Limits{{Name: "BTCUSDT"}: own}
			},
		},
		"a buy while the feed is lost": {
			"reducing", "orders that only reduce a position", "buy 0.01 with 0.1 held", "Only orders that reduce a position are allowed now; 0.1 of binance:BTCUSDT is held. Reason: feed_lost by me: because; lifted by itself, when prices arrive again", "", "",
			func(s *scene) { s.raise(guard.FeedLost) },
		},
		"a sell beyond the position while clocks differ": {
			"reducing", "orders that only reduce a position", "sell 0.2 with 0.1 held", "clock_skew", "", "",
			func(s *scene) { s.raise(guard.ClockSkew); s.sell("0.2") },
		},
		"a sell of what is being sold while the books differ": {
			"reducing", "orders that only reduce a position", "sell 0.05 with 0.1 held", "Only orders that reduce a position are allowed now; 0.1 of binance:BTCUSDT is held, with open orders for 0.06 against it. Reason: reconcile_mismatch by me: because; lifted by itself, when a reconciliation finds no mismatch", "", "",
			func(s *scene) { s.raise(guard.Mismatch); s.sell("0.05"); s.OpenSell = dec("0.06") },
		},
		"a buy after too large a loss": {
			"reducing", "orders that only reduce a position", "buy 0.01 with 0.1 held", "daily_loss: 1000.50 was lost", "", "",
			func(s *scene) {
				s.State, _ = s.CheckLoss(s.Policy, dec("0"), noon)
				s.State, _ = s.CheckLoss(s.Policy, dec("-1000.5"), noon)
			},
		},
		"a sell to cover nothing while reducing, short": {
			"reducing", "orders that only reduce a position", "buy 0.2 with -0.1 held", "Only orders that reduce a position are allowed now; -0.1 of binance:BTCUSDT is held, with open orders for 0.05 against it. Reason: feed_lost by me: because; lifted by itself, when prices arrive again", "", "",
			func(s *scene) {
				s.raise(guard.FeedLost)
				s.Held, s.OpenBuy, s.Quantity = dec("-0.1"), dec("0.05"), dec("0.2")
			},
		},
		"a sell of what is not held": {
			"allow_short", "0", "0.01", "Selling 0.01 would open a short position, which the policy does not allow; 0 of binance:BTCUSDT is held.", "quantity", "",
			func(s *scene) { s.sell("0.01"); s.Held = dec("0") },
		},
		"a sell of more than is free": {
			"allow_short", "0.049995", "0.06", "Selling 0.06 would open a short position, which the policy does not allow; 0.099995 of binance:BTCUSDT is held, with open orders for 0.05 against it.", "quantity", "0.04999",
			func(s *scene) { s.sell("0.06"); s.Held, s.OpenSell = dec("0.099995"), dec("0.05") },
		},
		"a sell of more than is free where quantities have no step": {
			"allow_short", "0.1", "0.12", "Selling 0.12 would open a short position, which the policy does not allow; 0.1 of binance:BTCUSDT is held.", "quantity", "0.1",
			func(s *scene) { s.sell("0.12"); s.Instrument.Step = dec("0") },
		},
		"a very small loss": {
			"reducing", "orders that only reduce a position", "buy 0.01 with 0.1 held", "daily_loss: 0.125 was lost", "", "",
			func(s *scene) {
				s.MaxDailyLoss = limit("0")
				s.State, _ = s.CheckLoss(s.Policy, dec("0"), noon)
				s.State, _ = s.CheckLoss(s.Policy, dec("-0.125"), noon)
			},
		},
		"a currency that nobody can convert": {
			"currencies", "USD, USDT, USDC, FDUSD, TUSD, DAI", "BTC", "symbol binance:BTCUSDT is priced in BTC, which has no known rate to the account's currency. Accepted currencies: USD, USDT, USDC, FDUSD, TUSD, DAI.", "symbol", "",
			func(s *scene) { s.Instrument.Quote, s.Rate = "BTC", dec("0") },
		},
		"an unknown currency": {
			"currencies", "USD, USDT, USDC, FDUSD, TUSD, DAI", "an unknown currency", "symbol binance:BTCUSDT is priced in an unknown currency, which has no known rate to the account's currency. Accepted currencies: USD, USDT, USDC, FDUSD, TUSD, DAI.", "symbol", "",
			func(s *scene) { s.Instrument.Quote, s.Rate = "", dec("0") },
		},
		"a price between two ticks": {
			"venue_tick", "multiples of 0.01", "60000.007", "price 60000.007 is not a multiple of the venue's step 0.01. The nearest are 60000.01 and 60000.", "price", "60000.01 60000",
			func(s *scene) { s.Price = dec("60000.007") },
		},
		"a quantity between two steps": {
			"venue_step", "multiples of 0.00001", "0.010002", "quantity 0.010002 is not a multiple of the venue's step 0.00001. The nearest are 0.01 and 0.01001.", "quantity", "0.01 0.01001",
			func(s *scene) { s.Quantity = dec("0.010002") },
		},
		"a quantity below the first step": {
			"venue_step", "multiples of 0.00001", "0.000001", "venue's step 0.00001", "quantity", "",
			func(s *scene) { s.Quantity = dec("0.000001") },
		},
		"a quantity beyond the last step": {
			"venue_step", "multiples of 0.00001", "9000.000001", "quantity 9000.000001 is not a multiple of the venue's step 0.00001. The nearest are 9000.", "quantity", "9000",
			func(s *scene) { s.Quantity = dec("9000.000001") },
		},
		"too little for the venue": {
			"venue_min_quantity", "0.0001", "0.00009", "quantity 0.00009 is below the venue's minimum of 0.0001.", "quantity", "0.0001",
			func(s *scene) { s.Quantity = dec("0.00009") },
		},
		"less than the rest of a position, where quantities have no step": {
			"venue_min_quantity", "0.0001", "0.00001", "quantity 0.00001 is below the venue's minimum of 0.0001.", "quantity", "0.0001",
			func(s *scene) { s.Instrument.Step, s.Held = decimal.Zero, dec("0.00002"); s.sell("0.00001") },
		},
		"the rest of a position, where quantities have a step": {
			"venue_min_quantity", "0.0001", "0.00001", "quantity 0.00001 is below the venue's minimum of 0.0001.", "quantity", "0.0001",
			func(s *scene) { s.Held = dec("0.00001"); s.sell("0.00001") },
		},
		"too much for the venue": {
			"venue_max_quantity", "9000", "9001", "quantity 9001 is above the venue's maximum of 9000.", "quantity", "9000",
			func(s *scene) { s.Quantity = dec("9001") },
		},
		"too much at the market for the venue": {
			"venue_max_market", "0.05", "0.1", "quantity 0.1: binance takes at most 0.05 in an order at the market. Use quantity 0.05, in several orders, or type limit with price.", "quantity", "0.05",
			func(s *scene) {
				s.Quantity, s.Type, s.Price, s.Instrument.MaxMarket = dec("0.1"), order.Market, dec("0"), dec("0.05")
			},
		},
		"worth too little for the venue": {
			"venue_min_notional", "7", "6", "quantity 0.0001 at 60000 is worth 6; the venue's minimum is 7 USDT. The minimum quantity is 0.00012.", "quantity", "0.00012",
			func(s *scene) { s.Quantity, s.Instrument.MinNotional = dec("0.0001"), dec("7") },
		},
		"a market order worth too little for the venue": {
			"venue_min_notional", "7", "6", "0.0001 at 60000 is worth 6", "quantity", "0.00012",
			func(s *scene) { s.market(); s.Quantity, s.Instrument.MinNotional = dec("0.0001"), dec("7") },
		},
		"worth too little, where quantities have no step": {
			"venue_min_notional", "7", "6", "quantity 0.0001 at 60000 is worth 6; the venue's minimum is 7 USDT.", "quantity", "",
			func(s *scene) {
				s.Quantity, s.Instrument.MinNotional, s.Instrument.Step = dec("0.0001"), dec("7"), dec("0")
			},
		},
		"an old price": {
			"max_quote_age", "10s", "10.001s", "The last price of binance:BTCUSDT, 60000, is 10.001s old; the limit is 10s.", "", "",
			func(s *scene) { s.Quote.At = noon.Add(-10001 * time.Millisecond) },
		},
		"a price of the day before yesterday": {
			"max_quote_age", "10s", "43h0m0s", "The last price of binance:BTCUSDT, 60000, is 43h0m0s old; the limit is 10s. Its market may be closed, its feed lost or its file old, so a retry soon does not help.", "", "",
			func(s *scene) { s.Quote.At = noon.Add(-43 * time.Hour) },
		},
		"no price": {
			"max_quote_age", "10s", "no price", "No current price for binance:BTCUSDT. Retry in 1 s.", "", "",
			func(s *scene) { s.Quote = order.Quote{} },
		},
		"a buy far above the last price": {
			"price_band_pct", "5 %", "50 %", "price 90000 is 50 % above the last price 60000; the limit is 5 %. The nearest allowed price is 63000.", "price", "63000",
			func(s *scene) { s.Price = dec("90000") },
		},
		"a sell far below the last price": {
			"price_band_pct", "5 %", "50 %", "price 30000 is 50 % below the last price 60000; the limit is 5 %. The nearest allowed price is 57000.", "price", "57000",
			func(s *scene) { s.sell("0.01"); s.Price = dec("30000") },
		},
		"a buy far below the last price": {
			"resting_band_pct", "5 %", "50 %", "price 30000 is 50 % below the last price 60000; the limit is 5 %. The nearest allowed price is 57000.", "price", "57000",
			func(s *scene) { s.Price = dec("30000") },
		},
		"a sell far above the last price, off the ticks": {
			"resting_band_pct", "5 %", "5.01 %", "price 63003.01 is 5.01 % above the last price 60000.001; the limit is 5 %. The nearest allowed price is 63000.", "price", "63000",
			func(s *scene) { s.sell("0.01"); s.Price, s.Quote.Last = dec("63003.01"), dec("60000.001") },
		},
		"a buy far below, off the ticks": {
			"resting_band_pct", "5 %", "50 %", "price 30000 is 50 % below the last price 60000.001; the limit is 5 %. The nearest allowed price is 57000.01.", "price", "57000.01",
			func(s *scene) { s.Price, s.Quote.Last = dec("30000"), dec("60000.001") },
		},
		"a price far off where there are no ticks": {
			"price_band_pct", "5 %", "50 %", "price 90000 is 50 % above the last price 60000; the limit is 5 %. The nearest allowed price is 63000.", "price", "63000",
			func(s *scene) { s.Price, s.Instrument.Tick = dec("90000"), dec("0") },
		},
		"a resting sell by a band of its own": {
			"resting_band_pct", "49 %", "50 %", "price 90000 is 50 % above the last price 60000; the limit is 49 %. The nearest allowed price is 89400.", "price", "89400",
			func(s *scene) { s.sell("0.01"); s.RestingBandPct, s.Price = limit("49"), dec("90000") },
		},
		"an order that is worth too much": {
			"max_order_notional", "10000", "10200", "quantity 0.17 at up to 60000 is worth 10200; the limit per order is 10000.", "quantity", "",
			func(s *scene) { s.Quantity = dec("0.17") },
		},
		"a market order that is worth too much at its worst": {
			"max_order_notional", "10000", "10080", "quantity 0.16 at up to 63000 is worth 10080; the limit per order is 10000.", "quantity", "",
			func(s *scene) { s.market(); s.Quantity = dec("0.16") },
		},
		"a sell that is worth too much at the last price": {
			"max_order_notional", "10000", "10200", "0.17 at up to 60000", "quantity", "",
			func(s *scene) { s.sell("0.17"); s.Price, s.Held = dec("58000"), dec("1") },
		},
		"an order that is worth too much in another currency": {
			"max_order_notional", "10000", "12000", "is worth 12000", "quantity", "",
			func(s *scene) {
				s.Instrument.Quote, s.Rate, s.Quantity = "BTC", dec("60000"), dec("4")
				s.Quote.Last, s.Price, s.Instrument.MinNotional = dec("0.05"), dec("0.05"), dec("0.0001")
			},
		},
		"a position that would be too large": {
			"max_symbol_exposure", "25000", "25200", "Exposure in binance:BTCUSDT could reach 0.42, worth 25200; the limit per symbol is 25000.", "quantity", "",
			func(s *scene) { s.Held, s.OpenBuy = dec("0.2"), dec("0.21") },
		},
		"a short position that would be too large": {
			"max_symbol_exposure", "25000", "25200", "worth 25200", "quantity", "",
			func(s *scene) {
				s.sell("0.01")
				s.AllowShort, s.Held, s.OpenSell = true, dec("-0.2"), dec("0.21")
			},
		},
		"too much in all": {
			"max_exposure", "50000", "50600", "Total exposure could reach 50600; the limit is 50000.", "quantity", "",
			func(s *scene) { s.Others = dec("44000") },
		},
		"too much in a day": {
			"max_daily_notional", "100000", "100000.01", "The notional traded since midnight UTC could reach 100000.01; the limit per day is 100000.", "", "",
			func(s *scene) { s.Traded = dec("99400.01") },
		},
	}
}

package guard_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// perpetual makes the scene one of a perpetual future with nothing held: a purchase at a leverage of 5.
func (s *scene) perpetual() {
	s.Symbol.Name = "BTCUSDT.P"
	s.Instrument.Symbol, s.Instrument.Class, s.Instrument.Settle = s.Symbol, provider.Perpetual, "USDT"
	s.Capabilities = order.Capabilities{
		Stops: true, StopLimits: true, Pairs: true, OneLeg: true, TwoLegs: true, MarketEntry: true, TrailLeg: true, SellEntry: true, Perpetuals: true,
		TrailMin: dec("0.1"), TrailMax: dec("20"), LegsInPart: true, KeepsLegs: true,
	}
	s.MaxLeverage, s.AllowShort = limit("5"), true
	s.Held, s.Entry = decimal.Zero, decimal.Zero
}

// held sets the position in a perpetual future, with a leverage of 5.
func (s *scene) held(quantity, entry string) {
	s.Held, s.Entry = dec(quantity), dec(entry)
	s.Margin = &order.Margin{Entry: dec(entry), Margin: s.Held.Mul(s.Entry).Abs().Div(dec("5"))}
}

// marked sets a mark price of some time ago.
func (s *scene) marked(ago time.Duration) {
	s.Quote.Mark, s.Quote.MarkedAt = dec("60010"), s.Now.Add(-ago)
}

// entry gives the order a stop and a target, as a request does.
func (s *scene) entry(p order.Protection) {
	s.Protect, s.Role, s.Group.Name = p, order.Entry, s.ID
}

func perpetualRefusals() map[string]refusal {
	return map[string]refusal{
		"a stop that the mark price has passed": {
			"stop_side", "below 57990", "58000", "stop_loss 58000 is not below the mark price 57990, because it is to sell when the price falls.", "stop_loss", "57932.01",
			func(s *scene) {
				s.perpetual()
				s.Type, s.Price = order.Market, decimal.Zero
				s.entry(order.Protection{StopLoss: dec("58000"), TakeProfit: dec("66000")})
				s.Capabilities.MarkTriggers, s.Quote.Mark, s.Quote.MarkedAt = true, dec("57990"), s.Now
			},
		},
		"a price of too many digits": {
			"venue_tick", "multiples of 1", "59000.5", "price 59000.5 is not a multiple of the venue's step 1. The nearest are 59000 and 59001. Prices have at most 5 significant digits there.", "price", "59000 59001",
			func(s *scene) { s.perpetual(); s.Instrument.Digits, s.Type, s.Price = 5, order.Limit, dec("59000.5") },
		},
		"a perpetual": {
			"max_leverage", "a pair or a share", "binance:BTCUSDT.P", "is a perpetual future, and the policy allows none (max_leverage = 0); only the owner can change that. The pair BTCUSDT can be traded.", "symbol", "BTCUSDT",
			func(s *scene) { s.perpetual(); s.MaxLeverage = limit("0") },
		},
		"a perpetual where the account has none": {
			"perpetual", "a pair or a share", "binance:BTCUSDT.P", "Only the paper account holds those, and orders go to alpaca; the pair BTCUSDT can be traded.", "symbol", "BTCUSDT",
			func(s *scene) { s.perpetual(); s.Capabilities.Perpetuals, s.Broker = false, "alpaca" },
		},
		"an account in hedge mode": {
			"account_mode", "one-way mode, isolated margin, a leverage of at most 5", "hedge mode instead of one-way mode, cross margin instead of isolated margin, a leverage of 20 instead of at most 5",
			"The account at the venue has hedge mode instead of one-way mode, cross margin instead of isolated margin, a leverage of 20 instead of at most 5 in binance:BTCUSDT.P. Only its owner changes that, at the venue: futures.example, Preferences.", "", "",
			func(s *scene) {
				s.perpetual()
				s.Modes = &order.Modes{Known: true, Hedged: true, Cross: true, Leverage: dec("20"), Change: "futures.example, Preferences"}
			},
		},
		"an account whose modes are not known": {
			"account_mode", "known modes", "unknown", "is not known: the venue does not say it. Try again in a moment.", "", "",
			func(s *scene) { s.perpetual(); s.Modes = &order.Modes{} },
		},
		"a sale that turns a long round": {
			"one_side", "0.1", "0.3", "A sell of 0.3 with 0.1 held would turn the position round, and one order never does. Send sell 0.1 with reduce_only first, then sell 0.2.", "quantity", "0.1",
			func(s *scene) { s.perpetual(); s.held("0.1", "60000"); s.sell("0.3") },
		},
		"a purchase that turns a short round": {
			"one_side", "0.1", "0.3", "A buy of 0.3 with -0.1 held would turn the position round, and one order never does. Send buy 0.1 with reduce_only first, then buy 0.2.", "quantity", "0.1",
			func(s *scene) { s.perpetual(); s.held("-0.1", "60000"); s.Quantity = dec("0.3") },
		},
		"a bracket that closes a part of a short": {
			"one_side", "true", "false", "A buy of 0.05 with -0.1 held closes a part of the position, so it opens nothing that stop_loss or take_profit could protect.", "reduce_only", "true",
			func(s *scene) {
				s.perpetual()
				s.held("-0.1", "60000")
				s.Quantity = dec("0.05")
				s.entry(order.Protection{StopLoss: dec("58000")})
			},
		},
		"a short that one side is not allowed": {
			"allow_short", "0", "0.01", "Selling 0.01 would open a short position, which the policy does not allow; 0 of binance:BTCUSDT.P is held.", "quantity", "",
			func(s *scene) { s.perpetual(); s.AllowShort = false; s.sell("0.01") },
		},
		"a short whose mark is old": {
			"no_mark", "10s", "11s", "The mark price of binance:BTCUSDT.P, 60010, by which the position would be liquidated, is 11s old; the limit is 10s.", "", "",
			func(s *scene) { s.perpetual(); s.sell("0.01"); s.marked(11 * time.Second) },
		},
		"a leverage that is liquidated soon": {
			"min_liquidation_distance_pct", "10 %", "9.64 %", "After this order binance:BTCUSDT.P would be liquidated at 54216.87, 9.64 % from the entry 60000; at least 10 % is allowed. At a leverage of 10 no quantity is further away", "quantity", "",
			func(s *scene) { s.perpetual(); s.MaxLeverage = limit("10") },
		},
		"more of a short that has lost": {
			"min_liquidation_distance_pct", "10 %", "5.03 %", "Reduce the position first, or wait.", "quantity", "",
			func(s *scene) { s.perpetual(); s.held("-0.1", "52000"); s.sell("0.01"); s.market() },
		},
		"a stop beyond the liquidation of a short": {
			"stop_before_liquidation", "below 71354.57", "71900", "A stop at 71900 is not before the liquidation at 71713.14: the position would be liquidated first. Use a stop below 71354.57.", "stop_loss", "71354.57",
			func(s *scene) {
				s.perpetual()
				s.sell("0.01")
				s.entry(order.Protection{StopLoss: dec("71900")})
			},
		},
		"a stop beyond the liquidation of a long": {
			"stop_before_liquidation", "above 48433.75", "48100", "A stop at 48100 is not before the liquidation at 48192.78: the position would be liquidated first. Use a stop above 48433.75.", "stop_loss", "48433.75",
			func(s *scene) { s.perpetual(); s.entry(order.Protection{StopLoss: dec("48100")}) },
		},
	}
}

// TestPerpetual_Passes holds what the rules let pass.
func TestPerpetual_Passes(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene){
		"a long":  func(*scene) {},
		"a short": func(s *scene) { s.sell("0.01") },
		"a short with a bracket": func(s *scene) {
			s.sell("0.01")
			s.entry(order.Protection{StopLoss: dec("61000"), TakeProfit: dec("58000")})
		},
		"more of a short": func(s *scene) { s.held("-0.1", "60000"); s.sell("0.01") },
		"all of a short": func(s *scene) {
			s.held("-0.1", "60000")
			s.Quantity = dec("0.1")
			s.ReduceOnly, s.Role = true, order.Exit
		},
		"a short whose mark is new": func(s *scene) { s.sell("0.01"); s.marked(10 * time.Second) },
		"all of a short whose mark is old": func(s *scene) {
			s.held("-0.1", "60000")
			s.Quantity = dec("0.1")
			s.ReduceOnly, s.Role = true, order.Exit
			s.marked(time.Minute)
		},
		"a part of a short": func(s *scene) { s.held("-0.1", "60000"); s.Quantity = dec("0.05") },
		"all of a short when perpetuals are no more allowed": func(s *scene) {
			s.held("-0.1", "60000")
			s.MaxLeverage = limit("0")
			s.Quantity, s.ReduceOnly, s.Role = dec("0.1"), true, order.Exit
		},
		"out of a short that is nearly liquidated": func(s *scene) {
			s.held("-0.1", "50500")
			s.Quantity, s.ReduceOnly, s.Role = dec("0.1"), true, order.Exit
		},
	} {
		s := passing()
		s.perpetual()
		change(s)
		if d := s.check(); d != nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestPerpetual_Risk holds what a short risks beside figures computed by hand.
func TestPerpetual_Risk(t *testing.T) {
	t.Parallel()
	s := passing()
	s.perpetual()
	s.market()
	s.sell("0.1")
	s.Quote.Last, s.TakerFeePct = dec("50000"), decimal.NewNullDecimal(dec("0.05"))
	if got := guard.Estimate(s.Policy, s.Intent, s.Facts).Risk; !got.Equal(dec("1000")) {
		t.Errorf("without a stop the margin is at risk: %s", got)
	}
	s.entry(order.Protection{StopLoss: dec("51500")})
	e := guard.Estimate(s.Policy, s.Intent, s.Facts)
	if !e.Risk.Equal(dec("180.825")) {
		t.Errorf("with a stop %s is at risk", e.Risk)
	}
	if !e.Margin.Equal(dec("1000")) || !e.Leverage.Equal(dec("5")) || !e.Liquidation.Equal(dec("59760.95")) || !e.LiquidationDistance.Equal(dec("19.52")) {
		t.Errorf("it sets %s aside at %sx, and ends at %s, %s %% away", e.Margin, e.Leverage, e.Liquidation, e.LiquidationDistance)
	}
}

// TestPerpetual_Equity holds that a position counts with its margin and profit, not its worth.
func TestPerpetual_Equity(t *testing.T) {
	t.Parallel()
	s := market.Symbol{Venue: "binance", Name: "BTCUSDT.P"}
	a := guard.Account{Mode: order.Paper}
	a.Value(guard.Default(), guard.Prices{
		Quotes: map[market.Symbol]order.Quote{s: {Last: dec("49000")}}, Instruments: map[market.Symbol]provider.Instrument{s: {Quote: "USDT"}},
	}, []order.Holding{
		{Asset: "USDT", Quantity: dec("99000")},
		{Symbol: s, Quantity: dec("-0.1"), Margin: &order.Margin{Entry: dec("50000"), Margin: dec("1000")}},
	})
	if !a.Equity.Equal(dec("100100")) {
		t.Errorf("the account is worth %s", a.Equity)
	}
}

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

func TestMeasure_CountsTheWholeAccount(t *testing.T) {
	t.Parallel()
	a := &account{t: t, book: order.NewBook("me")}
	a.order(noon.Add(-time.Hour), symbol, order.Buy, "3", "100", "3")      // traded today, held
	a.order(noon.Add(-10*time.Second), symbol, order.Buy, "1", "100", "0") // open
	prices := guard.Prices{
		Now: noon, Quotes: map[market.Symbol]order.Quote{symbol: {Last: dec("100"), At: noon}},
		Instruments: map[market.Symbol]provider.Instrument{symbol: {Base: "BTC", Quote: "USDT"}},
	}
	policy := guard.Default()
	policy.MaxOpenRisk = limit("1000")
	state := guard.State{Day: guard.Day{Date: noon.UTC().Format(time.DateOnly), Loss: dec("250"), Forgiven: dec("50")}}
	want := map[string][2]string{ // used and left
		"max_daily_loss": {"200", "800"}, "max_daily_notional": {"400", "99600"}, "max_exposure": {"399.9", "49600.1"},
		"max_open_orders": {"1", "19"}, "max_open_risk": {"399.9", "600.1"}, "max_orders_per_minute": {"1", "19"},
	}
	for _, u := range guard.Measure(policy, state, a.book, prices, order.Paper, "k1") {
		left, limited := u.Left()
		if w := want[u.Rule]; !limited || !u.Used.Equal(dec(w[0])) || !left.Equal(dec(w[1])) {
			t.Errorf("%s: %v used, %v left of %v", u.Rule, u.Used, left, u.Limit)
		}
		delete(want, u.Rule)
	}
	if len(want) != 0 {
		t.Errorf("not measured: %v", want)
	}
	// Another token has placed nothing, and yesterday's loss is not today's.
	state.Day.Date = "2020-01-01"
	for _, u := range guard.Measure(policy, state, a.book, prices, order.Paper, "k2") {
		if (u.Rule == "max_orders_per_minute" || u.Rule == guard.LossRule) && !u.Used.IsZero() {
			t.Errorf("%s: %v", u.Rule, u.Used)
		}
	}
	over := guard.Usage{Limit: guard.Limit{Value: dec("5")}, Used: dec("7")}
	if left, limited := over.Left(); !limited || !left.IsZero() {
		t.Errorf("over the limit %v is left", left)
	}
	over.Limit.Off = true
	if _, limited := over.Left(); limited {
		t.Error("no limit is one")
	}
}

func TestAccount_ValueAddsWhatHasAPrice(t *testing.T) {
	t.Parallel()
	other := market.Symbol{Venue: "binance", Name: "ETHUSDT"}
	prices := guard.Prices{
		Quotes: map[market.Symbol]order.Quote{symbol: {Last: dec("100")}}, Instruments: map[market.Symbol]provider.Instrument{symbol: {Base: "BTC", Quote: "USDT"}},
		Rates: map[string]decimal.Decimal{"BTC": dec("100")},
	}
	a := guard.Account{Mode: order.Live}
	a.Value(guard.Default(), prices, []order.Holding{
		{Asset: "USDT", Quantity: dec("10"), Available: dec("4")},
		{Asset: "BTC", Quantity: dec("2")},
		{Symbol: symbol, Asset: "BTC", Quantity: dec("-1")},
		{Symbol: other, Quantity: dec("1")},
		{Asset: "DUST", Quantity: dec("1")},
		{Asset: "EMPTY"},
	})
	if !a.Equity.Equal(dec("110")) || len(a.Balances) != 5 || len(a.Unpriced) != 2 || a.Unpriced[0] != "binance:ETHUSDT" || a.Unpriced[1] != "DUST" {
		t.Errorf("%+v", a)
	}
	for i, b := range a.Balances {
		if b.Cash != (i == 0) || b.Worth.Valid != (i < 3) {
			t.Errorf("%+v", b)
		}
	}
}

func TestPolicy_TakesAnySpellingOfAPair(t *testing.T) {
	t.Parallel()
	p, err := guard.Parse([]byte(`
allowed_symbols = ["BTC/USDT", "kraken:ETH-USD", "BRK.B"]
[symbol."btc_usdt"]
max_order_quantity = 2
[symbol."binance:BTC-USDT"]
max_order_quantity = 1
`), conditions)
	if err != nil {
		t.Fatal(err)
	}
	at := func(venue, name string) market.Symbol { return market.Symbol{Venue: venue, Name: name} }
	for s, allowed := range map[market.Symbol]bool{
		at("binance", "BTCUSDT"): true, at("coinbase", "BTC-USDT"): true, at("kraken", "ETH/USD"): true, at("coinbase", "ETH-USD"): false,
		at("alpaca", "BRK.B"): true, at("alpaca", "BRKB"): false, at("binance", "BTCUSDC"): false,
	} {
		if p.Allows(s) != allowed {
			t.Errorf("%v: allowed is %v", s, !allowed)
		}
	}
	for s, most := range map[market.Symbol]string{at("binance", "BTCUSDT"): "1", at("coinbase", "BTC-USDT"): "2", at("kraken", "ETH/USD"): "none"} {
		if got := p.For(s).MaxOrderQuantity.String(); got != most {
			t.Errorf("%v: %s, want %s", s, got, most)
		}
	}
	if _, err := guard.Parse([]byte("[symbol.\"BTC/USDT\"]\n[symbol.BTCUSDT]\n"), conditions); err == nil {
		t.Error("two tables of one instrument are accepted")
	}
}

package guard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// account makes a book: each order with its status, a symbol, a side and numbers.
type account struct {
	t    *testing.T
	book *order.Book
	n    int
}

func (a *account) apply(events ...order.Event) {
	a.t.Helper()
	for _, e := range events {
		if err := a.book.Apply(e); err != nil {
			a.t.Fatal(err)
		}
	}
}

// order places an order at a moment and fills part of it.
func (a *account) order(at time.Time, s market.Symbol, side order.Side, quantity, price, filled string) string {
	a.t.Helper()
	a.n++
	id := string(rune('a' + a.n))
	spec := order.Spec{ID: id, Owner: "me", Symbol: s, Side: side, Type: order.Limit, Quantity: dec(quantity), Price: dec(price)}
	if spec.Price.IsZero() {
		spec.Type = order.Market
	}
	g := order.Origin{Spec: spec, Broker: "paper", Mode: order.Paper, Token: "k1"}
	a.apply(order.Event{Kind: order.KindCreated, OrderID: id, At: at, Origin: &g}, order.Event{Kind: order.KindSent, OrderID: id, At: at})
	if part := dec(filled); part.IsPositive() {
		f := order.Fill{TradeID: id, OrderID: id, Symbol: s, Side: side, Quantity: part, Price: dec("100"), Fee: dec("0.5"), FeeAsset: "USDT", At: at}
		if side == order.Buy && s == symbol {
			f.Fee, f.FeeAsset = dec("0.001"), "BTC"
		}
		a.apply(order.Event{Kind: order.KindFill, OrderID: id, At: at, Fill: &f})
	}
	return id
}

func TestGather(t *testing.T) {
	t.Parallel()
	eth, pair := market.Symbol{Venue: "binance", Name: "ETHUSDT"}, market.Symbol{Venue: "binance", Name: "ETHBTC"}
	a := &account{t: t, book: order.NewBook("me")}
	yesterday := noon.Add(-24 * time.Hour)
	a.order(yesterday, symbol, order.Buy, "3", "100", "3") // held 3, less a fee of 0.001
	gone := a.order(noon.Add(-61*time.Second), eth, order.Buy, "1", "1", "0")
	a.apply(order.Event{Kind: order.KindGone, OrderID: gone, At: noon})
	a.order(noon, symbol, order.Buy, "2", "90", "0.5") // 1.5 open at 90, 50 traded today
	a.order(noon, symbol, order.Sell, "1", "95", "0")  // 1 open, at the last price of 110
	a.order(noon, eth, order.Sell, "4", "0", "1")      // short 1, market order for 3 more at the last 10
	a.order(noon, eth, order.Buy, "2", "0", "0")       // a market order for 2
	a.order(noon, pair, order.Buy, "5", "0.1", "0")    // no quote: 0.5 BTC at 60000
	spec := order.Spec{ID: "z", Owner: "me", Symbol: symbol, Side: order.Buy, Type: order.Limit, Quantity: dec("1"), Price: dec("1")}
	a.apply(order.Event{Kind: order.KindCreated, OrderID: "z", At: noon, Origin: &order.Origin{Spec: spec}})
	spec.ID = "y"
	a.apply(order.Event{Kind: order.KindCreated, OrderID: "y", At: noon, Origin: &order.Origin{Spec: spec, Token: "k2"}},
		order.Event{Kind: order.KindDenied, OrderID: "y", At: noon, Denial: &order.Denial{Rule: "venue_step"}})

	prices := guard.Prices{
		Now: noon, Rates: map[string]decimal.Decimal{"BTC": dec("60000")},
		Quotes: map[market.Symbol]order.Quote{symbol: {Last: dec("110"), At: noon}, eth: {Last: dec("10"), At: noon}},
		Instruments: map[market.Symbol]provider.Instrument{
			symbol: {Symbol: symbol, Base: "BTC", Quote: "USDT"}, eth: {Symbol: eth, Base: "ETH", Quote: "USDT"}, pair: {Symbol: pair, Base: "ETH", Quote: "BTC"},
		},
	}
	f := guard.Gather(guard.Default(), a.book, prices, symbol, order.Live)
	check := func(name string, got, want any) {
		t.Helper()
		if d, ok := got.(decimal.Decimal); ok {
			got = d.String()
		}
		if got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	check("held", f.Held, "3.498")
	check("what may be bought", f.OpenBuy, "1.5")
	check("what may be sold", f.OpenSell, "1")
	check("open orders in the symbol", f.SymbolOrders, 2)
	check("open orders", f.OpenOrders, 5)
	check("the others", f.Others, "30040") // 4 ETH short at 10, and half a bitcoin
	// Today 50 and 100, open 1.5 at 90, 1 at 110, 3 and 2 at 10, half a bitcoin.
	check("the day's turnover", f.Traded, "30445")
	check("the rate", f.Rate, "1")
	check("the price", f.Quote.Last, "110")
	check("the instrument", f.Instrument.Base, "BTC")
	check("recent orders", len(f.Recent), 6)
	check("the newest order's rule", f.Recent[0].Rule, "venue_step")
	check("the newest order's token", f.Recent[0].Token, "k2")

	// A symbol with an unknown currency.
	stranger := market.Symbol{Venue: "csv", Name: "X"}
	check("a rate on paper", guard.Gather(guard.Default(), a.book, prices, stranger, order.Paper).Rate, "1")
	check("a rate live", guard.Gather(guard.Default(), a.book, prices, stranger, order.Live).Rate, "0")
	check("a rate of a pair", guard.Gather(guard.Default(), a.book, prices, pair, order.Live).Rate, "60000")
}

func TestTotal(t *testing.T) {
	t.Parallel()
	eth, pair := market.Symbol{Venue: "binance", Name: "ETHUSDT"}, market.Symbol{Venue: "binance", Name: "ETHBTC"}
	a := &account{t: t, book: order.NewBook("me")}
	a.order(noon, symbol, order.Buy, "2", "100", "2") // 2 at 100, fee 0.001 BTC
	a.order(noon, eth, order.Sell, "1", "100", "1")   // short 1 at 100, fee 0.5 USDT
	prices := guard.Prices{
		Now:    noon,
		Quotes: map[market.Symbol]order.Quote{symbol: {Last: dec("110")}, eth: {Last: dec("90")}},
		Instruments: map[market.Symbol]provider.Instrument{
			symbol: {Base: "BTC", Quote: "USDT"}, eth: {Base: "ETH", Quote: "USDT"}, pair: {Base: "ETH", Quote: "BTC"},
		},
	}
	total, missing := guard.Total(guard.Default(), a.book, prices, order.Live)
	if total.String() != "29.39" || len(missing) > 0 { // 20 - 0.11 + 10 - 0.5
		t.Errorf("%v, missing %v", total, missing)
	}
	a.order(noon, pair, order.Buy, "1", "1", "1") // no quote, no rate
	delete(prices.Quotes, eth)
	total, missing = guard.Total(guard.Default(), a.book, prices, order.Live)
	if total.String() != "19.89" || !slices.Equal(missing, []string{"binance:ETHBTC", "binance:ETHUSDT"}) {
		t.Errorf("%v, missing %v", total, missing)
	}
	// A closed position needs no price, but its fee in the asset does.
	a.order(noon.Add(time.Second), symbol, order.Sell, "2", "100", "2")
	delete(prices.Quotes, symbol)
	total, missing = guard.Total(guard.Default(), a.book, prices, order.Live)
	if total.String() != "-0.5" || !slices.Contains(missing, "BTC") {
		t.Errorf("%v, missing %v", total, missing)
	}
}

// TestTotal_AClosedPositionOfADelistedSymbol holds that it does not keep the loss
// of the others from being known: max_daily_loss would never be asked again.
func TestTotal_AClosedPositionOfADelistedSymbol(t *testing.T) {
	t.Parallel()
	gone := market.Symbol{Venue: "binance", Name: "LUNAUSDT"}
	a := &account{t: t, book: order.NewBook("me")}
	a.order(noon, gone, order.Buy, "2", "100", "2")
	a.order(noon.Add(time.Second), gone, order.Sell, "2", "90", "2")
	prices := guard.Prices{Now: noon, Instruments: map[market.Symbol]provider.Instrument{gone: {}}}
	if total, missing := guard.Total(guard.Default(), a.book, prices, order.Live); !total.IsZero() || len(missing) > 0 {
		t.Errorf("closed: %v, missing %v", total, missing)
	}
	a.order(noon.Add(time.Minute), gone, order.Buy, "1", "90", "1")
	if _, missing := guard.Total(guard.Default(), a.book, prices, order.Live); !slices.Contains(missing, gone.String()) {
		t.Errorf("open: missing %v", missing)
	}
}

package order_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestTrades_OfABracket sells a position in three parts: by its target, by hand and by its stop.
func TestTrades_OfABracket(t *testing.T) {
	t.Parallel()
	entry, more := origin("entry", order.Buy, "3"), origin("more", order.Buy, "1")
	target, exit, stop := origin("target", order.Sell, "1"), origin("exit", order.Sell, "1"), origin("stop", order.Sell, "2")
	target.Role, stop.Role = order.TakeProfit, order.StopLoss
	var events []order.Event
	for _, g := range []order.Origin{entry, more, target, exit, stop} {
		events = append(events, created(g), event(g.ID, order.KindSent))
	}
	b := book(t, append(events,
		filled(trade(entry, 1, "3", "100")), // 0.01 USDT for each fill
		filled(trade(stop, 9, "1.5", "80")),
		filled(trade(target, 3, "1", "130")),
		filled(trade(exit, 7, "1", "110")),
		filled(trade(more, 2, "1", "120")), // the average is 105
		filled(trade(stop, 8, "0.5", "90")),
	)...)
	want := []struct{ id, reason, quantity, entry, exit, realised, fees string }{
		{"stop", order.ByStop, "2", "105", "82.5", "-45", "0.03"},
		{"exit", order.ByExit, "1", "105", "110", "5", "0.015"},
		{"target", order.ByTarget, "1", "105", "130", "25", "0.015"},
	}
	got := b.Trades()
	if len(got) != len(want) {
		t.Fatalf("%d trades: %+v", len(got), got)
	}
	for i, w := range want {
		g := got[i]
		figures := []string{g.OrderID, g.Reason, g.Quantity.String(), g.Entry().String(), g.Exit().String(), g.Realised.String(), g.Paid.Fees["USDT"].String()}
		if diff := cmp.Diff([]string{w.id, w.reason, w.quantity, w.entry, w.exit, w.realised, w.fees}, figures); diff != "" {
			t.Errorf("trade %d: %s", i, diff)
		}
		if !g.Opened.Equal(second(1)) || g.Side != order.Buy {
			t.Errorf("trade %d: of a %v position opened at %v", i, g.Side, g.Opened)
		}
	}
	if !got[0].Closed.Equal(second(9)) || !b.Position(entry.Symbol).Carried.Worth.IsZero() || len(b.Position(entry.Symbol).Carried.Fees) > 0 {
		t.Errorf("closed at %v; the closed position has %+v", got[0].Closed, b.Position(entry.Symbol).Carried)
	}
}

// TestTrades_CarryFunding closes a short in three parts with two payments before and between them: each row has its
// part, and what comes at the moment of an exit is of what was held before.
func TestTrades_CarryFunding(t *testing.T) {
	t.Parallel()
	entry, first, last := origin("entry", order.Sell, "4"), origin("first", order.Buy, "1"), origin("second", order.Buy, "3")
	pay := func(at int, amount string) order.Event {
		f := order.Funding{Symbol: entry.Symbol, At: second(at), Amount: decimal.RequireFromString(amount)}
		return order.Event{Kind: order.KindFunded, At: f.At, Funding: &f}
	}
	var events []order.Event
	for _, g := range []order.Origin{entry, first, last} {
		events = append(events, created(g), event(g.ID, order.KindSent))
	}
	b := book(t, append(events,
		filled(trade(entry, 1, "4", "100")), filled(trade(last, 7, "3", "110")), pay(7, "-0.3"),
		pay(2, "-2"), filled(trade(first, 3, "1", "90")), pay(9, "0.125"),
	)...)
	got := b.Trades()
	if len(got) != 2 || got[0].OrderID != "second" || !got[0].Paid.Funding.Equal(decimal.RequireFromString("-1.8")) || !got[1].Paid.Funding.Equal(decimal.RequireFromString("-0.5")) {
		t.Fatalf("%+v", got)
	}
	sums := order.TradeQuery{Most: 10}.Page(got, func(market.Symbol) string { return "USDT" }).Sums
	// 10 - 30, fees of 0.03, and 2.3 received.
	if len(sums) != 1 || !sums[0].Funding.Equal(decimal.RequireFromString("-2.3")) || !sums[0].Net().Equal(decimal.RequireFromString("-17.73")) || sums[0].Wins != 1 {
		t.Errorf("%+v", sums)
	}
	if p := b.Position(entry.Symbol); !p.Carried.Funding.Equal(decimal.RequireFromString("0.125")) {
		t.Errorf("a payment after the close is lost: %+v", p)
	}
}

// TestTrades_AddUp holds, for random fills in random order of arrival with crashes in between, that trades and days
// add up to the profit and the fees of the position to the last digit, and that they are the same for any order.
func TestTrades_AddUp(t *testing.T) {
	t.Parallel()
	const each = 400
	fills := longtest.Pick(2_000, 100_000)
	rng := rand.New(rand.NewPCG(longtest.Seed(), 42))
	trades := 0
	for range fills / each {
		opening, events := randomFills(rng, each)
		events = append(events, payments(rng, each/5)...)
		sorted := book(t, append(opening, events...)...)
		arrived := book(t, opening...)
		for i, e := range shuffled(rng, events) {
			if err := arrived.Apply(e); err != nil {
				t.Fatal(err)
			}
			if i%41 == 0 { // a reader in between, whose figures later fills change
				arrived.EarnedDays()
				arrived.Trades()
			}
			if i%97 == 0 {
				again, err := order.ReadSnapshot("me", snapshot(t, arrived))
				if err != nil {
					t.Fatal(err)
				}
				arrived = again
			}
		}
		for _, b := range []*order.Book{sorted, arrived} {
			addsUp(t, b)
		}
		if diff := cmp.Diff(sorted.Trades(), arrived.Trades()); diff != "" {
			t.Fatal(diff)
		}
		trades += len(sorted.Trades())
	}
	if t.Logf("%d fills made %d trades", fills, trades); trades < fills/10 {
		t.Error("too few trades to say anything")
	}
}

// randomFills makes orders of both sides in two symbols with fees in three assets.
func randomFills(rng *rand.Rand, n int) (opening, fills []order.Event) {
	var orders []order.Origin
	for i := range n / 4 {
		g := origin("o"+strconv.Itoa(i), order.Side(1+rng.IntN(2)), "100000000")
		g.Symbol = symbol([]string{"BTCUSDT", "ETHUSDT"}[rng.IntN(2)])
		orders = append(orders, g)
		opening = append(opening, created(g), event(g.ID, order.KindSent))
	}
	for i := range n {
		f := trade(orders[rng.IntN(len(orders))], i*3600*rng.IntN(20), "1", "1")
		f.TradeID = strconv.Itoa(i)
		f.Quantity, f.Price = decimal.New(1+rng.Int64N(1_000_000), -rng.Int32N(7)), decimal.New(1+rng.Int64N(10_000_000), -rng.Int32N(6))
		f.FeeAsset = []string{"USDT", "BNB", f.Symbol.Name[:3]}[rng.IntN(3)]
		f.Fee = f.Quantity.Mul(decimal.New(rng.Int64N(20), -4))
		fills = append(fills, filled(f))
	}
	return opening, fills
}

// payments makes funding of both symbols, at times of trades too.
func payments(rng *rand.Rand, n int) []order.Event {
	var all []order.Event
	for i := range n {
		f := order.Funding{Symbol: symbol([]string{"BTCUSDT", "ETHUSDT"}[i%2]), At: second(3600 * (1 + 10*i)), Amount: decimal.New(rng.Int64N(2_000_001)-1_000_000, -rng.Int32N(12))}
		all = append(all, order.Event{Kind: order.KindFunded, At: f.At, Funding: &f})
	}
	return all
}

// addsUp compares the sums of all trades and of all days with the positions.
func addsUp(t *testing.T, b *order.Book) {
	t.Helper()
	realised, paid := make(map[string]decimal.Decimal), make(map[string]map[string]decimal.Decimal)
	funding := make(map[string]decimal.Decimal)
	pay := func(name string, c order.Charges) {
		if paid[name] == nil {
			paid[name] = make(map[string]decimal.Decimal)
		}
		paid[name]["worth"], funding[name] = paid[name]["worth"].Add(c.Worth), funding[name].Add(c.Funding)
		for asset, fee := range c.Fees {
			paid[name][asset] = paid[name][asset].Add(fee)
		}
	}
	for _, one := range b.Trades() {
		name := one.Symbol.Name
		realised[name] = realised[name].Add(one.Realised)
		pay(name, one.Paid)
		if !one.Quantity.IsPositive() {
			t.Fatalf("a trade of nothing: %+v", one)
		}
	}
	for _, symbol := range b.EarnedDays() {
		p, name := symbol.Position, symbol.Position.Symbol.Name
		pay(name, p.Carried)
		inDays, charges, payments := symbol.Since(0)
		if !payments.Equal(p.Funding) || !funding[name].Equal(p.Funding) || p.Funding.IsZero() {
			t.Fatalf("%s: funding is %v in trades and the open position, %v in days, %v in the position", name, funding[name], payments, p.Funding)
		}
		if !realised[name].Equal(p.Realised) || !inDays.Equal(p.Realised) {
			t.Fatalf("%s: trades earned %v, days %v, the position %v", name, realised[name], inDays, p.Realised)
		}
		if !charges.Worth.Equal(p.FeesWorth) || !paid[name]["worth"].Equal(p.FeesWorth) {
			t.Fatalf("%s: fees in the asset are worth %v in trades, %v in days, %v in the position", name, paid[name]["worth"], charges.Worth, p.FeesWorth)
		}
		for asset, fee := range p.FeesBeside() {
			if !paid[name][asset].Equal(fee) || !charges.Fees[asset].Equal(fee) {
				t.Fatalf("%s: fees are %v in trades, %v in days, %v in the position", name, paid[name], charges.Fees, p.FeesBeside())
			}
		}
	}
}

// TestTrades_AreBounded closes more than the 2,000 trades that are kept, each with its own order: the newest stay, the time of the
// oldest is known, and the sums lose nothing, also after a snapshot.
func TestTrades_AreBounded(t *testing.T) {
	t.Parallel()
	const closed = 2600
	b, at := order.NewBook("ann"), time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	btc := market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	trade := func(n int, side order.Side, price string) {
		id := fmt.Sprintf("o-%d-%v", n, side)
		g := order.Origin{Spec: order.Spec{ID: id, Owner: "ann", Symbol: btc, Side: side, Type: order.Market, Quantity: decimal.NewFromInt(1)}, Broker: "paper", Mode: order.Paper}
		f := order.Fill{TradeID: id, OrderID: id, Symbol: btc, Side: side, Quantity: decimal.NewFromInt(1), Price: decimal.RequireFromString(price), Fee: decimal.New(1, -1), FeeAsset: "USDT", Base: "BTC", At: at}
		for _, e := range []order.Event{{Kind: order.KindCreated, OrderID: id, At: at, Origin: &g}, {Kind: order.KindSent, OrderID: id, At: at}, {Kind: order.KindFill, OrderID: id, At: at, Fill: &f}} {
			if err := b.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		at = at.Add(time.Minute)
	}
	for n := range closed {
		trade(n, order.Buy, "100")
		trade(n, order.Sell, "101")
	}
	at = at.Add(48 * time.Hour)
	trade(closed, order.Buy, "100")
	trade(closed, order.Sell, "101")
	for range 2 {
		all, since := b.Trades(), b.TradesSince()
		if n := len(all); n < 2000 || n > 2600 {
			t.Errorf("%d trades are kept", n)
		}
		if since.IsZero() || all[len(all)-1].Closed.Before(since) {
			t.Errorf("the oldest is of %v, complete since %v", all[len(all)-1].Closed, since)
		}
		realised, paid, _ := b.EarnedDays()[0].Since(0)
		if !realised.Equal(decimal.NewFromInt(closed+1)) || !paid.Fees["USDT"].Equal(decimal.New(2*(closed+1), -1)) {
			t.Errorf("in days %v was earned, with fees of %v", realised, paid.Fees)
		}
		data, err := b.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if b, err = order.ReadSnapshot("ann", data); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTradeQuery_ByReason asks for the trades of one reason in parts: the list, what is left of it and the sums have no others.
func TestTradeQuery_ByReason(t *testing.T) {
	t.Parallel()
	var all []order.Trade
	for i := range 30 {
		all = append(all, order.Trade{
			Symbol: symbol("BTCUSDT"), Side: order.Buy, Quantity: decimal.NewFromInt(1), Proceeds: decimal.NewFromInt(100), Realised: decimal.NewFromInt(int64(i - 10)),
			Closed: second(100 - i), Reason: order.Reasons()[i%5], Key: strconv.Itoa(i),
		})
	}
	q := order.TradeQuery{Reason: order.ByTarget, Most: 4}
	var seen []string
	for left := 2; ; {
		p := q.Page(all, func(market.Symbol) string { return "USDT" })
		if p.Left != left || len(p.Sums) != 1 || !p.Sums[0].Realised.Equal(decimal.NewFromInt(21)) || p.Sums[0].Wins != 4 || p.Sums[0].Losses != 2 {
			t.Fatalf("%d are left, want %d; the sums are %+v", p.Left, left, p.Sums)
		}
		for _, one := range p.Trades {
			seen = append(seen, one.Key)
		}
		if left == 0 {
			break
		}
		left, q.After = 0, p.Trades[len(p.Trades)-1].Mark()
	}
	if diff := cmp.Diff([]string{"1", "6", "11", "16", "21", "26"}, seen); diff != "" {
		t.Error(diff)
	}
	for _, word := range append(order.Reasons(), "STOP") {
		if got, err := order.ParseReason(word); err != nil || got != strings.ToLower(word) {
			t.Errorf("%q is read as %q: %v", word, got, err)
		}
	}
	for _, word := range []string{"", "stops", "trail"} {
		if got, err := order.ParseReason(word); err == nil || got != "" {
			t.Errorf("%q is read as %q", word, got)
		}
	}
}

func TestQuoteOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"BTCUSDT BTC": "USDT", "BTC/USD ": "USD", "BTC-EUR BTC": "EUR", "AAPL ": "", "AAPL BTC": "", "AAPL AAPL": ""} {
		symbol, base, _ := strings.Cut(name, " ")
		if got := order.QuoteOf(market.Symbol{Name: symbol}, base); got != want {
			t.Errorf("%s is priced in %q, want %q", name, got, want)
		}
	}
}

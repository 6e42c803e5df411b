package guard_test

import (
	"testing"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// placed records an order that the venue has.
func (a *account) placed(spec order.Spec, status order.Status) {
	a.t.Helper()
	spec.Owner, spec.Symbol = "me", symbol
	g := order.Origin{Spec: spec, Broker: "paper", Mode: order.Paper}
	kind := order.KindAccepted
	if status == order.Held {
		kind = order.KindHeld
	}
	a.apply(order.Event{Kind: order.KindCreated, OrderID: spec.ID, At: noon, Origin: &g},
		order.Event{Kind: order.KindSent, OrderID: spec.ID, At: noon}, order.Event{Kind: kind, OrderID: spec.ID, At: noon, VenueID: "v" + spec.ID})
}

func stopAt(id, quantity, price string, side order.Side) order.Spec {
	return order.Spec{ID: id, Side: side, Type: order.Market, Quantity: dec(quantity), StopPrice: dec(price), ReduceOnly: true, Role: order.StopLoss}
}

// TestGather_OpenRisk measures positions of 2 at 100, with a fee of 0.1 % and a slippage of
// 0.5 %.
func TestGather_OpenRisk(t *testing.T) {
	t.Parallel()
	entry := order.Spec{
		ID: "e", Side: order.Buy, Type: order.Limit, Quantity: dec("1"), Price: dec("100"), Role: order.Entry, Group: order.Group{Name: "e"},
		Protect: order.Protection{StopLoss: dec("95")},
	}
	leg := stopAt("l", "1", "95", order.Sell)
	leg.Group = order.Group{Name: "e", Leg: true}
	limited := stopAt("s", "2", "95", order.Sell)
	limited.Type, limited.Price = order.Limit, dec("94")
	trail := stopAt("s", "2", "0", order.Sell)
	trail.TrailPercent = dec("5")
	for name, tc := range map[string]struct {
		held  string
		place func(*account)
		want  string
	}{
		"nothing":                   {"0", func(*account) {}, "0"},
		"a position without a stop": {"2", func(*account) {}, "200"},
		"a position with a stop":    {"2", func(a *account) { a.placed(stopAt("s", "2", "95", order.Sell), order.Accepted) }, "11.34"}, // 200.2 - 190 x 0.994
		"a stop of a part":          {"2", func(a *account) { a.placed(stopAt("s", "1", "95", order.Sell), order.Accepted) }, "105.77"},
		"a stop in profit":          {"2", func(a *account) { a.placed(stopAt("s", "2", "110", order.Sell), order.Accepted) }, "0"},
		"a stop that may not trade": {"2", func(a *account) { a.placed(limited, order.Accepted) }, "200"},
		"a stop that follows":       {"2", func(a *account) { a.placed(trail, order.Accepted) }, "11.34"},
		"two stops, the worst first": {"2", func(a *account) {
			a.placed(stopAt("s", "2", "95", order.Sell), order.Accepted)
			a.placed(stopAt("r", "2", "99", order.Sell), order.Accepted)
		}, "11.34"},
		"a short position":            {"-2", func(a *account) { a.placed(stopAt("s", "2", "105", order.Buy), order.Accepted) }, "11.46"}, // 210 x 1.006 - 200 x 0.999
		"a short without a stop":      {"-2", func(*account) {}, "200"},
		"a short with a stop of half": {"-2", func(a *account) { a.placed(stopAt("s", "1", "105", order.Buy), order.Accepted) }, "105.73"},
		"an entry with its leg":       {"0", func(a *account) { a.placed(entry, order.Accepted); a.placed(leg, order.Held) }, "5.67"}, // 5 + 0.195 + 0.475
		"a leg that waits protects nothing else": {"2", func(a *account) {
			a.placed(entry, order.Accepted)
			a.placed(leg, order.Held)
		}, "205.67"},
		"a purchase without a stop":   {"0", func(a *account) { a.order(noon, symbol, order.Buy, "1", "90", "0") }, "90"},
		"a sale of what is held":      {"2", func(a *account) { a.order(noon, symbol, order.Sell, "2", "110", "0") }, "200"},
		"a sale of more than is held": {"2", func(a *account) { a.order(noon, symbol, order.Sell, "3", "110", "0") }, "310"},
		"a stop that is being cancelled": {"2", func(a *account) {
			a.placed(stopAt("s", "2", "95", order.Sell), order.Accepted)
			a.apply(order.Event{Kind: order.KindCancelRequested, OrderID: "s", At: noon})
		}, "200"},
	} {
		a := &account{t: t, book: order.NewBook("me")}
		if held := dec(tc.held); !held.IsZero() {
			side := order.Buy
			if held.IsNegative() {
				side = order.Sell
			}
			f := order.Fill{TradeID: "t0", OrderID: "h", Symbol: symbol, Side: side, Quantity: held.Abs(), Price: dec("100"), At: noon}
			a.placed(order.Spec{ID: "h", Side: side, Type: order.Market, Quantity: held.Abs()}, order.Accepted)
			a.apply(order.Event{Kind: order.KindFill, OrderID: "h", At: noon, Fill: &f})
		}
		tc.place(a)
		if f := guard.Gather(guard.Default(), a.book, btcPrices(), symbol, order.Paper); !f.OpenRisk.Equal(dec(tc.want)) {
			t.Errorf("%s: %v, want %s", name, f.OpenRisk, tc.want)
		}
	}
}

// TestGather_OpenRiskAfterRoundTrips holds that what fees took in earlier trades is no part of the
// risk: 0.004995 at 60,000 with a stop at 58,800.
func TestGather_OpenRiskAfterRoundTrips(t *testing.T) {
	t.Parallel()
	a := &account{t: t, book: order.NewBook("me")}
	trade := func(id string, side order.Side, quantity, price, fee, asset string) {
		f := order.Fill{TradeID: id, OrderID: id, Symbol: symbol, Side: side, Quantity: dec(quantity), Price: dec(price), Fee: dec(fee), FeeAsset: asset, Base: "BTC", At: noon}
		a.placed(order.Spec{ID: id, Side: side, Type: order.Market, Quantity: dec(quantity)}, order.Accepted)
		a.apply(order.Event{Kind: order.KindFill, OrderID: id, At: noon, Fill: &f})
	}
	for _, n := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"} {
		trade(n+"a", order.Buy, "0.5", "50000", "0.0005", "BTC")
		trade(n+"b", order.Sell, "0.4995", "50000", "24.975", "USDT")
	}
	trade("z", order.Buy, "0.005", "60000", "0.000005", "BTC")
	a.placed(stopAt("s", "0.004995", "58800", order.Sell), order.Accepted)
	prices := btcPrices()
	prices.Quotes[symbol] = order.Quote{Last: dec("60000"), At: noon}
	f := guard.Gather(guard.Default(), a.book, prices, symbol, order.Paper)
	if !f.OpenRisk.Equal(dec("8.055936")) || !f.Held.Equal(dec("0.004995")) { // 299.7 x 1.001 - 293.706 x 0.994
		t.Errorf("%v at risk with %v", f.OpenRisk, f.Held)
	}
	// Ten times 25 and 24.975, and 0.3.
	if total, missing := guard.Total(guard.Default(), a.book, prices, order.Paper); !total.Equal(dec("-500.05")) || len(missing) > 0 {
		t.Errorf("the account lost %v, missing %v", total, missing)
	}
}

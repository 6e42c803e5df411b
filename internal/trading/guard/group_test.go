package guard_test

import (
	"testing"

	"candela/internal/data/provider"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// grouped places an open order of a group.
func (a *account) grouped(side order.Side, quantity, price string, g order.Group) {
	a.t.Helper()
	id := a.order(noon, symbol, side, quantity, price, "0")
	a.apply(order.Event{Kind: order.KindGrouped, OrderID: id, At: noon, Group: &g})
}

func btcPrices() guard.Prices {
	return guard.Prices{
		Now: noon, Quotes: map[market.Symbol]order.Quote{symbol: {Last: dec("100"), At: noon}},
		Instruments: map[market.Symbol]provider.Instrument{symbol: {Symbol: symbol, Base: "BTC", Quote: "USDT"}},
	}
}

// TestGather_GroupsOfOrders holds that of orders that exclude each other the largest
// counts, and that legs that wait reserve nothing of what is held.
func TestGather_GroupsOfOrders(t *testing.T) {
	t.Parallel()
	pair, legs, entry := order.Group{Name: "7"}, order.Group{Name: "7", Leg: true}, order.Group{Name: "7"}
	for name, tc := range map[string]struct {
		place              func(*account)
		buy, sell, traded  string
		ofSymbol, together int
	}{
		"a pair": {func(a *account) {
			a.grouped(order.Sell, "0.05", "120", pair)
			a.grouped(order.Sell, "0.04", "90", pair)
		}, "0", "0.05", "6", 1, 1},
		"a pair and another": {func(a *account) {
			a.grouped(order.Sell, "0.05", "120", pair)
			a.grouped(order.Sell, "0.05", "90", pair)
			a.grouped(order.Sell, "0.02", "100", order.Group{Name: "8"})
		}, "0", "0.07", "8", 2, 2},
		"two orders on their own": {func(a *account) {
			a.order(noon, symbol, order.Sell, "0.05", "120", "0")
			a.order(noon, symbol, order.Sell, "0.05", "90", "0")
		}, "0", "0.1", "11", 2, 2},
		"a bracket whose entry is open": {func(a *account) {
			a.grouped(order.Buy, "0.05", "100", entry)
			a.grouped(order.Sell, "0.05", "120", legs)
			a.grouped(order.Sell, "0.05", "90", legs)
		}, "0.05", "0", "5", 1, 1},
		"the legs of a bracket": {func(a *account) {
			a.grouped(order.Sell, "0.05", "120", legs)
			a.grouped(order.Sell, "0.05", "90", legs)
		}, "0", "0.05", "6", 1, 1},
		"an entry and another of its side": {func(a *account) {
			a.grouped(order.Buy, "0.05", "100", entry)
			a.grouped(order.Buy, "0.05", "110", legs)
		}, "0.1", "0", "10.5", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &account{t: t, book: order.NewBook("me")}
			tc.place(a)
			f := guard.Gather(guard.Default(), a.book, btcPrices(), symbol, order.Paper)
			if !f.OpenBuy.Equal(dec(tc.buy)) || !f.OpenSell.Equal(dec(tc.sell)) || !f.Traded.Equal(dec(tc.traded)) {
				t.Errorf("may buy %v, sell %v, worth %v; want %s, %s, %s", f.OpenBuy, f.OpenSell, f.Traded, tc.buy, tc.sell, tc.traded)
			}
			early := guard.GatherEarly(a.book, noon, symbol, "")
			if f.SymbolOrders != tc.ofSymbol || f.OpenOrders != tc.together || early.SymbolOrders != tc.ofSymbol || early.OpenOrders != tc.together {
				t.Errorf("%d and %d orders, early %d and %d; want %d and %d", f.SymbolOrders, f.OpenOrders, early.SymbolOrders, early.OpenOrders, tc.ofSymbol, tc.together)
			}
		})
	}
}

// TestCheck_APairLeavesTheExitOpen sells what a pair does not hold, also when only exits
// are allowed.
func TestCheck_APairLeavesTheExitOpen(t *testing.T) {
	t.Parallel()
	a := &account{t: t, book: order.NewBook("me")}
	a.grouped(order.Sell, "0.05", "63000", order.Group{Name: "7"})
	a.grouped(order.Sell, "0.05", "57000", order.Group{Name: "7"})
	f := guard.Gather(guard.Default(), a.book, btcPrices(), symbol, order.Paper)
	for _, level := range []guard.RestrictionKind{"", guard.FeedLost} {
		s := passing()
		if s.OpenSell = f.OpenSell; level != "" {
			s.raise(level)
		}
		if s.sell("0.05"); s.check() != nil {
			t.Errorf("%q: the sale of what is free is denied: %+v", level, s.check())
		}
		if s.sell("0.06"); s.check() == nil {
			t.Errorf("%q: the sale of what the pair holds passes", level)
		}
	}
}

// TestCheck_ATargetMayRestFarAway holds that the band of resting orders is not one of exits,
// and that an order is no exit because it says so.
func TestCheck_ATargetMayRestFarAway(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*scene)
		rule   string
	}{
		"a target of what is held":      {func(s *scene) { s.Exit = true }, ""},
		"a target of more than is free": {func(s *scene) { s.Exit, s.AllowShort, s.OpenSell = true, true, dec("0.1") }, "resting_band_pct"},
		"a sale that is no exit":        {func(*scene) {}, "resting_band_pct"},
		"a target that trades at once":  {func(s *scene) { s.Exit, s.Price = true, dec("50000") }, "price_band_pct"},
	} {
		s := passing()
		s.sell("0.01")
		s.Price = dec("72000")
		tc.change(s)
		rule := ""
		if d := s.check(); d != nil {
			rule = d.Rule
		}
		if rule != tc.rule {
			t.Errorf("%s: denied by %q, want %q", name, rule, tc.rule)
		}
	}
}

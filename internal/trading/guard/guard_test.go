package guard_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestCheck_Refuses(t *testing.T) {
	t.Parallel()
	covered := make(map[string]bool)
	for name, tc := range refusals() {
		s := passing()
		tc.change(s)
		d := s.check()
		if d == nil {
			t.Errorf("%s: passes", name)
			continue
		}
		covered[d.Rule] = true
		if d.Rule != tc.rule || d.Limit != tc.limit || d.Value != tc.value || !strings.Contains(d.Text, tc.text) || d.Field != tc.field || strings.Join(d.Nearest, " ") != tc.nearest {
			t.Errorf("%s: got %+v", name, d)
		}
		if *d.Record() != (order.Denial{Rule: d.Rule, Limit: d.Limit, Value: d.Value}) {
			t.Errorf("%s: the order remembers %+v", name, d.Record())
		}
		e := d.Fault()
		if e.Code != "denied" || !strings.Contains(e.Message, d.Rule+": ") || e.Retryable != (d.RetryAfter > 0) || (e.Kind == fault.Invalid) != (d.Field != "") {
			t.Errorf("%s: the client sees %+v", name, e)
		}
	}
	for _, r := range append(guard.Rules(guard.Default()), guard.DeploymentRules(guard.Default())...) {
		if !covered[r.Name] {
			t.Errorf("no case for the rule %s", r.Name)
		}
		if r.Limit == "" || !strings.HasSuffix(r.Denies, ".") {
			t.Errorf("the rule %s is not explained: %+v", r.Name, r)
		}
	}
}

func TestCheck_LetsPass(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene){
		"the plain order": func(*scene) {},
		"a market order":  (*scene).market,
		"a true reason":   func(s *scene) { s.RequireEvidence, s.Evidence = guard.EvidenceEntries, reasons(true, true) },
		"a reason that is not known yet": func(s *scene) {
			s.Evidence = reasons(false, false)
			s.Evidence[0].Later = true
		},
		"the way out without a reason": func(s *scene) { s.RequireEvidence = guard.EvidenceEntries; s.sell("0.1") },
		"the way out for a false reason": func(s *scene) {
			s.Evidence = append(reasons(true, false), reasons(false, false)...)
			s.Evidence[0].BarsAgo, s.Evidence[0].Within = 90, 99
			s.sell("0.1")
		},
		"the price of a closed market": func(s *scene) { s.Quote.At, s.Quote.MarketClosed = noon.Add(-48*time.Hour), true },
		"a sell of all that is held":   func(s *scene) { s.sell("0.1") },
		"the rest of a position, where quantities have no step": func(s *scene) {
			s.Instrument.Step, s.Instrument.MinNotional = decimal.Zero, decimal.Zero
			s.Held = dec("0.00001")
			s.sell("0.00001")
		},
		"a short sell, where allowed": func(s *scene) { s.sell("0.11"); s.AllowShort = true },
		"a symbol of the list": func(s *scene) {
			s.Mode, s.AllowedSymbols = order.Live, []market.Symbol{symbol}
		},
		"a symbol that the list has for every venue": func(s *scene) {
			s.Mode, s.AllowedSymbols = order.Live, []market.Symbol{{Name: "AAPL"}, {Name: "BTCUSDT"}}
		},
		"the last order of a minute":    func(s *scene) { s.recent(19, time.Second) },
		"orders of a minute ago":        func(s *scene) { s.recent(50, time.Minute) },
		"many orders of another token":  func(s *scene) { s.recent(50, time.Second); s.Token = "k2" },
		"after refusals for their rate": func(s *scene) { s.recent(50, time.Second); refuse(s, "max_orders_per_minute") },
		"the way out after many orders": func(s *scene) { s.recent(20, time.Second); s.sell("0.1") },
		"the way out after many refusals": func(s *scene) {
			s.recent(500, time.Second)
			refuse(s, "duplicate_window")
			s.sell("0.1")
		},
		"the way out, flagged, after many orders":  func(s *scene) { s.recent(79, time.Second); s.sell("0.1"); s.ReduceOnly = true },
		"the way out beside many orders":           func(s *scene) { s.SymbolOrders, s.OpenOrders = 30, 60; s.sell("0.1") },
		"the way out again, after it was rejected": func(s *scene) { s.sell("0.1"); again(s, time.Second); s.Recent[0].Unfilled = true },
		"the same order with a key":                func(s *scene) { again(s, time.Second); s.Key = "second" },
		"the same order after a while":             func(s *scene) { again(s, 2*time.Second) },
		"the same order after a refusal":           func(s *scene) { again(s, time.Second); refuse(s, "venue_step") },
		"another side":                             func(s *scene) { again(s, time.Second); s.Recent[0].Side = order.Sell },
		"another price":                            func(s *scene) { again(s, time.Second); s.Recent[0].Price = dec("60001") },
		"another symbol":                           func(s *scene) { again(s, time.Second); s.Recent[0].Symbol.Venue = "kraken" },
		"the last open order":                      func(s *scene) { s.OpenOrders, s.SymbolOrders = 19, 9 },
		"the largest quantity":                     func(s *scene) { s.MaxOrderQuantity = limit("0.01") },
		"the largest worth":                        func(s *scene) { s.MaxOrderNotional = limit("600") },
		"the largest worth by its own limit": func(s *scene) {
			own := s.Limits
			s.MaxOrderNotional = limit("1")
			s.Symbols = map[market.Symbol]guard.Limits{symbol: own, {Name: "BTCUSDT"}: s.Limits}
		},
		"the edge of the band above":     func(s *scene) { s.Price = dec("63000") },
		"the edge of the band below":     func(s *scene) { s.Price = dec("57000") },
		"the edge of the band to sell":   func(s *scene) { s.sell("0.01"); s.Price = dec("57000") },
		"far off without a resting band": func(s *scene) { s.Price = dec("1000"); s.RestingBandPct = guard.Limit{Off: true} },
		"far off without a band": func(s *scene) {
			s.Price = dec("90000")
			s.PriceBandPct = guard.Limit{Off: true}
		},
		"a market order without a band": func(s *scene) {
			s.market()
			s.PriceBandPct, s.MaxOrderNotional = guard.Limit{Off: true}, limit("600")
		},
		"a price of the last moment": func(s *scene) { s.Quote.At = noon.Add(-10 * time.Second) },
		"a price from a clock ahead": func(s *scene) { s.Quote.At = noon.Add(time.Second) },
		"the way out, REDUCING":      func(s *scene) { s.raise(guard.FeedLost); s.sell("0.1") },
		"the way out at an old price": func(s *scene) {
			s.raise(guard.FeedLost)
			s.sell("0.1")
			s.Quote.At = noon.Add(-time.Hour)
			s.Price = dec("30000")
		},
		"the way out without a price":                          func(s *scene) { s.sell("0.1"); s.market(); s.Quote = order.Quote{} },
		"the way out of a short":                               func(s *scene) { s.raise(guard.DailyLoss); s.Held, s.Quantity = dec("-0.1"), dec("0.1") },
		"the way out of too much":                              func(s *scene) { s.sell("0.1"); s.Held, s.Others = dec("5"), dec("900000") },
		"the way out after a busy day":                         func(s *scene) { s.sell("0.1"); s.Traded = dec("900000") },
		"the largest position":                                 func(s *scene) { s.Held = dec("0.4"); s.Quantity = dec("0.0166") },
		"the most of a day":                                    func(s *scene) { s.Traded = dec("99400") },
		"limits that are off":                                  func(s *scene) { off(s); s.Quantity, s.Traded, s.Others = dec("100"), dec("1e9"), dec("1e9") },
		"a sell of what is free where quantities have no step": func(s *scene) { s.sell("0.1"); s.Instrument.Step = dec("0") },
		"no filters of the venue's": func(s *scene) {
			s.Instrument = provider.Instrument{}
			s.Quantity, s.Price = dec("0.0123456789"), dec("60000.0001")
		},
		"a quote currency with its rate": func(s *scene) { s.Instrument.Quote, s.Rate = "EUR", dec("1.1") },
	} {
		s := passing()
		change(s)
		if d := s.check(); d != nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func again(s *scene, age time.Duration) {
	s.recent(1, age)
	s.Recent[0].Quantity = s.Quantity
}

func refuse(s *scene, rule string) {
	for i := range s.Recent {
		s.Recent[i].Rule = rule
	}
}

func off(s *scene) {
	none := guard.Limit{Off: true}
	p := &s.Policy
	p.MaxOrderNotional, p.MaxSymbolExposure, p.MaxExposure, p.MaxDailyNotional, p.MaxOpenOrders, p.MaxSymbolOpenOrders, p.MaxOrdersPerMinute = none, none, none, none, none, none, none
}

func TestCheck_NeverShortBySide(t *testing.T) {
	t.Parallel()
	s := passing()
	s.Side = 0 // no such order can be made; it reduces nothing
	s.raise(guard.FeedLost)
	if d := s.check(); d == nil || d.Rule != "reducing" {
		t.Errorf("%+v", d)
	}
}

// TestRules_Order holds the order in which the rules are asked, which decides what
// an order that breaks several gets.
func TestRules_Order(t *testing.T) {
	t.Parallel()
	want := []string{
		"amounts", "halted", "allowed_symbols", "max_orders_per_minute", "duplicate_window", "max_symbol_open_orders", "max_open_orders", "max_order_quantity",
		"reducing", "max_leverage", "perpetual", "account_mode", "reduce_only", "reserved", "which_line", "max_stops", "allow_wider_stop", "allow_short", "one_side", "currencies",
		"protection_not_native", "venue_trail", "venue_time_in_force", "venue_post_only", "venue_whole_legs", "venue_flat_entry",
		"venue_tick", "venue_step", "venue_min_quantity", "venue_max_quantity", "venue_min_notional",
		"max_quote_age", "no_mark", "min_liquidation_distance_pct", "stop_before_liquidation", "stop_price_side", "stop_side", "target_side", "min_stop_distance_pct", "max_stop_distance_pct", "max_target_distance_pct", "venue_leg_notional",
		"post_only", "price_band_pct", "resting_band_pct", "max_order_notional", "venue_max_market", "max_symbol_exposure", "max_exposure", "max_daily_notional",
		"require_stop", "max_trade_risk", "max_trade_risk_pct", "max_open_risk",
		"require_evidence", "max_evidence_age", "evidence", "evidence_unknown", "entry_condition",
	}
	var got []string
	for _, r := range guard.Rules(guard.Default()) {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// Rules apply in order: an order that breaks two gets
	// of the first.
	byRule := make(map[string]func(*scene))
	for _, tc := range refusals() {
		byRule[tc.rule] = tc.change
	}
	s := passing()
	byRule["duplicate_window"](s)
	byRule["max_open_orders"](s)
	s.raise(guard.OwnerHalt)
	if d := s.check(); d == nil || d.Rule != "halted" {
		t.Errorf("%+v", d)
	}
}

func TestEarly_NeedsNoPrice(t *testing.T) {
	t.Parallel()
	early := []string{"amounts", "halted", "allowed_symbols", "max_orders_per_minute", "duplicate_window", "max_symbol_open_orders", "max_open_orders", "max_order_quantity"}
	for name, tc := range refusals() {
		s := passing()
		tc.change(s)
		s.Quote, s.Instrument, s.Rate = order.Quote{}, provider.Instrument{}, decimal.Decimal{}
		d := guard.Early(s.Policy, s.State, s.Intent, s.Facts)
		if want := slices.Contains(early, tc.rule); (d != nil) != want || want && d.Rule != tc.rule {
			t.Errorf("%s: %+v", name, d)
		}
	}
	s := passing()
	if d := guard.Early(s.Policy, s.State, s.Intent, s.Facts); d != nil {
		t.Errorf("%+v", d)
	}
}

func TestCheck_SaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]time.Duration{
		"too many orders of one token": 30 * time.Second, "the same order again": 500 * time.Millisecond, "an old price": time.Second,
		"a price of the day before yesterday": 0,
		"too much in a day":                   12 * time.Hour, "an order that is worth too much": 0,
	} {
		s := passing()
		refusals()[name].change(s)
		if d := s.check(); d == nil || d.RetryAfter != want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestCheck_HostileCalls is what mistaken agents ask for, each with the rule that
// stops it. What is no number at all does not get this far: order.ParseAmount.
func TestCheck_HostileCalls(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1,000", "NaN", "1e400", "-1x", "0x10", " 1"} {
		if d, err := order.ParseAmount("quantity", text); err == nil {
			t.Errorf("%q is read as %v", text, d)
		}
	}
	hundred := passing()
	passed := 0
	for i := range 100 {
		now := noon.Add(time.Duration(i) * 10 * time.Millisecond)
		in := hundred.Intent
		in.Key = strconv.Itoa(i) // each a new order, by its key
		f := hundred.Facts
		f.Now, f.Quote.At = now, now
		rule := ""
		if d := guard.Check(hundred.Policy, hundred.State, in, f); d != nil {
			rule = d.Rule
		} else {
			passed++
		}
		hundred.Recent = append(hundred.Recent, guard.Recent{Spec: in.Spec, Token: in.Token, At: now, Rule: rule})
	}
	if passed != 20 {
		t.Errorf("%d of a hundred calls in a second pass", passed)
	}
}

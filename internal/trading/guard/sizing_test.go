package guard_test

import (
	"strings"
	"testing"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// TestSize_OfANotional holds the quantity of an amount of money, worked out by hand.
func TestSize_OfANotional(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		notional, quantity, price string
		change                    func(*scene)
	}{
		"at the limit price":                     {"1000", "0.02", "50000", func(*scene) {}},
		"down to the step":                       {"999.99", "0.01999", "50000", func(*scene) {}},
		"a limit that trades at once":            {"1000", "0.01923", "52000", func(s *scene) { s.Price, s.Quote.Ask = dec("52000"), dec("50001") }},
		"at stop_price":                          {"1000", "0.01960", "51000", func(s *scene) { s.market(); s.StopPrice = dec("51000") }},
		"at the ask":                             {"1000", "0.01999", "50001", func(s *scene) { s.market(); s.Quote.Ask = dec("50001") }},
		"at the last price with the slippage":    {"1000", "0.01990", "50250", func(s *scene) { s.market() }},
		"a sale at the bid":                      {"1000", "0.02000", "49999", func(s *scene) { s.market(); s.Side, s.Quote.Bid = order.Sell, dec("49999") }},
		"a sale at the last price":               {"1000", "0.02", "50000", func(s *scene) { s.market(); s.Side = order.Sell }},
		"no limit makes it smaller":              {"60000", "1.2", "50000", func(s *scene) { s.MaxOrderNotional = limit("100") }},
		"whole shares with a stop":               {"170000", "3", "50000", func(s *scene) { s.Capabilities.WholeLegs = true }},
		"parts of shares without":                {"170000", "3.4", "50000", func(s *scene) { s.Capabilities.WholeLegs = true; s.Protect, s.Role = order.Protection{}, 0 }},
		"a limit price needs no current price":   {"1000", "0.02", "50000", func(s *scene) { s.Quote.At = noon.Add(-1e12) }},
		"the smallest that the venue would take": {"5.5", "0.00011", "50000", func(*scene) {}},
	} {
		s := sizing()
		tc.change(s)
		e, err := s.size(order.Sizing{Notional: dec(tc.notional)})
		if err != nil || !e.Quantity.Equal(dec(tc.quantity)) || !e.Price.Equal(dec(tc.price)) {
			t.Errorf("%s: quantity %v at %v, %v; want %s at %s", name, e.Quantity, e.Price, err, tc.quantity, tc.price)
		}
	}
}

func TestSize_OfANotionalRefused(t *testing.T) {
	t.Parallel()
	s := sizing()
	_, err := s.size(order.Sizing{Notional: dec("5.49")})
	f := fault.Of(err)
	if f == nil || f.Field != "notional" || f.Message != "notional 5.49 is too small: the smallest order, 0.00011, costs 5.50 at 50000. Use 5.5 or more." || f.Suggestions[0] != "5.5" {
		t.Errorf("too little: %v", err)
	}
	if _, err := s.size(order.Sizing{Notional: dec(f.Suggestions[0])}); err != nil {
		t.Errorf("what the error suggests: %v", err)
	}
	s.market()
	s.Quote.At = noon.Add(-1e12)
	if _, err := s.size(order.Sizing{Notional: dec("1000")}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("without a current price: %v", err)
	}
}

func TestSize_OfAll(t *testing.T) {
	t.Parallel()
	s := passing()
	s.market()
	s.Side, s.ReduceOnly, s.Held, s.OpenSell = order.Sell, true, dec("0.123456"), dec("0.02")
	s.Exits = []order.Order{{Origin: order.Origin{Spec: order.Spec{Symbol: symbol, Side: order.Sell, Quantity: dec("0.02")}}}}
	if e, err := s.size(order.Sizing{All: true}); err != nil || !e.Quantity.Equal(dec("0.12345")) {
		t.Errorf("all beside a stop that gives way: %v, %v", e.Quantity, err)
	}
	s.Exits = nil
	if e, err := s.size(order.Sizing{All: true}); err != nil || !e.Quantity.Equal(dec("0.10345")) {
		t.Errorf("all beside another sale: %v, %v", e.Quantity, err)
	}
	s.Held = dec("0")
	if _, err := s.size(order.Sizing{All: true}); err == nil || !strings.Contains(err.Error(), "no position") {
		t.Errorf("all of nothing: %v", err)
	}
}

// TestLevels holds the prices of distances: on the tick, and never further away than asked.
func TestLevels(t *testing.T) {
	t.Parallel()
	type request = order.Request
	for name, tc := range map[string]struct {
		stop, target, from, wantStop, wantTarget string
		change                                   func(*scene, *request)
	}{
		"from the limit price": {"2", "4", "50000", "49000", "52000", func(*scene, *request) {}},
		"from stop_price": {"2", "4", "51000", "49980", "53040", func(_ *scene, r *request) {
			r.Type, r.Price, r.StopPrice = order.Market, dec("0"), dec("51000")
		}},
		"from the last price": {"2", "4", "46166.16", "45242.84", "48012.8", func(s *scene, r *request) {
			r.Type, r.Price, s.Quote.Last, s.Quote.Ask = order.Market, dec("0"), dec("46166.16"), dec("46170")
		}},
		"a short": {"2", "4", "46166.16", "47089.48", "44319.52", func(s *scene, r *request) {
			r.Side, r.Type, r.Price, s.Quote.Last = order.Sell, order.Market, dec("0"), dec("46166.16")
		}},
		"a coarse tick":    {"2", "4", "50001", "49001", "52001", func(s *scene, r *request) { r.Price, s.Instrument.Tick = dec("50001"), dec("1") }},
		"an unknown tick":  {"0.3333333", "", "0.01", "0.00996667", "", func(s *scene, r *request) { r.Price, s.Instrument.Tick = dec("0.01"), dec("0") }},
		"only the target":  {"", "1.5", "50000", "0", "50750", func(*scene, *request) {}},
		"one as a price":   {"2", "", "50000", "49000", "51000", func(_ *scene, r *request) { r.Protect.TakeProfit = dec("51000") }},
		"of what is held":  {"2", "4", "40000.005", "39200.01", "41600", func(s *scene, r *request) { closes(s, r, order.Sell, "0.1") }},
		"of a short, held": {"2", "4", "40000.005", "40800", "38400.01", func(s *scene, r *request) { closes(s, r, order.Buy, "-0.1") }},
	} {
		s := sizing()
		r := request{Symbol: symbol, Side: order.Buy, Type: order.Limit, Price: dec("50000"), Quantity: dec("0.01")}
		if tc.stop != "" {
			r.Sizing.StopLossPct = dec(tc.stop)
		}
		if tc.target != "" {
			r.Sizing.TakeProfitPct = dec(tc.target)
		}
		tc.change(s, &r)
		if tc.wantTarget == "" {
			tc.wantTarget = "0"
		}
		s.Spec = r.Spec("o1", "me")
		got, err := guard.Levels(s.Policy, s.Intent, r, s.Facts)
		if err != nil || !got.Sizing.From.Equal(dec(tc.from)) || !got.Protect.StopLoss.Equal(dec(tc.wantStop)) || !got.Protect.TakeProfit.Equal(dec(tc.wantTarget)) {
			t.Errorf("%s: from %v a stop at %v and a target at %v, %v; want %s, %s and %s", name, got.Sizing.From, got.Protect.StopLoss, got.Protect.TakeProfit, err, tc.from, tc.wantStop, tc.wantTarget)
		}
		if got.Terms() != r.Terms() || !got.Sizing.Equal(r.Sizing) {
			t.Errorf("%s: what was asked is another request afterwards", name)
		}
	}
}

// closes makes the request one of the protection of what is held, at 40,000.005 on average.
func closes(s *scene, r *order.Request, side order.Side, held string) {
	s.Held, s.Entry = dec(held), dec("40000.005")
	r.Side, r.Type, r.Price, r.ReduceOnly = side, order.Market, dec("0"), true
}

func TestLevels_Refused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*scene, *order.Request)
		says   string
	}{
		"less than a tick": {func(s *scene, _ *order.Request) { s.Instrument.Tick = dec("100") }, "stop_loss_pct 0.1 of 50000 is less than the venue's price step of 100. Use 0.2 or more."},
		"nothing held":     {func(s *scene, r *order.Request) { closes(s, r, order.Sell, "0") }, "no position that a sell reduces"},
		"the other side":   {func(s *scene, r *order.Request) { closes(s, r, order.Buy, "0.1") }, "no position that a buy reduces"},
		"no price":         {func(s *scene, r *order.Request) { r.Type, r.Price, s.Quote.Last = order.Market, dec("0"), dec("0") }, "No current price"},
	} {
		s := sizing()
		r := order.Request{Symbol: symbol, Side: order.Buy, Type: order.Limit, Price: dec("50000"), Quantity: dec("0.01"), Sizing: order.Sizing{StopLossPct: dec("0.1")}}
		tc.change(s, &r)
		s.Spec = r.Spec("o1", "me")
		if _, err := guard.Levels(s.Policy, s.Intent, r, s.Facts); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}

// TestDuplicate_OfASize holds that an order without a key is a duplicate by what was said, whatever followed from it.
func TestDuplicate_OfASize(t *testing.T) {
	t.Parallel()
	s := passing()
	s.Sizing, s.Asked = order.Sizing{Notional: dec("600"), Price: dec("60000")}, "the rest"
	before := guard.Recent{Spec: s.Spec, Token: s.Token, At: noon.Add(-1e9), Sizing: s.Sizing, Asked: s.Asked}
	before.ID, before.Quantity, before.Sizing.Price = "o0", dec("0.0099"), dec("60600")
	s.Recent = []guard.Recent{before}
	if d := s.check(); d == nil || d.Rule != "duplicate_window" {
		t.Errorf("the same amount at another price: %+v", d)
	}
	s.Sizing.Notional = dec("601")
	if d := s.check(); d != nil {
		t.Errorf("another amount: %+v", d)
	}
}

// TestCheck_NamesWhatWasAsked holds that a denial names the argument that the client gave, and not only what followed from it.
func TestCheck_NamesWhatWasAsked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change               func(*scene)
		field, text, nearest string
	}{
		"a quantity":                             {func(s *scene) { s.MaxOrderNotional = limit("100") }, "quantity", "quantity 0.02 at up to 50000 is worth 1000", ""},
		"an amount of money":                     {func(s *scene) { s.MaxOrderNotional, s.Sizing.Notional = limit("100"), dec("1000") }, "notional", "notional 1000, which is quantity 0.02, at up to 50000 is worth 1000", ""},
		"an amount of money beyond the exposure": {func(s *scene) { s.MaxExposure, s.Sizing.Notional = limit("100"), dec("1000") }, "notional", "notional 1000 is quantity 0.02. Total exposure could reach", ""},
		"an amount of money at risk": {func(s *scene) {
			s.MaxTradeRiskPct, s.Sizing.Notional, s.Sizing.Price = limit("0.1"), dec("1000"), dec("50000")
		}, "notional", "notional 1000, which is quantity 0.02, at up to 50000 risks", "as the text says"},
		"a risk":                   {func(s *scene) { s.MaxOrderQuantity, s.Sizing.Percent = limit("0.01"), dec("1") }, "risk_pct", "risk_pct 1, which is quantity 0.02, is above the limit of 0.01 per order", ""},
		"an amount at risk":        {func(s *scene) { s.MaxOrderQuantity, s.Sizing.Amount = limit("0.01"), dec("30") }, "risk_amount", "risk_amount 30, which is quantity 0.02, is above", ""},
		"a distance of the stop":   {func(s *scene) { s.protect("52000", "53000"); s.Sizing.StopLossPct = dec("4") }, "stop_loss_pct", "stop_loss_pct 4, which is stop_loss 52000, is not below", ""},
		"a distance of the target": {func(s *scene) { s.protect("48500", "49000"); s.Sizing.TakeProfitPct = dec("2") }, "take_profit_pct", "take_profit_pct 2, which is take_profit 49000, is not above", ""},
	} {
		s := sizing()
		s.Quantity = dec("0.02")
		tc.change(s)
		d := s.check()
		if d == nil || d.Field != tc.field || !strings.HasPrefix(d.Text, tc.text) {
			t.Errorf("%s: %+v", name, d)
			continue
		}
		if tc.nearest == "" && len(d.Nearest) > 0 {
			t.Errorf("%s: suggests %v", name, d.Nearest)
		}
		if tc.nearest != "" && (len(d.Nearest) != 1 || !strings.HasSuffix(d.Text, "As notional that is "+d.Nearest[0]+".")) {
			t.Errorf("%s: suggests %v in %q", name, d.Nearest, d.Text)
		}
		if tc.nearest != "" {
			e, err := s.size(order.Sizing{Notional: dec(d.Nearest[0])})
			if s.Quantity = e.Quantity; err != nil || s.check() != nil {
				t.Errorf("%s: the suggestion is %v: %v, %v", name, e.Quantity, err, s.check())
			}
		}
	}
}

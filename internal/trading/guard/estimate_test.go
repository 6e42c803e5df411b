package guard_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// sizing is an entry at 50,000 with a stop at 48,500 and an equity of 10,000.
func sizing() *scene {
	s := passing()
	s.protect("48500", "53000")
	s.Price, s.Quote.Last, s.Held, s.Quantity = dec("50000"), dec("50000"), dec("0"), dec("0")
	s.Equity = decimal.NewNullDecimal(dec("10000"))
	return s
}

func (s *scene) size(r order.Sizing) (order.Estimate, error) {
	return guard.Size(s.Policy, s.Intent, r, s.Facts)
}

func TestSize(t *testing.T) {
	t.Parallel()
	onePercent := order.Sizing{Percent: dec("1")}
	for name, tc := range map[string]struct {
		risk                   order.Sizing
		change                 func(*scene)
		quantity, risks, capBy string
	}{
		"as the design computes it, without slippage": {onePercent, func(s *scene) { s.StopSlippagePct = dec("0") }, "0.06255", "99.986175", ""},
		"with the slippage of the default":            {onePercent, func(*scene) {}, "0.05431", "99.98471", ""},
		"by an amount without an equity":              {order.Sizing{Amount: dec("100")}, func(s *scene) { s.Equity.Valid = false }, "0.05431", "99.98471", ""},
		"with the broker's fee":                       {onePercent, func(s *scene) { s.TakerFeePct = decimal.NewNullDecimal(dec("0")) }, "0.05738", "99.98465", ""},
		"a short entry": {onePercent, func(s *scene) {
			s.Side, s.AllowShort, s.Protect = order.Sell, true, order.Protection{StopLoss: dec("51500"), TakeProfit: dec("47000")}
		}, "0.05379", "99.99561", ""},
		"a trailing stop":                      {onePercent, func(s *scene) { s.Protect = order.Protection{TrailPercent: dec("3")} }, "0.05431", "99.98471", ""},
		"a market entry":                       {onePercent, func(s *scene) { s.market() }, "0.05431", "99.98471", ""},
		"capped by its worst entry":            {onePercent, func(s *scene) { s.market(); s.MaxTradeRisk = limit("100") }, "0.02302", "42.37982", "max_trade_risk"},
		"capped by its worth":                  {onePercent, func(s *scene) { s.MaxOrderNotional = limit("1000") }, "0.02", "36.82", "max_order_notional"},
		"capped by what is held":               {onePercent, func(s *scene) { s.Held = dec("0.48") }, "0.02", "36.82", "max_symbol_exposure"},
		"capped by open risk":                  {onePercent, func(s *scene) { s.MaxOpenRisk, s.OpenRisk = limit("100"), dec("63.18") }, "0.02", "36.82", "max_open_risk"},
		"capped by the cash with the fee":      {onePercent, func(s *scene) { s.Cash = decimal.NewNullDecimal(dec("1001")) }, "0.02", "36.82", "cash"},
		"capped by the cash at a market price": {onePercent, func(s *scene) { s.market(); s.Cash = decimal.NewNullDecimal(dec("1051.05")) }, "0.02", "36.82", "cash"},
		"a short entry pays nothing": {onePercent, func(s *scene) {
			s.Side, s.AllowShort, s.Protect, s.Cash = order.Sell, true, order.Protection{StopLoss: dec("51500"), TakeProfit: dec("47000")}, decimal.NewNullDecimal(dec("1"))
		}, "0.05379", "99.99561", ""},
		"capped by whole shares": {order.Sizing{Amount: dec("3000")}, func(s *scene) {
			s.Capabilities.WholeLegs, s.MaxOrderNotional, s.MaxExposure, s.MaxSymbolExposure = true, guard.Limit{Off: true}, limit("99999"), limit("99999")
		}, "1", "1841", ""},
	} {
		s := sizing()
		tc.change(s)
		e, err := s.size(tc.risk)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !e.Quantity.Equal(dec(tc.quantity)) || !e.Risk.Equal(dec(tc.risks)) || e.CappedBy != tc.capBy {
			t.Errorf("%s: quantity %v, risk %v, capped by %q; want %s, %s, %q", name, e.Quantity, e.Risk, e.CappedBy, tc.quantity, tc.risks, tc.capBy)
		}
		if s.Quantity = e.Quantity; s.check() != nil {
			t.Errorf("%s: the quantity does not pass: %+v", name, s.check())
		}
	}
}

func TestSize_SaysWhyNot(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		risk    order.Sizing
		change  func(*scene)
		field   string
		text    string
		suggest string
	}{
		"an unknown equity": {order.Sizing{Percent: dec("1")}, func(s *scene) { s.Equity.Valid = false }, "risk_pct", "risk_pct 1 needs the equity of the account, which is unknown now. Use risk_amount", ""},
		"no price":          {order.Sizing{Percent: dec("1")}, func(s *scene) { s.Quote = order.Quote{} }, "", "No current price", ""},
		"too small a risk":  {order.Sizing{Amount: dec("0.01")}, func(*scene) {}, "risk_amount", "risk_amount 0.01 is too small: the smallest order, 0.00011, risks 0.20251. Use 0.21 or more", "0.21"},
		"too small a part":  {order.Sizing{Percent: dec("0.0001")}, func(*scene) {}, "risk_pct", "risk_pct is too small: it is 0.01 of the equity of 10000, and the smallest order, 0.00011, risks 0.20251. Use 0.0021 or more", "0.0021"},
		"nothing left":      {order.Sizing{Amount: dec("100")}, func(s *scene) { s.Others = dec("50000") }, "risk_amount", "the limit max_exposure leaves a quantity of 0, and the smallest order is 0.00011", ""},
	} {
		s := sizing()
		tc.change(s)
		_, err := s.size(tc.risk)
		e := fault.Of(err)
		if e == nil || e.Field != tc.field || !strings.Contains(e.Message, tc.text) || strings.Join(e.Suggestions, " ") != tc.suggest {
			t.Errorf("%s: %+v", name, e)
			continue
		}
		if tc.suggest == "" {
			continue
		}
		next := order.Sizing{Amount: dec(tc.suggest)}
		if tc.field == "risk_pct" {
			next = order.Sizing{Percent: dec(tc.suggest)}
		}
		if _, err := s.size(next); err != nil {
			t.Errorf("%s: the suggestion fails: %v", name, err)
		}
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	s := sizing()
	s.Quantity, s.MaxTradeRisk = dec("0.06"), limit("200")
	left := func(rule, left string) order.LimitLeft { return order.LimitLeft{Rule: rule, Left: dec(left)} }
	want := order.Estimate{
		Price: dec("50000"), Value: dec("3000"), Fee: dec("3"), StopDistance: dec("3"), Risk: dec("110.46"), RiskPercent: dec("1.1046"), Reward: dec("173.82"), Equity: dec("10000"),
		Limits: []order.LimitLeft{
			left("venue_max_quantity", "8999.94"), left("max_order_notional", "7000"), left("max_daily_notional", "97000"),
			left("max_symbol_exposure", "22000"), left("max_exposure", "47000"), left("max_trade_risk", "89.54"),
		},
	}
	if diff := cmp.Diff(want, guard.Estimate(s.Policy, s.Intent, s.Facts)); diff != "" {
		t.Error(diff)
	}
	// A market order trades at the ask; a stop that closes a position risks nothing.
	s.market()
	s.Quote.Ask = dec("50010")
	if e := guard.Estimate(s.Policy, s.Intent, s.Facts); !e.Price.Equal(dec("50010")) || !e.Value.Equal(dec("3000.6")) {
		t.Errorf("market: %+v", e)
	}
	s = passing()
	s.exit("0.1", order.Protection{StopLoss: dec("57000")})
	if e := guard.Estimate(s.Policy, s.Intent, s.Facts); !e.Price.Equal(dec("57000")) || !e.Risk.IsZero() || !e.Value.Equal(dec("5700")) {
		t.Errorf("stop: %+v", e)
	}
}

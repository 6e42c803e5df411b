package policy

import (
	"encoding/json"
	"testing"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// alone reads every condition as it stands.
func alone(about string, on market.Interval, raw json.RawMessage) (order.Claim, error) {
	return order.Claim{Interval: on, Condition: raw, Text: about}, nil
}

// TestSum_DistinguishesPolicies reads policies twice, so that equal ones have
// nothing in common but what is written there.
func TestSum_DistinguishesPolicies(t *testing.T) {
	t.Parallel()
	sum := func(text string) string {
		t.Helper()
		p, err := guard.Parse([]byte(text), alone)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		s, err := Sum(p)
		if err != nil || len(s) != 16 {
			t.Fatalf("%s: %q, %v", text, s, err)
		}
		return s
	}
	if s, err := Sum(guard.Default()); err != nil || s != sum("") {
		t.Errorf("without a file it is %s, with an empty one %s, %v", s, sum(""), err)
	}
	for name, same := range map[string][2]string{
		"other zeros":  {"max_exposure = 5000\nprice_band_pct = 2.50", "max_exposure = \"5000.00\"\nprice_band_pct = 2.5"},
		"other orders": {`allowed_symbols = ["AAPL", "binance:BTCUSDT"]` + "\n" + `currencies = ["USD", "EUR"]`, `currencies = ["EUR", "USD"]` + "\n" + `allowed_symbols = ["binance:BTCUSDT", "AAPL"]`},
		"other tables": {"[symbol.AAPL]\nmax_order_quantity = 1\n[symbol.MSFT]\nallow_short = true", "[symbol.MSFT]\nallow_short = true\n[symbol.AAPL]\nmax_order_quantity = 1"},
	} {
		if a, b := sum(same[0]), sum(same[1]); a != b {
			t.Errorf("%s: %s and %s", name, a, b)
		}
	}
	seen := make(map[string]string)
	for _, text := range []string{
		"", `allowed_symbols = ["BTCUSDT"]`, `allowed_symbols = ["binance:BTCUSDT"]`, `currencies = ["USD"]`, `currencies = ["EUR"]`,
		"max_order_quantity = 1", "max_order_notional = 1", "price_band_pct = 1", "resting_band_pct = 1", "max_symbol_exposure = 1", "max_exposure = 1",
		"max_symbol_open_orders = 1", "max_open_orders = 1", "max_orders_per_minute = 1", "max_daily_notional = 1", "max_daily_loss = 1", "max_daily_loss = 0",
		`max_daily_loss = "none"`, "allow_short = true", `max_quote_age = "1s"`, `duplicate_window = "1s"`, `max_clock_skew = "2s"`, "approval_above = 100", "approval_risk_above = 100", `approval_expires = "1h"`, "approval_drift_pct = 1",
		`require_evidence = "all"`, "[[entry_condition]]\nside = \"buy\"\ncondition = {price_above = 1}", "[[entry_condition]]\nside = \"sell\"\ncondition = {price_above = 1}",
		"[[entry_condition]]\nside = \"buy\"\ncondition = {price_above = 2}", "[[symbol.AAPL.entry_condition]]\nside = \"buy\"\ncondition = {price_above = 1}",
		"[symbol.AAPL]\nmax_order_quantity = 1", "[symbol.AAPL]\nmax_order_quantity = 2", "[symbol.MSFT]\nmax_order_quantity = 1", "[symbol.AAPL]\nallow_short = true",
	} {
		s := sum(text)
		if other, taken := seen[s]; taken {
			t.Errorf("%q and %q are the same: %s", text, other, s)
		}
		seen[s] = text
	}
}

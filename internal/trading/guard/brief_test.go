package guard_test

import (
	"testing"

	"candela/internal/trading/guard"
)

func TestPolicy_BriefNamesTheLimitsInForce(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"": "10,000 at most in one order, 1,000 loss a day",
		"max_order_notional = 2500\napproval_above = 1000\nmax_daily_loss = 400\nallowed_symbols = [\"BTCUSDT\", \"ETHUSDT\"]":      "2,500 at most in one order, above 1,000 you are asked, 400 loss a day; BTCUSDT, ETHUSDT",
		"max_order_notional = \"none\"\nmax_daily_loss = \"none\"\nallowed_symbols = [\"BTCUSDT\"]":                                 "BTCUSDT",
		"max_order_notional = 1234567.50\napproval_risk_above = 99\nmax_daily_loss = 999":                                           "1,234,567.5 at most in one order, above a risk of 99 you are asked, 999 loss a day",
		"max_order_notional = \"none\"\nmax_daily_loss = 1000\nallowed_symbols = [\"A\",\"B\",\"C\",\"D\",\"E\",\"F\",\"G\",\"H\"]": "1,000 loss a day; A, B, C, D, E, F and 2 more",
	} {
		p, err := guard.Parse([]byte(file), conditions)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Brief(); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}

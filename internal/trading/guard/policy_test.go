package guard_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"candela/internal/trading/guard"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestParse_EmptyIsTheDefault(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing\n"} {
		p, err := guard.Parse([]byte(text), conditions)
		if err != nil {
			t.Fatal(err)
		}
		p.Symbols = nil
		if diff := cmp.Diff(guard.Default(), p); diff != "" {
			t.Error(diff)
		}
	}
}

const full = `
allowed_symbols = ["binance:BTCUSDT", "aapl", "ETHBTC"]
currencies = ["eur", "EURC"]
max_order_quantity = 1_000
max_order_notional = 2500.000000000000000000000001 # more than a float can hold
price_band_pct = 2.5
resting_band_pct = "none"
max_symbol_exposure = "10000"
max_exposure = +20_000.5
max_symbol_open_orders = 3
max_open_orders = 4
max_orders_per_minute = "5"
max_daily_notional = 1e6
max_daily_loss = 0.1
allow_short = true
max_leverage = 3
min_liquidation_distance_pct = 12.5
max_quote_age = "5s"
duplicate_window = "0s"
max_clock_skew = "250ms"
approval_above = 1000
approval_risk_above = 50
approval_expires = "10m"
approval_drift_pct = 0.25
require_stop = "live"
max_trade_risk = 100
max_trade_risk_pct = 1.5
max_open_risk = 500
min_stop_distance_pct = 0.2
max_stop_distance_pct = 15
max_target_distance_pct = 200
stop_slippage_pct = 0
taker_fee_pct = 0.075
allow_wider_stop = true
held_stops = "allow"
on_unprotected = "exit"
unprotected_grace = "20s"
require_evidence = "entries"
max_evidence_age = 5

[symbol."binance:BTCUSDT"]
max_order_quantity = 0.5
allow_short = false
require_stop = "always"
stop_slippage_pct = 1

[symbol.AAPL]
max_symbol_exposure = "none"
price_band_pct = 100
`

func TestParse_Full(t *testing.T) {
	t.Parallel()
	p, err := guard.Parse([]byte(full), conditions)
	if err != nil {
		t.Fatal(err)
	}
	none := guard.Limit{Off: true}
	all := guard.Limits{
		MaxOrderQuantity: limit("1000"), MaxOrderNotional: limit("2500.000000000000000000000001"), PriceBandPct: limit("2.5"), RestingBandPct: none,
		MaxSymbolExposure: limit("10000"), MaxSymbolOpenOrders: limit("3"), AllowShort: true,
		Perpetual: guard.Perpetual{MaxLeverage: limit("3"), MinLiquidationDistancePct: limit("12.5")},
		Protective: guard.Protective{
			RequireStop: guard.StopLive, MaxTradeRisk: limit("100"), MaxTradeRiskPct: limit("1.5"), MinStopDistancePct: limit("0.2"), MaxStopDistancePct: limit("15"),
			MaxTargetDistancePct: limit("200"), TakerFeePct: dec("0.075"), AllowWiderStop: true,
		},
		Reasoning: guard.Reasoning{RequireEvidence: guard.EvidenceEntries, MaxEvidenceAge: limit("5")},
	}
	bitcoin, apple := all, all
	bitcoin.MaxOrderQuantity, bitcoin.AllowShort = limit("0.5"), false
	bitcoin.RequireStop, bitcoin.StopSlippagePct = guard.StopAlways, dec("1")
	apple.MaxSymbolExposure, apple.PriceBandPct = none, limit("100")
	want := guard.Policy{
		Limits:         all,
		Symbols:        map[market.Symbol]guard.Limits{symbol: bitcoin, {Name: "AAPL"}: apple},
		AllowedSymbols: []market.Symbol{symbol, {Name: "AAPL"}, {Name: "ETHBTC"}},
		Currencies:     []string{"EUR", "EURC"},
		MaxExposure:    limit("20000.5"), MaxOpenOrders: limit("4"), MaxOrdersPerMinute: limit("5"),
		MaxDailyNotional: limit("1000000"), MaxDailyLoss: limit("0.1"),
		MaxQuoteAge: 5 * time.Second, MaxClockSkew: 250 * time.Millisecond,
		Approval:    guard.Approval{Above: limit("1000"), RiskAbove: limit("50"), Expires: 10 * time.Minute, DriftPct: limit("0.25")},
		MaxOpenRisk: limit("500"), HeldStops: guard.HeldAllow, OnUnprotected: guard.UnprotectedExit, UnprotectedGrace: 20 * time.Second,
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	if err := p.Live(); err != nil {
		t.Error(err)
	}
	wantOwn := []guard.Exception{
		{market.Symbol{Name: "AAPL"}, "price_band_pct", "100 %"},
		{market.Symbol{Name: "AAPL"}, "max_symbol_exposure", "none"},
		{symbol, "max_order_quantity", "0.5"},
		{symbol, "allow_short", "false"},
		{symbol, "require_stop", "always"},
		{symbol, "stop_slippage_pct", "1 %"},
	}
	if diff := cmp.Diff(wantOwn, guard.Exceptions(p)); diff != "" {
		t.Error(diff)
	}
	for s, want := range map[market.Symbol]guard.Limits{symbol: bitcoin, {Venue: "alpaca", Name: "AAPL"}: apple, {Name: "MSFT"}: all} {
		if diff := cmp.Diff(want, p.For(s)); diff != "" {
			t.Errorf("%v: %s", s, diff)
		}
	}
}

func TestPolicy_Live(t *testing.T) {
	t.Parallel()
	if e := fault.Of(guard.Default().Live()); e == nil || e.Field != "allowed_symbols" || e.Kind != fault.Invalid {
		t.Errorf("got %v", e)
	}
}

func TestParse_NamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := guard.Parse([]byte(`
max_order_notionl = 5
allow_short = "yes"
max_exposure = -1
price_band_pct = 0
resting_band_pct = 100.5
max_open_orders = 2.5
max_daily_loss = "1,000"
max_daily_notional = nan
max_symbol_exposure = true
max_quote_age = 10
duplicate_window = "2 h"
max_clock_skew = "2m"
allowed_symbols = "BTCUSDT"
currencies = []
max_orders_per_minute = 2026-01-31
[symbol.BTCUSDT]
max_exposure = 5
max_order_quantity = "ten"
[symbol."a b"]
[other]
`), conditions)
	var problems *guard.Error
	if !errors.As(err, &problems) {
		t.Fatalf("got %v", err)
	}
	want := []string{
		`allowed_symbols: invalid value "BTCUSDT"; use a list of symbols`,
		`currencies: invalid value "[]"`,
		`price_band_pct: invalid value "0"; use a number above 0 and at most 100`,
		`resting_band_pct: invalid value "100.5"`,
		`max_symbol_exposure: invalid value "true"; use a number of 0 or more`,
		`max_exposure: invalid value "-1"`,
		`max_open_orders: invalid value "2.5"; use a whole number`,
		`max_orders_per_minute: invalid value "2026-01-31`,
		`max_daily_notional: invalid value "NaN"`,
		`max_daily_loss: invalid value "1,000"`,
		`allow_short: invalid value "yes"; use true or false, without quotes`,
		`max_quote_age: invalid value "10"; use a time from 1s to 1h0m0s in quotes`,
		`duplicate_window: invalid value "2 h"`,
		`max_clock_skew: invalid value "2m"; use a time from 1ms to 1m0s`,
		`key: invalid value "max_order_notionl"; use allowed_symbols, currencies, max_order_quantity, max_order_notional`,
		`key: invalid value "other"`,
		`symbol.BTCUSDT.max_order_quantity: invalid value "ten"`,
		`symbol.BTCUSDT.key: invalid value "max_exposure"; use max_order_quantity`,
		`symbol: invalid value "a b"`,
	}
	if len(problems.Problems) != len(want) {
		t.Errorf("%d problems, want %d:\n%v", len(problems.Problems), len(want), err)
	}
	for i, p := range problems.Problems {
		if i < len(want) && !strings.Contains(p.Error(), want[i]) {
			t.Errorf("problem %d is %q, want %q", i, p, want[i])
		}
	}
	if !strings.Contains(err.Error(), `did you mean "max_order_notional"`) || strings.Count(err.Error(), "\n") != len(want)-1 {
		t.Error(err)
	}
}

func TestParse_Refuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a = ":                                        "expected value",
		"max_exposure = 1.":                           "1",
		"max_exposure = 01.5":                         "",
		"max_exposure = 1.5x":                         "",
		"max_exposure = inf":                          `max_exposure: invalid value "+Inf"`,
		"max_exposure = 1e400":                        `max_exposure: invalid value "1e400"`,
		"max_exposure = [1.5]":                        `max_exposure: invalid value "[1.5]"`,
		"max_exposure = 1\nmax_exposure = 2":          "max_exposure",
		"max_exposure = 99999999999999999999":         "out of range",
		"symbol = 5":                                  `symbol: invalid value "5"; use tables`,
		"[symbol]\nBTCUSDT = 5":                       `symbol.BTCUSDT: invalid value "5"; use a table`,
		"[symbol.BTCUSDT]\n[symbol.btcusdt]":          "one table for each symbol",
		"allowed_symbols = [5]":                       "allowed_symbols",
		"allowed_symbols = [\"A\"]\n[symbol.B]":       "symbols of allowed_symbols: A",
		"currencies = [\"$\"]":                        "currencies",
		"require_stop = \"yes\"":                      `require_stop: invalid value "yes"; use "live" or "always" or "none"`,
		"on_unprotected = true":                       `on_unprotected: invalid value "true"; use "alarm" or "exit"`,
		"stop_slippage_pct = 21":                      `stop_slippage_pct: invalid value "21"; use a number from 0 to 20`,
		"max_target_distance_pct = 1001":              "at most 1000",
		"unprotected_grace = \"0s\"":                  "unprotected_grace",
		"min_stop_distance_pct = 21":                  `min_stop_distance_pct: invalid value "21"; use a number of at most max_stop_distance_pct, which is 20`,
		"[symbol.A]\nmax_stop_distance_pct = 0.05":    `symbol.A.min_stop_distance_pct: invalid value "0.1"`,
		"[symbol.A]\nmax_open_risk = 5":               `key: invalid value "max_open_risk"`,
		"max_quote_age = \"0s\"":                      "max_quote_age",
		"duplicate_window = \"-1s\"":                  "duplicate_window",
		"price_band_pct = \"none \"":                  "price_band_pct",
		"max_open_orders = -1":                        "max_open_orders",
		"max_open_orders = {a = 1.5}":                 "max_open_orders",
		"allow_short = 1":                             "allow_short",
		"max_order_notional = 0x10.5":                 "",
		"max_order_notional = \"1.5":                  "",
		"max_order_notional = '''1.5":                 "",
		"max_order_notional = \"1.5\n2.5":             "",
		"max_order_notional = 1.5 2.5":                "",
		"max_order_notional = 1979-05-27T07:32:00.5Z": "max_order_notional",
	} {
		p, err := guard.Parse([]byte(text), conditions)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
}

// FuzzParse feeds whatever text: it is refused with problems or read exactly.
func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Add("max_exposure = 1.5 # = 2.5\nallowed_symbols = ['''a = 1.5''']")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := guard.Parse([]byte(text), conditions)
		if err != nil {
			if problems, ok := errors.AsType[*guard.Error](err); !ok || len(problems.Problems) == 0 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for _, r := range guard.Rules(p) {
			if r.Limit == "" {
				t.Fatalf("%q: %+v", text, r)
			}
		}
	})
}

// FuzzQuoteFractions holds that putting fractions in quotes changes nothing else:
// the decoder reads the same document, but for fractions that are text and stand
// for the same number.
func FuzzQuoteFractions(f *testing.F) {
	for _, seed := range []string{
		full, `a = 1.5`, `a = "x = 1.5"`, `a = 'x = 1.5'`, "a = \"\"\"\nb = 1.5\"\"\"\"\"\nc = 2.5", "a = '''\nb = 1.5'''\nc = 2.5",
		`a = {b = 1.5, c = -2e3}`, `a = [1.5, 2.5]`, "# a = 1.5\nb = 1.5#c", `"a = 1.5" = 1.5`, `a = "\" = 1.5"`, `1.5 = 1.5`, `a.b=1_0.5_0e+1_0`,
		`a = 1979-05-27T07:32:00.5Z`, `a = inf`, `a = 1e5`, "a = 1.5\r\nb = +0.0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var before, after map[string]any
		_, err := toml.Decode(text, &before)
		quoted := guard.QuoteFractions(text)
		if _, again := toml.Decode(quoted, &after); err == nil && again != nil {
			t.Fatalf("%q can be read and %q cannot: %v", text, quoted, again)
		}
		if err == nil && !alike(before, after) {
			t.Fatalf("%q is %v and %q is %v", text, before, quoted, after)
		}
	})
}

// alike compares two decoded documents, the second of which may have text for
// numbers.
func alike(a, b any) bool {
	switch a := a.(type) {
	case float64:
		text, ok := b.(string)
		if !ok {
			return cmp.Equal(a, b) || a != a
		}
		n, err := strconv.ParseFloat(text, 64)
		return (err == nil || errors.Is(err, strconv.ErrRange)) && n == a
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for key, value := range a {
			if !alike(value, other[key]) {
				return false
			}
		}
		return true
	default:
		return cmp.Equal(a, b) || containsNaN(a)
	}
}

// containsNaN reports whether a list has what does not equal itself.
func containsNaN(a any) bool { return !cmp.Equal(a, a) }

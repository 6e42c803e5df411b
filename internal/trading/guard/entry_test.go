package guard_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// conditions reads a condition as it stands. One about the indicator nope is wrong.
func conditions(about string, on market.Interval, raw json.RawMessage) (order.Claim, error) {
	if strings.Contains(string(raw), "rsy") {
		return order.Claim{}, fault.New(fault.NotFound, "unknown_indicator", "unknown indicator \"rsy\"").About("indicator", "rsy", "")
	}
	if strings.Contains(string(raw), "nope") {
		return order.Claim{}, fault.Field("condition.value.indicator", "nope", "one of the catalogue", "rsi")
	}
	return order.Claim{Interval: on, Condition: raw, Text: "RSI(14) of " + about + " on " + on.String() + " closes below 70"}, nil
}

const gated = `
[[entry_condition]]
side = "buy"
interval = "1h"
condition = { value = { indicator = { name = "rsi", length = 14 }, op = "<", value = 69.50 } }

[[entry_condition]]
side = "sell"
symbol = "binance:ETHUSDT"
interval = "1d"
condition = '{"value":{"price":"close","op":"<","value":-0.5}}'

[[symbol.BTCUSDT.entry_condition]]
side = "buy"
condition = { price_below = 100000 }

[symbol.SOLUSDT]
entry_condition = "none"
`

// TestConditions_AreRead reads tables, with the numbers as they are written, and holds which orders they are for.
func TestConditions_AreRead(t *testing.T) {
	t.Parallel()
	p, err := guard.Parse([]byte(gated), conditions)
	if err != nil {
		t.Fatal(err)
	}
	eth, btc, sol := market.Symbol{Venue: "binance", Name: "ETHUSDT"}, market.Symbol{Venue: "binance", Name: "BTCUSDT"}, market.Symbol{Venue: "binance", Name: "SOLUSDT"}
	for _, c := range []struct {
		s               market.Symbol
		side            order.Side
		condition, text string
		about           market.Symbol
	}{
		{eth, order.Buy, `{"value":{"indicator":{"length":14,"name":"rsi"},"op":"\u003c","value":69.5}}`, "RSI(14) of ETHUSDT on 1h closes below 70", market.Symbol{}},
		{eth, order.Sell, `{"value":{"price":"close","op":"<","value":-0.5}}`, "RSI(14) of binance:ETHUSDT on 1d closes below 70", eth},
		{btc, order.Buy, `{"price_below":100000}`, "RSI(14) of BTCUSDT on interval(0) closes below 70", market.Symbol{}},
	} {
		got := p.EntryClaims(c.s, c.side)
		if len(got) != 1 || string(got[0].Condition) != c.condition || strings.Join(strings.Fields(got[0].Text), " ") != strings.Join(strings.Fields(c.text), " ") || got[0].Symbol != c.about {
			t.Errorf("%v %v: %+v", c.s, c.side, got)
		}
	}
	if len(p.EntryClaims(btc, order.Sell))+len(p.EntryClaims(sol, order.Buy))+len(p.EntryClaims(sol, order.Sell)) > 0 || !p.HasConditions() {
		t.Error("a list of a symbol does not replace the general one")
	}
	var words []string
	for _, c := range guard.OwnConditions(p) {
		words = append(words, c.Symbol.String()+" "+c.Text)
	}
	if len(words) != 3 || !strings.HasPrefix(words[2], "BTCUSDT buy: ") {
		t.Errorf("listed as %q", words)
	}
	if x := guard.Exceptions(p); len(x) != 2 || x[0].Limit != "1 condition" || x[1].Limit != "none" {
		t.Errorf("exceptions are %+v", x)
	}
}

// TestConditions_NameEveryProblem refuses tables with the field, the value and what is allowed.
func TestConditions_NameEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := guard.Parse([]byte(`
[[entry_condition]]
side = "long"
interval = "soon"
symbol = "a b"
condition = "RSI below 30"
sid = 1
[[entry_condition]]
[[entry_condition]]
side = "buy"
condition = { value = { indicator = "nope", op = "<", value = 5 } }
[[entry_condition]]
side = "buy"
condition = { value = { indicator = "rsy", op = "<", value = 5 } }
[symbol.BTCUSDT]
entry_condition = 5
`), conditions)
	var problems *guard.Error
	if !errors.As(err, &problems) {
		t.Fatalf("got %v", err)
	}
	want := []string{
		`entry_condition[0].sid: invalid value "1"; use side, interval, symbol, condition`,
		`entry_condition[0].side: invalid value "long"; use "buy" or "sell"`,
		`entry_condition[0].symbol: invalid value "a b"`,
		`entry_condition[0].interval: invalid value "soon"; use an interval in quotes`,
		`entry_condition[0].condition: invalid value "RSI below 30"; use a condition of set_alert, such as condition = {`,
		`entry_condition[1].side`,
		`entry_condition[1].condition`,
		`entry_condition[2].condition.value.indicator: invalid value "nope"; use one of the catalogue`,
		`entry_condition[3].indicator: unknown indicator "rsy"`,
		`symbol.BTCUSDT.entry_condition: invalid value "5"; use at most 8 tables [[symbol.BTCUSDT.entry_condition]]`,
	}
	for i, p := range problems.Problems {
		if i >= len(want) || !strings.Contains(p.Error(), want[i]) {
			t.Errorf("problem %d is %q", i, p)
		}
	}
	if len(problems.Problems) != len(want) {
		t.Errorf("%d problems, want %d", len(problems.Problems), len(want))
	}
	nine := strings.Repeat("[[entry_condition]]\nside = \"buy\"\ncondition = {price_above = 1}\n", guard.MaxEntryConditions+1)
	if _, err := guard.Parse([]byte(nine), conditions); err == nil || !strings.Contains(err.Error(), `entry_condition: invalid value "9 tables"; use at most 8 tables`) {
		t.Errorf("nine: %v", err)
	}
}

// TestConditions_AreInTheHash holds that each property of a condition changes the hash of a policy.
func TestConditions_AreInTheHash(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, file := range []string{
		"", gated, strings.Replace(gated, "69.50", "69", 1), strings.Replace(gated, `"buy"`, `"sell"`, 1), strings.Replace(gated, `"1h"`, `"2h"`, 1),
		strings.Replace(gated, "binance:ETHUSDT", "ETHUSDT", 1), strings.Replace(gated, "price_below", "price_above", 1), strings.Replace(gated, "SOLUSDT", "XRPUSDT", 1),
	} {
		p, err := guard.Parse([]byte(file), conditions)
		if err != nil {
			t.Fatal(err)
		}
		_, hash, err := guard.Canonical(p)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[hash]; ok {
			t.Errorf("one hash of %s and %s", file, other)
		}
		seen[hash] = file
	}
}

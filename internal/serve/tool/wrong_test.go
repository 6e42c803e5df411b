package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/testkit/pagetest"
	"candela/lib/chart"
)

// toolError is what a client reads when a tool fails.
type toolError struct {
	Code        string   `json:"code"`
	Message     string   `json:"message"`
	Retryable   *bool    `json:"retryable"`
	RetryAfterS int      `json:"retry_after_s"`
	Field       string   `json:"field"`
	Value       string   `json:"value"`
	Allowed     string   `json:"allowed"`
	Suggestions []string `json:"suggestions"`
}

// wrongCalls are mistakes that models make. Each answer must name the field, the
// value, what is allowed and, where there is one, the nearest right thing.
func wrongCalls() []struct{ name, tool, arguments, field, value, allowed, nearest string } {
	return []struct{ name, tool, arguments, field, value, allowed, nearest string }{
		{"an indicator that does not exist", "get_indicators", `{"symbol":"BTCUSDT","indicators":["bolinger"]}`, "indicators", "bolinger", "list_indicators", "bollinger"},
		{"the same under another name", "generate_chart", `{"panels":["bolinger"]}`, "panels", "bolinger", "list_indicators", "bollinger"},
		{"a parameter that does not exist", "generate_chart", `{"indicators":[{"name":"rsi","lengthh":21}]}`, "rsi.lengthh", "lengthh", "length", "length"},
		{"a parameter out of bounds", "generate_chart", `{"indicators":[{"name":"rsi","length":0}]}`, "rsi.length", "0", "whole number from", ""},
		{"an interval that does not exist", "get_indicators", `{"symbol":"BTCUSDT","indicators":["rsi"],"interval":"15M"}`, "interval", "15M", "15m 30m 1h", "15m"},
		{"a number for the interval", "generate_chart", `{"timeframe":15}`, "timeframe", "15", "15m 30m 1h", "15m"},
		{"a missing symbol", "get_indicators", `{"indicators":["rsi"]}`, "symbol", "", "BTCUSDT", ""},
		{"a misspelt argument", "generate_chart", `{"simbol":"BTCUSDT"}`, "simbol", "simbol", "symbol, interval", "symbol"},
		{"an unknown symbol", "generate_chart", `{"symbol":"BTCUSD"}`, "symbol", "BTCUSD", "", "BTCUSDT"},
		{"a format that does not exist", "generate_chart", `{"format":"jpeg"}`, "format", "jpeg", "png, summary, both, series", ""},
		{"more bars than there may be", "generate_chart", `{"bars":10000}`, "bars", "10000", "1 to 5000", "5000"},
		{"a drawing with one point of two", "generate_chart", `{"symbol":"BTCUSDT","drawings":[{"type":"line","time":"2026-01-01","price":5}]}`, "drawings[0].time2", "", "line has type, time, price, time2, price2", ""},
		{"a ray to the left", "generate_chart", `{"symbol":"BTCUSDT","drawings":[{"type":"ray","time":"2026-02-01","price":5,"time2":"2026-01-01","price2":6}]}`, "drawings[0].time2", "2026-01-01T00:00:00Z", "a time after time", ""},
		{"a symbol compared with itself", "generate_chart", `{"symbol":"BTCUSDT","compare":["BTCUSDT"]}`, "compare", "BTCUSDT", "each symbol once", ""},
		{"a parameter as text", "generate_chart", `{"indicators":[{"name":"rsi","length":"long"}]}`, "rsi.length", "long", "a whole number from 1 to 5000, without quotes", ""},
		{"a number for the symbol", "generate_chart", `{"symbol":700}`, "symbol", "700", "a string such as BTCUSDT", ""},
		{"an indicator with a length in days", "generate_chart", `{"indicators":["14-day RSI"]}`, "indicators", "14-day RSI", `"length":14`, "rsi_14"},
		{"a symbol under two names", "generate_chart", `{"symbol":"BTCUSDT","ticker":"AAPL"}`, "ticker", "AAPL", "only one of symbol and ticker", ""},
		{"a quantity as text for people", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":"1,000"}`, "quantity", "1,000", "a number above 0, without quotes", ""},
		{"an amount that may be coins or money", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","amount":500}`, "amount", "500", "notional", "notional"},
		{"an amount of money and a risk", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","notional":500,"risk_pct":1,"stop_loss_pct":2}`, "notional", "500", "with risk_pct", ""},
		{"a stop as a price and as a distance", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":5,"stop_loss_pct":2}`, "stop_loss_pct", "2", "with stop_loss 5", ""},
		{"a quantity below zero", "place_order", `{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":-1}`, "quantity", "-1", "above 0", ""},
		{"a side of another language", "place_order", `{"symbol":"BTCUSDT","side":"short","type":"market","quantity":1}`, "side", "short", "buy, sell", "sell"},
		{"a limit order without a price", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":1}`, "price", "", "for a limit order", ""},
		{"a market order with a price", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"price":5}`, "price", "5", "or type limit", "limit"},
		{"an alert with two conditions", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1,"price_below":2}}`, "condition", "price_above, price_below", "exactly one of price_above, price_below, indicator_signal", ""},
		{"a condition that does not exist", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_abov":1}}`, "condition", "price_abov", "price_above, price_below, indicator_signal", "price_above"},
		{"a threshold beyond all prices", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_below":1e300}}`, "condition.price_below", "1e300", "an exponent from -24 to 24", ""},
		{"a threshold below zero", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_below":-5}}`, "condition.price_below", "-5", "a number above 0", ""},
		{"a threshold of nothing", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":0}}`, "condition.price_above", "0", "a number above 0", ""},
		{"a signal in quotes", "set_alert", `{"symbol":"BTCUSDT","condition":{"indicator_signal":"cross_up"}}`, "condition.indicator_signal", "cross_up", "an object such as", ""},
		{"an idempotency key with a space at its end", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"idempotency_key":"K1 "}`, "idempotency_key", "K1 ", "printable ASCII characters without a space", ""},
		{"an idempotency key with a character nobody sees", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"idempotency_key":"K1\u200b"}`, "idempotency_key", `K1\u200b`, "printable ASCII characters without a space", ""},
		{"an alert on an indicator that does not exist", "set_alert", `{"symbol":"BTCUSDT","condition":{"indicator_signal":{"indicator":"wavetrnd","signal":"cross_up"}}}`, "condition.indicator_signal.indicator", "wavetrnd", "list_indicators", "wavetrend"},
		{"a signal that the indicator never gives", "set_alert", `{"symbol":"BTCUSDT","condition":{"indicator_signal":{"indicator":"wavetrend","signal":"crossupp"}}}`, "condition.indicator_signal.signal", "crossupp", "cross_up_os", "cross_up"},
		{"half of the name of a signal", "set_alert", `{"symbol":"BTCUSDT","condition":{"indicator_signal":{"indicator":"rsi","signal":"bull_div"}}}`, "condition.indicator_signal.signal", "bull_div", "rsi_oversold, rsi_overbought", "rsi_bull_div"},
		{"an alert on no signal", "set_alert", `{"symbol":"BTCUSDT","condition":{"indicator_signal":{"indicator":"macd"}}}`, "condition.indicator_signal.signal", "", "one of ", ""},
		{"an alert type that does not exist", "subscribe_notifications", `{"alert_types":["price_abov"]}`, "alert_types", "price_abov", "price_above, price_below, indicator_signal", "price_above"},
	}
}

func TestWrongCalls_AnswersLetAModelCorrectItself(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, &tooltest.Trading{})
	var page strings.Builder
	page.WriteString(wrongCallsHead)
	for _, wrong := range wrongCalls() {
		result := call(t, registry, wrong.tool, wrong.arguments)
		raw := result.Content[0].Text
		var p toolError
		if err := json.Unmarshal(raw, &p); err != nil || !result.IsError || result.Structured != nil {
			t.Errorf("%s: %v %s", wrong.name, err, raw)
			continue
		}
		fmt.Fprintf(&page, "| %s | `%s` `%s` | %s |\n", wrong.name, wrong.tool, wrong.arguments, strings.ReplaceAll(p.Message, "|", `\|`))
		if p.Code == "" || p.Retryable == nil || p.Field != wrong.field || p.Value != wrong.value || !strings.Contains(p.Allowed, wrong.allowed) {
			t.Errorf("%s: %s", wrong.name, raw)
		}
		if strings.HasSuffix(wrong.name, "as text") && !strings.Contains(p.Message, "invalid text") {
			t.Errorf("%s: the message does not say that text is what is wrong: %s", wrong.name, p.Message)
		}
		for _, part := range []string{wrong.value, wrong.allowed, wrong.nearest} {
			plain := strings.ReplaceAll(p.Message, `\"`, `"`)
			if !strings.Contains(plain, part) {
				t.Errorf("%s: the message lacks %q: %s", wrong.name, part, p.Message)
			}
		}
		if wrong.nearest != "" && !slices.Contains(p.Suggestions, wrong.nearest) {
			t.Errorf("%s: suggestions %q lack %q", wrong.name, p.Suggestions, wrong.nearest)
		}
	}
	pagetest.Part(t, "docs/errors.md", "mistakes", "go test ./internal/serve/tool -update", page.String(), *mcptest.Update)
}

const wrongCallsHead = "| Mistake | Call | Message |\n|---|---|---|\n"

func TestIndicators_RefusesItemsOfOtherShapes(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, nil)
	for _, item := range []string{`5`, `[]`, `{}`, `{"name":5}`, `{"length":5}`, `null`, `true`, `""`} {
		result := call(t, registry, "generate_chart", `{"indicators":[`+item+`]}`)
		if !result.IsError || !strings.Contains(string(result.Content[0].Text), `"field":"indicators`) {
			t.Errorf("%s: %s", item, result.Content[0].Text)
		}
	}
}

// A provider that does not answer is worth a second try, and says when.
func TestFailure_SaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	result := call(t, tooltest.Registry(t, nil), "get_indicators", `{"symbol":"DOWN","indicators":["rsi"]}`)
	var p toolError
	if err := json.Unmarshal(result.Content[0].Text, &p); err != nil || !result.IsError || p.Retryable == nil || !*p.Retryable || p.RetryAfterS != 2 || p.Code != "unavailable" {
		t.Fatalf("%v %s", err, result.Content[0].Text)
	}
	if strings.Contains(string(result.Content[0].Text), "deadline") {
		t.Fatalf("the cause leaked: %s", result.Content[0].Text)
	}
}

// Spellings that look wrong and are understood.
func TestSpellings_AreUnderstood(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, nil)
	for arguments, want := range map[string]string{
		`{"interval":"15min","format":"summary","bars":20}`:                                                                                    `"interval":"15m"`,
		`{"interval":"60","format":"summary","bars":20}`:                                                                                       `"interval":"1h"`,
		`{"interval":"1M","format":"summary","bars":20}`:                                                                                       `"interval":"1M"`,
		`{"ticker":"btcusdt","format":"summary","bars":20}`:                                                                                    `"symbol":"BTCUSDT"`,
		`{"panels":["bb","rsi","RSI","rsi"],"format":"summary","bars":20}`:                                                                     `"rsi_2":`,
		`{"indicators":["rsi",{"name":"rsi","length":7},"rsi_2"],"format":"summary","bars":20}`:                                                `"rsi_3":`, // rsi_2 is the RSI of 2 bars
		`{"indicators":[{"name":"sma","length":50},{"name":"sma","length":200},"ema",{"name":"ema","length":9}],"format":"summary","bars":20}`: `"sma_200":`,
		`{"indicators":["ema",{"name":"ema","length":9}],"format":"summary","bars":20}`:                                                        `"ema_9":`,
		`{"bars":2e1,"format":"summary"}`:                                                                                                      `"bars":20`,
		`{"format":"summary","bars":20,"indicators":["bb"]}`:                                                                                   `"indicators":{"bb":{`,
		`{"format":"summary","bars":20,"symbol":null,"indicators":null,"interval":null,"log":null}`:                                            `"ema_stack":`,
		`{"format":"summary","bars":20,"indicators":[]}`:                                                                                       `"indicators":{}`,
	} {
		if text := string(call(t, registry, "generate_chart", arguments).Content[0].Text); !strings.Contains(text, want) {
			t.Errorf("%s lacks %s:\n%.400s", arguments, want, text)
		}
	}
}

// FuzzArguments throws arguments at every tool. Whatever comes, a tool answers:
// with a result, or with an error that has a code and a message.
func FuzzArguments(f *testing.F) {
	for name, calls := range good() {
		for _, arguments := range calls {
			f.Add(name, []byte(arguments))
		}
		f.Add(name, []byte(`{"x":1}`))
	}
	for _, wrong := range wrongCalls() {
		f.Add(wrong.tool, []byte(wrong.arguments))
	}
	for _, m := range conditionMistakes() {
		f.Add(m.tool, []byte(m.arguments))
		f.Add(m.nextTool, []byte(m.next))
	}
	f.Fuzz(func(t *testing.T, name string, arguments []byte) { fuzzOne(t, name, arguments) })
}

func TestCall_ThatTheClientGaveUpIsNoFailureInTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	registry, err := tool.New(tool.Config{
		Charting: tooltest.Charts(marketdatatest.Bars{}, chart.NewRenderer(), new(tooltest.Trading).Parts()), Trading: new(tooltest.Trading).Parts(), Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result, err := registry.Call(ctx, principal.Caller{Subject: "owner", Scope: principal.Trade}, "get_notifications", json.RawMessage(`{}`))
	if err != nil || !strings.Contains(string(result.Content[0].Text), `"code":"cancelled"`) || log.Len() > 0 {
		t.Errorf("%+v, %v, and the log says %q", result, err, log.String())
	}
}

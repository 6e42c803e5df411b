package tool_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"candela/internal/serve/rpc"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
)

// mistake is a call that a model gets wrong, what the answer must say, and the call
// that it leads to. Without a next call the answer leads nowhere, and why is said.
type mistake struct{ tool, arguments, says, nextTool, next string }

func mistakes() []mistake {
	const chart, indicators, place, cancel, orders, set, cancelAlert, notes, subscribe = "generate_chart", "get_indicators", "place_order", "cancel_order", "get_orders", "set_alert", "cancel_alert", "get_notifications", "subscribe_notifications"
	m := func(tool, arguments, says, next string) mistake { return mistake{tool, arguments, says, tool, next} }
	return []mistake{
		// symbols
		m(chart, `{"symbol":"bitcoin"}`, "BTCUSDT", `{"symbol":"BTCUSDT"}`),
		m(chart, `{"symbol":"BTC"}`, "BTCUSDT", `{"symbol":"BTCUSDT"}`),
		m(chart, `{"symbol":"ETH"}`, "ETHUSDT", `{"symbol":"ETHUSDT"}`),
		m(chart, `{"symbol":"Apple"}`, "AAPL", `{"symbol":"AAPL"}`),
		m(chart, `{"symbol":"BTCUSTD"}`, "BTCUSDT", `{"symbol":"BTCUSDT"}`),
		m(chart, `{"symbol":"BTCUSDT-PERP"}`, "perpetuals", `{"symbol":"BTCUSDT.P"}`),
		m(chart, `{"symbol":"EUR/USD"}`, "EURUSD=X", `{"symbol":"EURUSD=X"}`),
		m(indicators, `{"symbol":"AAPLE","indicators":["rsi"]}`, "AAPL", `{"symbol":"AAPL","indicators":["rsi"]}`),
		m(chart, `{"symbol":"gold"}`, "GC=F (Yahoo)", `{"symbol":"GC=F"}`),
		m(chart, `{"symbol":"S&P 500"}`, "^GSPC (Yahoo)", `{"symbol":"^GSPC"}`),
		m(chart, `{"symbol":"BTC-USDT-SWAP"}`, "perpetuals", `{"symbol":"BTCUSDT.P"}`),
		m(chart, `{"symbol":"BTC/USDT:USDT"}`, "perpetuals", `{"symbol":"BTCUSDT.P"}`),
		m(chart, `{"symbol":"XBTUSD"}`, "BTC-USD (Yahoo)", `{"symbol":"BTC-USD"}`),
		m(chart, `{"symbol":"USD/EUR"}`, "the other way around", `{"symbol":"EURUSD=X"}`),
		m(chart, `{"symbol":"AAPL.US"}`, "AAPL (Yahoo)", `{"symbol":"AAPL"}`),
		m(chart, `{"symbol":"tesla stock"}`, "TSLA (Yahoo)", `{"symbol":"TSLA"}`),
		m(chart, `{"symbol":"yen"}`, "USDJPY=X (Yahoo)", `{"symbol":"USDJPY=X"}`),
		m(indicators, `{"symbol":"10y","indicators":["rsi"]}`, "^TNX (Yahoo)", `{"symbol":"^TNX","indicators":["rsi"]}`),
		m(indicators, `{"symbol":"solana","indicators":["rsi"]}`, "SOLUSDT (Binance)", `{"symbol":"SOLUSDT","indicators":["rsi"]}`),
		m(chart, `{"symbol":"BTC USDT"}`, "BTCUSDT", `{"symbol":"BTCUSDT"}`),
		m(chart, `{"symbol":5}`, "such as BTCUSDT", `{"symbol":"BTCUSDT"}`),
		m(chart, `{"symbol":["BTCUSDT"]}`, "such as BTCUSDT", `{"symbol":"BTCUSDT"}`),
		m(chart, `{"symbol":""}`, "such as BTCUSDT", `{"symbol":"BTCUSDT"}`),
		m(chart, `{"symbol":"BTCUSDT","ticker":"AAPL"}`, "only one of", `{"symbol":"BTCUSDT"}`),
		m(chart, `{"symbl":"BTCUSDT"}`, "symbol", `{"symbol":"BTCUSDT"}`),
		m(indicators, `{"indicators":["rsi"]}`, "symbol is required", `{"symbol":"BTCUSDT","indicators":["rsi"]}`),
		// intervals and sizes
		m(chart, `{"interval":"7m"}`, "5m", `{"interval":"5m"}`),
		{chart, `{"interval":60,"format":"summary"}`, `"understood":[`, understood, ""},
		m(chart, `{"interval":"2d"}`, "1d", `{"interval":"1d"}`),
		m(chart, `{"timeframe":"4 hour candles"}`, "4h", `{"timeframe":"4h"}`),
		m(chart, `{"bars":0}`, "from 1 to 5000", `{"bars":1}`),
		m(chart, `{"bars":100000}`, "5000", `{"bars":5000,"format":"summary"}`),
		{chart, `{"bars":"200"}`, "", understood, ""},
		m(chart, `{"bars":1.5}`, "a whole number", `{"bars":2}`),
		m(chart, `{"width":100}`, "200", `{"width":200}`),
		m(chart, `{"height":9999}`, "4096", `{"height":4096,"format":"summary"}`),
		m(chart, `{"scale":9}`, "3", `{"scale":3,"format":"summary"}`),
		m(chart, `{"format":"jpeg"}`, "png", `{"format":"png"}`),
		{chart, `{"format":"json"}`, `"understood":[`, understood, ""},
		m(chart, `{"theme":"black"}`, "dark", `{"theme":"dark"}`),
		{chart, `{"log":"true"}`, "", understood, ""},
		m(chart, `{"log":1}`, "true or false", `{"log":true}`),
		m(chart, `{"start":"2024-01-01"}`, "sample data has no dates", `{"symbol":"BTCUSDT","start":"2024-01-01","format":"summary"}`),
		{chart, `{"symbol":"BTCUSDT","end":"1 January 2024","format":"summary"}`, `"understood":[`, understood, ""},
		m(indicators, `{"symbol":"BTCUSDT","indicators":["rsi"],"bars":500}`, "interval", `{"symbol":"BTCUSDT","indicators":["rsi"],"interval":"1d"}`),
		m(indicators, `{"symbol":"BTCUSDT","indicators":["rsi"],"from":1}`, "start", `{"symbol":"BTCUSDT","indicators":["rsi"],"start":"2024-01-01"}`),
		{chart, `{"symbol":"BTCUSDT","since":"2024-01-01"}`, "", understood, ""},
		{chart, `{"symbol":"BTCUSDT","days":30,"format":"summary"}`, `"understood":[`, understood, ""},
		// indicators
		m(chart, `{"indicators":["smaa"]}`, "sma", `{"indicators":["sma"]}`),
		m(chart, `{"indicators":["50-day SMA"]}`, `{\"name\":\"sma\",\"length\":50}`, `{"indicators":[{"name":"sma","length":50}]}`),
		m(chart, `{"indicators":[{"name":"ema_stack","length":100}]}`, "always 8, 21, 50 and 200", `{"indicators":[{"name":"ema","length":100}]}`),
		{chart, `{"indicators":["volumes"],"format":"summary"}`, `"understood":[`, understood, ""},
		{chart, `{"indicators":["stochasticrsi"],"format":"summary"}`, "Stoch RSI", understood, ""},
		m(chart, `{"indicators":["rsii"]}`, "rsi", `{"indicators":["rsi"]}`),
		m(chart, `{"indicators":["RSI(14,3)"]}`, "at most length", `{"indicators":["RSI(14)"]}`),
		{chart, `{"indicators":"rsi,macd"}`, "", understood, ""},
		{chart, `{"indicators":"[\"rsi\"]"}`, "", understood, ""},
		m(chart, `{"indicators":[{"name":"rsi","lengt":7}]}`, "length", `{"indicators":[{"name":"rsi","length":7}]}`),
		{chart, `{"indicators":[{"name":"rsi","length":"7"}],"format":"summary"}`, `"understood":[`, understood, ""},
		m(chart, `{"indicators":[{"name":"rsi","length":0}]}`, "1", `{"indicators":[{"name":"rsi","length":1}]}`),
		m(chart, `{"indicators":[{"length":7}]}`, "name", `{"indicators":[{"name":"rsi","length":7}]}`),
		m(chart, `{"indicators":[5]}`, `such as \"rsi\"`, `{"indicators":["rsi"]}`),
		{indicators, `{"symbol":"BTCUSDT","indicators":[]}`, `"last":{"bar":`, understood, ""},
		{"list_indicators", `{"category":"momentum"}`, "", understood, ""},
		m("list_indicators", `{"name":"rsii"}`, "rsi", `{"name":"rsi"}`),
		{"list_indicators", `{"group":"oscillators"}`, `"understood":[`, understood, ""},
		// comparisons and drawings
		{chart, `{"symbol":"BTCUSDT","compare":"ETHUSDT","format":"summary"}`, `"understood":[`, understood, ""},
		m(chart, `{"symbol":"BTCUSDT","compare":["ETH"],"format":"summary"}`, "ETHUSDT", `{"symbol":"BTCUSDT","compare":["ETHUSDT"],"format":"summary"}`),
		m(chart, `{"symbol":"BTCUSDT","compare":["BTCUSDT"]}`, "each symbol once", `{"symbol":"BTCUSDT","compare":["ETHUSDT"],"format":"summary"}`),
		m(chart, `{"compare":["BTCUSDT"]}`, "symbol is required", `{"symbol":"ETHUSDT","compare":["BTCUSDT"],"format":"summary"}`),
		{chart, `{"symbol":"BTCUSDT","drawings":[{"type":"horizontal_line","price":5}]}`, "", understood, ""},
		{chart, `{"symbol":"BTCUSDT","drawings":{"type":"level","price":5}}`, "", understood, ""},
		{chart, `{"symbol":"BTCUSDT","drawings":[{"type":"level","price":"5"}]}`, "", understood, ""},
		{chart, `{"symbol":"BTCUSDT","drawings":[{"type":"level","y":5}]}`, "", understood, ""},
		m(chart, `{"symbol":"BTCUSDT","drawings":[{"type":"ray","time":"2026-02-01","price":5,"time2":"2026-01-01","price2":6}]}`, "a time after time", `{"symbol":"BTCUSDT","drawings":[{"type":"ray","time":"2026-01-01","price":6,"time2":"2026-02-01","price2":5}],"format":"summary"}`),
		// orders
		m(place, `{"side":"buy","type":"market","quantity":1}`, "symbol is required", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1}`),
		m(place, `{"symbol":"BTCUSDT","type":"market","quantity":1}`, "side is required: buy, sell", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1}`),
		{place, `{"symbol":"BTCUSDT","side":"long","type":"market","quantity":1}`, "", understood, ""},
		m(place, `{"symbol":"BTCUSDT","side":"buy","quantity":1}`, "market, limit", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1}`),
		{place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":"1"}`, "", understood, ""},
		m(place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":-1}`, "above 0", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1}`),
		m(place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0}`, "above 0", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1}`),
		m(place, `{"symbol":"BTCUSDT","side":"buy","type":"market","amount":1}`, "quantity", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1}`),
		{place, `{"symbol":"BTCUSDT","side":"buy","type":"market","qty":1}`, "", understood, ""},
		m(place, `{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":1}`, "price is required", `{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":1,"price":5}`),
		m(place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"price":5}`, "limit", `{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":1,"price":5}`),
		{place, `{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":1,"limit_price":5}`, "", understood, ""},
		m(place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"dry_run":"yes"}`, "true or false", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"dry_run":true}`),
		m(place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"idempotency_key":" k "}`, "without a space at either end", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"idempotency_key":"k"}`),
		m(place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1001}`, "1000", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1000}`),
		m(cancel, `{"order_id":"o-2"}`, "o-1", `{"order_id":"o-1"}`),
		{cancel, `{"id":"o-1"}`, "", understood, ""},
		{cancel, `{}`, "get_orders", orders, `{}`},
		{orders, `{"filter":"closed"}`, "", understood, ""},
		{orders, `{"status":"open"}`, "", understood, ""},
		m(orders, `{"limit":1000}`, "500", `{"limit":500}`),
		{"get_positions", `{"symbol":"BTCUSDT"}`, "", understood, ""},
		{"get_balance", `{}`, "--toolsets account", "", ""},
		// alerts and notifications
		{set, `{"symbol":"BTCUSDT","condition":"{\"price_above\":5}"}`, "", understood, ""},
		m(set, `{"symbol":"BTCUSDT","condition":{"price_above":5,"price_below":4}}`, "exactly one", `{"symbol":"BTCUSDT","condition":{"price_above":5}}`),
		{set, `{"symbol":"BTCUSDT","condition":{"price_over":5}}`, `"understood":[`, understood, ""},
		m(set, `{"symbol":"BTCUSDT","condition":{"price_below":-5}}`, "above 0", `{"symbol":"BTCUSDT","condition":{"price_below":5}}`),
		m(set, `{"symbol":"BTCUSDT","condition":{"indicator_signal":{"indicator":"rsi","signal":"below_30"}}}`, "rsi_oversold_enter", `{"symbol":"BTCUSDT","condition":{"indicator_signal":{"indicator":"rsi","signal":"rsi_oversold_enter"}}}`),
		m(set, `{"symbol":"BTCUSDT","condition":{"price_above":5},"interval":"1h"}`, "no interval", `{"symbol":"BTCUSDT","condition":{"price_above":5}}`),
		{set, `{"symbol":"BTCUSDT","condition":{"price_above":5},"expires_at":"tomorrow"}`, `"understood":[`, understood, ""},
		{cancelAlert, `{}`, "list_alerts", "list_alerts", `{}`},
		m(notes, `{"wait_seconds":600}`, "240", `{"wait_seconds":240}`),
		{subscribe, `{"symbols":"BTCUSDT"}`, "", understood, ""},
		m(subscribe, `{"alert_types":["price"]}`, "price_above", `{"alert_types":["price_above"]}`),
		{"set_alarm", `{}`, "set_alert", set, `{"symbol":"BTCUSDT","condition":{"price_above":5}}`},
	}
}

// understood is the next tool of a call that looks wrong and is answered.
const understood = "understood"

// TestMistakes_LeadToTheRightCall makes each call, checks what its answer says, and makes
// the call that the answer leads to.
func TestMistakes_LeadToTheRightCall(t *testing.T) {
	t.Parallel()
	registry := tooltest.Extended(t, (&tooltest.Trading{}).Parts())
	older, newer := mistakes(), slices.Concat(nameMistakes(), conditionMistakes(), protectMistakes())
	if len(older) < 88 || len(newer) < 60 {
		t.Errorf("%d and %d mistakes, want 88 and 60", len(older), len(newer))
	}
	led := 0
	for _, m := range slices.Concat(older, newer) {
		if why := m.leads(t, registry); why != "" {
			t.Logf("%s %s %s", m.tool, m.arguments, why)
			continue
		}
		led++
	}
	all := len(older) + len(newer)
	t.Logf("%d of %d mistakes lead to the right call: %.1f %%", led, all, 100*float64(led)/float64(all))
	if led*100 < all*97 {
		t.Errorf("%d of %d mistakes lead to the right call, less than 97 %%", led, all)
	}
}

// leads returns "" if the answer to the mistake leads to the right call, or else why not.
func (m mistake) leads(t *testing.T, registry *tool.Registry) string {
	t.Helper()
	text, failed := answerOf(t, registry, m.tool, m.arguments)
	switch {
	case failed == (m.nextTool == understood):
		return "is answered otherwise: " + text
	case !strings.Contains(text, m.says):
		return "does not say " + m.says + ": " + text
	case m.nextTool == understood:
		return ""
	case m.next == "":
		return "leads to no call: " + text
	}
	if text, failed := answerOf(t, registry, m.nextTool, m.next); failed {
		return "leads to " + m.nextTool + " " + m.next + ", which fails: " + text
	}
	return ""
}

// answerOf returns what a client reads, and whether it is a failure.
func answerOf(t *testing.T, r *tool.Registry, name, arguments string) (string, bool) {
	t.Helper()
	result, err := r.Call(tooltest.Patient(t.Context()), caller(), name, json.RawMessage(arguments))
	if refusal, ok := errors.AsType[*rpc.Error](err); ok {
		return refusal.Message, true
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(result.Content[0].Text), result.IsError
}

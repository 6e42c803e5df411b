package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
)

// TestResearch_Mistakes holds that a mistaken call is answered with the field, its value and what to
// do instead.
func TestResearch_Mistakes(t *testing.T) {
	t.Parallel()
	r := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tool.ResearchSet)
	made := call(t, r, "run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":500,"long":{"enter":{"value":{"indicator":"rsi","op":"<","value":40}},"max_bars":5}}`)
	var kept struct {
		ID string `json:"report_id"`
	}
	if err := json.Unmarshal(made.Content[0].Text, &kept); err != nil || kept.ID == "" {
		t.Fatal(err, made.Content[0].Text)
	}
	for _, m := range []struct{ tool, arguments, field, remedy string }{
		{"test_alert", `{"symbol":"BTCUSDT","condition":{"price_abov":70000}}`, "condition", `price_above`},
		{"test_alert", `{"symbol":"BTCUSDT","interval":"15M","condition":{"price_above":70000}}`, "interval", `did you mean "15m"`},
		{"test_alert", `{"symbol":"BTCUSDT","condition":{"price_above":-5}}`, "condition.price_above", `a number above 0`},
		{"test_alert", `{"symbol":"BTCUSDT","condition":{"value":{"indicator":"rsii","op":"<","value":30}}}`, "condition.value.indicator", `list_indicators`},
		{"test_alert", `{"symbol":"BTCUSDT","condition":{"indicator_signal":{"indicator":"rsi","signal":"bull_div"}}}`, "condition.indicator_signal.signal", `did you mean "rsi_bull_div"`},
		{"test_alert", `{"symbol":"BTCUSDT","bars":10000000,"condition":{"price_above":70000}}`, "bars", `from 100 to 15000`},
		{"test_alert", `{"symbol":"NOSUCH","condition":{"price_above":70000}}`, "symbol", `no symbol "NOSUCH"`},
		{"test_alert", `{"symbol":"BTCUSDT","condition":{"price_above":70000},"horizon":5}`, "horizon", `use symbol, condition`},
		{"test_alert", `{"symbol":"BTCUSDT","condition":{"price_above":70000,"price_below":3}}`, "condition", `several conditions are`},
		{"test_alert", `{"symbol":"BTCUSDT","condition":{"value":{"indicator":"rsi","params":{"length":0},"op":"<","value":30}}}`, "condition.value.params", `parameters inside indicator`},
		{"test_alert", `{"symbol":"BTCUSDT","from":"some day","condition":{"price_above":70000}}`, "from", `2026-01-31`},
		{"scan_symbols", `{"interval":"1h"}`, "symbols", `a list of symbols`},
		{"scan_symbols", `{"symbols":[],"interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":30}}}`, "symbols", `1 to 500 symbols`},
		{"scan_symbols", `{"symbols":["BTCUSDT"],"interval":"1h","condition":{"price_above":1}}`, "condition", `a condition on closed bars`},
		{"scan_symbols", `{"symbols":["BTCUSDT"],"interval":"2y","condition":{"value":{"indicator":"rsi","op":"<","value":30}}}`, "interval", `use 1m`},
		{"scan_symbols", `{"symbols":["BTCUSDT","BTCUSDT"],"interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":30}}}`, "symbols", `each symbol once`},
		{"scan_symbols", `{"symbols":["BTCUSDT"],"interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":30}},"columns":["rsx"]}`, "columns.indicator", `did you mean "rsi"`},
		{"scan_symbols", `{"symbols":["BTCUSDT"],"interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":30}},"columns":["rsi"],"rank_by":"macd"}`, "rank_by", `one of the columns: rsi`},
		{"scan_symbols", `{"symbols":["BTCUSDT"],"interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":30}},"columns":[{"indicator":"macd","line":"MACD"},{"indicator":"macd","line":"Signal"}],"rank_by":"macd"}`, "rank_by", `one of the columns: macd MACD, macd Signal`},
		{"scan_symbols", `{"symbols":["BTCUSDT"],"interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":30}},"max_seconds":0}`, "max_seconds", `from 1 to 600`},
		{"scan_symbols", `{"symbols":[""],"interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":30}}}`, "symbols", `1 to 40 characters`},
		{"scan_symbols", `{"symbols":["BTC USDT"],"interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":30}}}`, "symbols", `did you mean BTCUSDT`},
		{"scan_symbols", `{"symbols":["BTCUSDT"],"interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":30}},"columns":["rsi","rsi","close","volume","macd","ema_stack","atr","adx"]}`, "columns", `each value once`},
		{"scan_symbols", `{"symbols":["BTCUSDT"],"interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":30}},"limit":-1}`, "limit", `from 1 to 100`},
		{"get_report", `{}`, "report_id", `in an answer of run_backtest`},
		{"get_report", `{"report_id":""}`, "report_id", `in an answer of run_backtest`},
		{"get_report", `{"report_id":"nope"}`, "report_id", `repeat the call`},
		{"get_report", `{"report_id":12}`, "report_id", `in an answer of run_backtest`},
		{"get_report", `{"report_id":"ID","part":"firings"}`, "part", `a part of this report`},
		{"get_report", `{"report_id":"ID","part":"chart"}`, "part", `use trades, equity`},
		{"get_report", `{"report_id":"ID","part":"trades","cursor":"zzz"}`, "cursor", `none for the first page`},
		{"get_report", `{"report_id":"ID","part":"trades","limit":100000}`, "limit", `from 1 to 500`},
		{"get_report", `{"report_id":"ID","part":"picture","theme":"blue"}`, "theme", `dark, light`},
		{"get_report", `{"report_id":"ID","part":"trades","theme":"light"}`, "theme", `it is for the part picture`},
		{"get_report", `{"report_id":"ID","part":"picture","limit":5}`, "limit", `it is for parts with rows`},
		{"get_report", `{"report_id":"ID","part":"trades","page":-3}`, "page", `use report_id`},
		{"get_report", `{"report_id":"ID","wait_seconds":900}`, "wait_seconds", `from 0 to 55`},
	} {
		result := call(t, r, m.tool, strings.Replace(m.arguments, `"ID"`, `"`+kept.ID+`"`, 1))
		var answer struct{ Message, Field string }
		if err := json.Unmarshal(result.Content[0].Text, &answer); err != nil || !result.IsError || answer.Field != m.field || !strings.Contains(answer.Message, m.remedy) {
			t.Errorf("%s %s: %v, %q, want %q about %q", m.tool, m.arguments, err, result.Content[0].Text, m.remedy, m.field)
		}
	}
}

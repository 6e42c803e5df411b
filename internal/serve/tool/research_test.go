package tool_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
)

// ask calls a tool of the set research and returns its answer as text.
func ask(t *testing.T, name, arguments string) (text string, failed bool) {
	t.Helper()
	result, err := tooltest.Extended(t, nil, tool.ResearchSet).Call(tooltest.Patient(t.Context()), caller(), name, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return string(result.Content[0].Text), result.IsError
}

const crossStrategy = `{"symbol":"BTCUSDT","interval":"1h","bars":1000,"script":"//@version=6\nstrategy(\"cross\", initial_capital=10000, default_qty_type=strategy.percent_of_equity, default_qty_value=100, commission_value=0.1)\nif ta.crossover(ta.sma(close, 5), ta.sma(close, 20))\n    strategy.entry(\"L\", strategy.long)\nif ta.crossunder(ta.sma(close, 5), ta.sma(close, 20))\n    strategy.close(\"L\")\n"}`

func TestRunBacktest_Answers(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string]string{
		"rules": `{"symbol":"BTCUSDT","interval":"1h","bars":1000,"long":{"enter":{"indicator_signal":{"indicator":"macd","signal":"cross_up"}},"exit":{"indicator_signal":{"indicator":"macd","signal":"cross_down"}},"stop_pct":2,"target_pct":4}}`,
		"both":  `{"symbol":"BTCUSDT","interval":"1h","bars":1000,"long":{"enter":{"value":{"indicator":"rsi","op":"<","value":40}},"max_bars":10},"short":{"enter":{"value":{"indicator":"rsi","op":">","value":60}},"max_bars":10},"quantity":0.5}`,
		"pine":  crossStrategy,
	} {
		text, failed := ask(t, "run_backtest", arguments)
		again, _ := ask(t, "run_backtest", arguments)
		var answer struct {
			RunID   string `json:"run_id"`
			Result  struct{ Trades int }
			Honesty struct{ Flags []string }
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || failed || answer.Result.Trades == 0 || len(answer.RunID) != 16 {
			t.Errorf("%s: %v %s", name, err, text)
		}
		if text != again {
			t.Errorf("%s: the same call has another answer:\n%s\n%s", name, text, again)
		}
		if slices.Contains(answer.Honesty.Flags, "repaints") || len(text) > 8000 {
			t.Errorf("%s: %d bytes, flags %v", name, len(text), answer.Honesty.Flags)
		}
	}
}

func TestRunBacktest_Refusals(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"symbol":"BTCUSDT"}`: "long, short or script",
		`{"symbol":"BTCUSDT","long":{"enter":{"value":{"indicator":"rsi","op":"<","value":30}}}}`:              "would never end",
		`{"symbol":"BTCUSDT","long":{"enter":{"price_above":3},"max_bars":3}}`:                                 "a condition on closed bars",
		`{"symbol":"BTCUSDT","script":"//@version=6\nindicator(\"x\")\nplot(close)"}`:                          "declare strategy()",
		`{"symbol":"BTCUSDT","script":"//@version=6\nstrategy(\"x\")\nplot(clos)"}`:                            "line 3",
		`{"symbol":"BTCUSDT","long":{"enter":{"value":{"indicator":"rsl","op":"<","value":30}},"max_bars":3}}`: "rsi",
	} {
		if text, failed := ask(t, "run_backtest", arguments); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %s", arguments, text)
		}
	}
}

func TestTestAlert_Answers(t *testing.T) {
	t.Parallel()
	for _, condition := range []string{
		`{"indicator_signal":{"indicator":"macd","signal":"cross_up"}}`,
		`{"all":[{"value":{"indicator":"rsi","op":"<","value":50}},{"value":{"price":"close","op":">","value":{"indicator":"sma20"}}}]}`,
	} {
		text, failed := ask(t, "test_alert", `{"symbol":"BTCUSDT","interval":"1h","bars":1000,"condition":`+condition+`}`)
		var answer struct {
			Firings int
			Forward []struct{ Bars int }
			Reading string
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || failed || len(answer.Forward) != 5 || answer.Reading == "" {
			t.Errorf("%s: %v %s", condition, err, text)
		}
		if len(text) > 8000 {
			t.Errorf("%d bytes", len(text))
		}
	}
}

// TestTestAlert_APriceConditionHasItsBars holds that a condition on trades is tested on the bars of the interval that is given.
func TestTestAlert_APriceConditionHasItsBars(t *testing.T) {
	t.Parallel()
	r := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tooltest.Sets()...)
	for _, interval := range []string{"1h", "4h"} {
		result := call(t, r, "test_alert", `{"symbol":"BTCUSDT","interval":"`+interval+`","bars":500,"condition":{"price_above":70000}}`)
		if text := string(result.Content[0].Text); result.IsError || !strings.Contains(text, `"interval":"`+interval+`"`) {
			t.Errorf("%.400s", text)
		}
	}
}

// TestBeta_OfItsOwnSymbolNamesAnother holds that beta by name on the symbol that it compares with by default says what to write.
func TestBeta_OfItsOwnSymbolNamesAnother(t *testing.T) {
	t.Parallel()
	result := call(t, tooltest.Registry(t, nil), "get_indicators", `{"symbol":"BTCUSDT","indicators":["beta"]}`)
	if text := string(result.Content[0].Text); !result.IsError || !strings.Contains(text, `{\"name\":\"beta\",\"symbol\":\"ETHUSDT\"}`) {
		t.Errorf("%.400s", text)
	}
}

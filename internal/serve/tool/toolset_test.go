package tool_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"candela/internal/kit/principal"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
)

func names(r *tool.Registry) []string {
	var all []string
	for _, each := range r.Tools() {
		all = append(all, each.Name)
	}
	return all
}

func TestToolsets_AddTheirTools(t *testing.T) {
	t.Parallel()
	always := names(tooltest.Registry(t, nil))
	if got := names(tooltest.Extended(t, nil)); !slices.Equal(got, always) {
		t.Errorf("without a set: %v", got)
	}
	for _, set := range tooltest.Sets() {
		got := names(tooltest.Extended(t, nil, set))
		if added := slices.Sorted(slices.Values(got[len(always):])); !slices.Equal(got[:len(always)], always) || !slices.Equal(added, tooltest.InSet(set)) {
			t.Errorf("%s: %v", set, got)
		}
	}
	all := names(tooltest.Extended(t, nil, tooltest.Sets()...))
	if len(all) != len(always)+len(tooltest.Extra()) || !slices.Equal(all[:len(always)], always) {
		t.Errorf("all sets: %v", all)
	}
	// A tool of a set that is off is unknown, as any other name.
	if _, err := tooltest.Extended(t, nil).Call(t.Context(), caller(), "find_symbols", json.RawMessage(`{"query":"btc"}`)); err == nil {
		t.Error("find_symbols runs without its set")
	}
}

// TestToolsets_Scopes calls the tools of the sets with every scope, with and without
// trading.
func TestToolsets_Scopes(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"find_symbols": `{"query":"bitcoin"}`, "get_account": `{}`,
		"run_backtest": `{"symbol":"BTCUSDT","bars":300,"long":{"enter":{"indicator_signal":{"indicator":"macd","signal":"cross_up"}},"max_bars":5}}`,
		"check_script": `{"source":"//@version=6\nindicator('x')\nplot(close)"}`, "delete_script": `{"name":"kept"}`,
		"save_script":        `{"name":"mine","source":"//@version=6\nindicator('x')\nplot(close)"}`,
		"scan_symbols":       `{"symbols":["BTCUSDT","AAPL"],"columns":["rsi"]}`,
		"propose_deployment": `{"name":"x","symbol":"BTCUSDT"}`, "list_deployments": `{}`, "get_deployment": `{"deployment_id":"x"}`, "stop_deployment": `{"deployment_id":"x"}`,
		"list_drawings": `{}`, "set_drawing": `{"symbol":"BTCUSDT","type":"level","price":70000}`, "delete_drawing": `{"symbol":"BTCUSDT","drawing_id":"d-1"}`,
		"test_alert": `{"symbol":"BTCUSDT","bars":300,"condition":{"indicator_signal":{"indicator":"macd","signal":"cross_up"}}}`,
	}
	registry := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tooltest.Sets()...)
	apart := tooltest.Extended(t, nil, tooltest.Sets()...)
	for _, r := range []*tool.Registry{registry, apart} {
		made := string(call(t, r, "scan_symbols", good["scan_symbols"]).Content[0].Text)
		_, id, _ := strings.Cut(made, `"report_id":"`)
		good["get_report"] = `{"part":"rows","report_id":"` + id[:16] + `"}`
	}
	for name, need := range tooltest.Extra() {
		for _, has := range allScopes() {
			for _, arguments := range []string{good[name], `{"no_such_argument":1}`} {
				result, err := registry.Call(t.Context(), withScope(has), name, json.RawMessage(arguments))
				if err != nil {
					t.Fatal(err)
				}
				if got := refused(t, result, name, need, has); got != (has < need) {
					t.Errorf("%s with %s, needs %s: refused is %v", name, has, need, got)
				}
				off := slices.Contains(tooltest.InSet(tool.StrategiesSet), name) // none run here
				if has >= need && arguments == good[name] && (result.IsError != off || off && !strings.Contains(string(result.Content[0].Text), "strategies_off")) {
					t.Errorf("%s: %s", name, result.Content[0].Text)
				}
			}
		}
		result, err := apart.Call(t.Context(), withScope(principal.Charts), name, json.RawMessage(good[name]))
		if err != nil || result.IsError != (name == "get_account" || name == "get_trades" || slices.Contains(tooltest.InSet(tool.StrategiesSet), name) || slices.Contains(tooltest.InSet(tool.DrawingsSet), name)) {
			t.Errorf("%s without trading: %s, %v", name, result.Content[0].Text, err)
		}
	}
}

func TestFindSymbols(t *testing.T) {
	t.Parallel()
	trading := (&tooltest.Trading{}).Parts()
	registry := tooltest.Extended(t, trading, tool.MarketSet)
	for arguments, want := range map[string]string{
		`{"query":"bitcoin","limit":2}`:                `{"symbols":[{"symbol":"BTCUSDT","venue":"binance","name":"Bitcoin","kind":"crypto","quote":"USDT","chart":true,"trade":true},{"symbol":"BTC-USD","venue":"yahoo","name":"Bitcoin","kind":"crypto","quote":"USD","chart":true,"trade":true}],"total":`,
		`{"query":"btc perp","limit":1}`:               `"symbol":"BTCUSDT.P","venue":"binance","name":"Bitcoin perpetual","kind":"perpetual","quote":"USDT","chart":true,"trade":true`,
		`{"query":"btc","venue":"Coinbase","limit":1}`: `"symbol":"coinbase:BTC-USD"`,
		`{"query":"S&P 500","kind":"index"}`:           `{"symbols":[{"symbol":"^GSPC","venue":"yahoo","name":"S\u0026P 500"`,
		`{"query":"qwertyuiop"}`:                       `{"symbols":[],"total":0}`,
		`{"query":"bitcoin","venue":"nowhere"}`:        `one of binance, yahoo, coinbase`,
		`{"query":"bitcoin","kind":"coin"}`:            `crypto, perpetual, stock, fund`,
		`{}`:                                           `query is required`,
		`{"query":"bitcoin","limit":51}`:               `from 1 to 50`,
	} {
		text := string(call(t, registry, "find_symbols", arguments).Content[0].Text)
		if !strings.Contains(text, strings.ReplaceAll(want, `\u0026`, `&`)) && !strings.Contains(text, want) {
			t.Errorf("%s: %s", arguments, text)
		}
	}
	if text := string(call(t, tooltest.Extended(t, nil, tool.MarketSet), "find_symbols", `{"query":"apple"}`).Content[0].Text); !strings.Contains(text, `"chart":true,"trade":false`) {
		t.Errorf("without trading: %s", text)
	}
}

func TestGetAccount(t *testing.T) {
	t.Parallel()
	registry := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tool.AccountSet)
	text := string(call(t, registry, "get_account", `{}`).Content[0].Text)
	for _, want := range []string{
		`"mode":"paper","broker":"paper","trading_state":"ACTIVE"`,
		`"cash":[{"asset":"USDT","quantity":"100","available":"90","worth":"100"}]`,
		`"holdings":[{"symbol":"BTCUSDT","venue":"test","quantity":"3","available":"3","worth":"6"},{"asset":"XYZ","quantity":"1","available":"1","worth":null}]`,
		`"equity":"106","equity_leaves_out":["XYZ"],"day_loss":"12.5"`,
		`{"rule":"max_daily_loss","limit":"1000","used":"12.5","left":"987.5"}`,
		`{"rule":"max_order_notional","limit":"10000","denies":"An order worth more than this`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if len(text) > 6000 {
		t.Errorf("%d bytes", len(text))
	}
	if text := string(call(t, registry, "get_balance", `{}`).Content[0].Text); !strings.Contains(text, "use get_account") {
		t.Errorf("get_balance beside get_account: %s", text)
	}
	if text := string(call(t, tooltest.Registry(t, nil), "get_balance", `{}`).Content[0].Text); !strings.Contains(text, "--toolsets account") {
		t.Errorf("get_balance alone: %s", text)
	}
}

// A tool of a set that is off is named with its set, also where another name asks for it.
func TestCall_UnknownToolNamesTheSetThatHasIt(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"save_script": "save_script is a tool of the set scripts, which is off: the owner starts candela with --toolsets scripts.",
		"backtest":    "Use run_backtest. run_backtest is a tool of the set research",
		"make_charts": "Use generate_chart.",
	} {
		_, err := tooltest.Registry(t, nil).Call(t.Context(), caller(), name, json.RawMessage(`{}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

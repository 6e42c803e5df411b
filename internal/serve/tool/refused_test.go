package tool_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"candela/internal/serve/tool/tooltest"
)

// ran is what these tests read of a back-test.
type ran struct {
	Result struct {
		Net    float64
		Trades int
		Open   float64 `json:"open_profit"`
	}
	NoTrades string `json:"no_trades"`
	Honesty  struct {
		Flags   []string
		Refused string
	}
	Data struct {
		Warmup int `json:"warmup_bars"`
	}
	Assumptions string
	Sweep       struct {
		Chosen map[string]float64
	}
	LastTrades []struct{ Quantity float64 } `json:"last_trades"`
}

// backtestOf runs a script over 1,000 hours with more arguments.
func backtestOf(t *testing.T, script, more string) (ran, string) {
	t.Helper()
	source, _ := json.Marshal(script)
	text, failed := ask(t, "run_backtest", fmt.Sprintf(`{"symbol":"BTCUSDT","interval":"1h","bars":1000,"script":%s%s}`, source, more))
	var out ran
	if err := json.Unmarshal([]byte(text), &out); err != nil || failed {
		t.Fatalf("%v %.600s", err, text)
	}
	return out, text
}

const crossBody = `
f = input.int(5, "Fast length")
if ta.crossover(ta.sma(close, f), ta.sma(close, 20))
    strategy.entry("L", strategy.long)
if ta.crossunder(ta.sma(close, f), ta.sma(close, 20))
    strategy.close("L")
`

// TestRunBacktest_NoTradesHaveTheirReason holds that a strategy without trades says why, with figures.
func TestRunBacktest_NoTradesHaveTheirReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want, flag string }{
		"margin":    {"//@version=6\nstrategy(\"x\", initial_capital=10)" + crossBody, "refused: margin; the first needed ", "refused_margin"},
		"too small": {"//@version=6\nstrategy(\"x\", default_qty_type=strategy.cash, default_qty_value=0.000001)" + crossBody, "refused: too small; the first was of ", "refused_too_small"},
		"never":     {"//@version=6\nstrategy(\"x\")\nif close < 0\n    strategy.entry(\"L\", strategy.long)\n", "nothing was ordered at any of 1,000 bars", "few_trades"},
		"no price":  {"//@version=6\nstrategy(\"x\", initial_capital=1000000)\nstrategy.entry(\"L\", strategy.long, limit=1)\n", "at a price which no bar reached", "few_trades"},
		"held":      {"//@version=6\nstrategy(\"x\", initial_capital=100000000)\nstrategy.entry(\"L\", strategy.long)\n", "nothing has closed the 1 position that is open since ", "few_trades"},
		"withdrawn": {"//@version=6\nstrategy(\"x\", initial_capital=100000000)\nstrategy.entry(\"L\", strategy.long)\nstrategy.cancel_all()\n", "withdrawn before the next open", "few_trades"},
		"risk":      {"//@version=6\nstrategy(\"x\", initial_capital=100000000)\nstrategy.risk.allow_entry_in(strategy.direction.short)\nstrategy.entry(\"L\", strategy.long)\n", "refused by the script's own rules of risk", "few_trades"},
	} {
		got, text := backtestOf(t, c.script, "")
		if got.Result.Trades != 0 || !strings.Contains(got.NoTrades, c.want) || !slices.Contains(got.Honesty.Flags, c.flag) {
			t.Errorf("%s: %q, flags %v\n%.900s", name, got.NoTrades, got.Honesty.Flags, text)
		}
	}
	if got, _ := backtestOf(t, "//@version=6\nstrategy(\"x\", initial_capital=10000)"+crossBody, `,"capital":1000000`); got.Result.Trades == 0 || got.NoTrades != "" {
		t.Errorf("with more capital: %+v", got)
	}
}

// TestRunBacktest_TakesInputsOfAScript holds that inputs have the effect of the same script with other defaults.
func TestRunBacktest_TakesInputsOfAScript(t *testing.T) {
	t.Parallel()
	const head = "//@version=6\nstrategy(\"x\", initial_capital=10000000)"
	other, _ := backtestOf(t, head+strings.Replace(crossBody, "input.int(5", "input.int(9", 1), "")
	for _, name := range []string{"f", "fast_length"} {
		if got, _ := backtestOf(t, head+crossBody, `,"inputs":{"`+name+`":9}`); got.Result != other.Result {
			t.Errorf("%s: %+v, want %+v", name, got.Result, other.Result)
		}
	}
	if got, _ := backtestOf(t, head+"\nslow = input.int(20)"+crossBody, `,"inputs":{"slow":30},"sweep":{"fast_length":[4,6]}`); len(got.Sweep.Chosen) != 1 {
		t.Errorf("%+v", got.Sweep)
	}
	source, _ := json.Marshal(head + crossBody)
	for more, want := range map[string]string{
		`"inputs":{"fst":9}`:                   "inputs.fst",
		`"inputs":{"f":"x"}`:                   "inputs.f",
		`"inputs":{"f":9},"sweep":{"f":[4,6]}`: "whose values sweep has",
		`"inputs":[9]`:                         "an object of inputs",
	} {
		if text, failed := ask(t, "run_backtest", fmt.Sprintf(`{"symbol":"BTCUSDT","interval":"1h","bars":1000,"script":%s,%s}`, source, more)); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %.400s", more, text)
		}
	}
	if text, failed := ask(t, "run_backtest", `{"symbol":"BTCUSDT","inputs":{"f":9},"long":{"enter":{"value":{"indicator":"rsi","op":"<","value":30}},"max_bars":3}}`); !failed || !strings.Contains(text, "a call with script") {
		t.Errorf("%.400s", text)
	}
}

// TestRunBacktest_ACallReplacesWhatAScriptDeclares holds that capital, sizes and costs of the call count.
func TestRunBacktest_ACallReplacesWhatAScriptDeclares(t *testing.T) {
	t.Parallel()
	got, _ := backtestOf(t, "//@version=6\nstrategy(\"x\", initial_capital=5000, slippage=3, commission_value=0.5)"+crossBody, `,"capital":1e7,"fee_bps":20,"slip_bps":7,"quantity":2`)
	if !strings.Contains(got.Assumptions, "capital 10,000,000.00, commission 0.2 % a side, slippage 0.07 % and 0 ticks") || len(got.LastTrades) == 0 || got.LastTrades[0].Quantity != 2 {
		t.Errorf("%+v", got)
	}
}

// TestRunBacktest_AScriptSeesBarsBeforeItTrades holds that indicators have their history at the first bar, that
// no bar is hidden, and that a script that orders at its first bar does.
func TestRunBacktest_AScriptSeesBarsBeforeItTrades(t *testing.T) {
	t.Parallel()
	got, _ := backtestOf(t, "//@version=6\nstrategy(\"x\", initial_capital=10000000)"+crossBody, "")
	if got.Data.Warmup != 1500 || slices.Contains(got.Honesty.Flags, "depends_on_start") {
		t.Errorf("%+v", got)
	}
	first, _ := backtestOf(t, "//@version=6\nstrategy(\"x\", initial_capital=10000000)\nif barstate.isfirst\n    strategy.entry(\"L\", strategy.long)\nif bar_index == 998\n    strategy.close(\"L\")\n", "")
	if first.Data.Warmup != 0 || first.Result.Trades != 1 {
		t.Errorf("%+v", first)
	}
}

// TestScripts_HaveOneLimitOfSize holds that what one tool takes the others take.
func TestScripts_HaveOneLimitOfSize(t *testing.T) {
	t.Parallel()
	long := "//@version=6\nstrategy(\"x\", initial_capital=10000000)" + crossBody + strings.Repeat("// 0123456789\n", 15_000)
	if got, _ := backtestOf(t, long, ""); got.Result.Trades == 0 {
		t.Errorf("%+v", got)
	}
	r := tooltest.Extended(t, nil, tooltest.Sets()...)
	source, _ := json.Marshal(long)
	if result := call(t, r, "check_script", `{"source":`+string(source)+`}`); result.IsError {
		t.Errorf("%.400s", result.Content[0].Text)
	}
}

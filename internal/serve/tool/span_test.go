package tool_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/work/research"
	"candela/lib/chart"
)

// spanOf runs a back-test and returns its id and the bars that it was about.
func spanOf(t *testing.T, r *tool.Registry, more string) (id, from, to string, bars int) {
	t.Helper()
	var a struct {
		RunID string `json:"run_id"`
		Data  struct {
			Bars     int
			From, To string
		}
	}
	arguments := `{"symbol":"BTCUSDT","interval":"1h","long":{"enter":{"value":{"indicator":"rsi","op":"<","value":40}},"max_bars":10}` + more + `}`
	if err := json.Unmarshal(call(t, r, "run_backtest", arguments).Content[0].Text, &a); err != nil {
		t.Fatal(err)
	}
	return a.RunID, a.Data.From, a.Data.To, a.Data.Bars
}

func TestRunBacktest_FromTo(t *testing.T) {
	t.Parallel()
	r := tooltest.Extended(t, nil, tool.ResearchSet)
	_, first, last, bars := spanOf(t, r, `,"bars":400`)
	if bars != 400 {
		t.Fatal(bars)
	}
	_, from, to, n := spanOf(t, r, fmt.Sprintf(`,"from":%q,"to":%q`, first, last))
	if from != first || to != last || n != bars {
		t.Errorf("%d bars from %s to %s, want %d from %s to %s", n, from, to, bars, first, last)
	}
	for more, want := range map[string]string{
		fmt.Sprintf(`,"from":%q,"to":%q`, last, first): "a time before to",
		fmt.Sprintf(`,"from":%q`, last):                "at least 100 are needed",
		`,"from":"soon"`:                               "a date such as",
	} {
		text, failed := ask(t, "run_backtest", `{"symbol":"BTCUSDT","interval":"1h","long":{"enter":{"value":{"indicator":"rsi","op":"<","value":40}},"max_bars":10}`+more+`}`)
		if !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %s", more, text)
		}
	}
}

// TestRunBacktest_IDHoldsTheVersion holds that another program has other ids.
func TestRunBacktest_IDHoldsTheVersion(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, version := range []string{"1.0.0", "1.0.1", "1.0.0"} {
		charts := tooltest.Charts(waves{}, chart.NewRenderer(), nil)
		r, err := tool.New(tool.Config{Charting: charts, Research: research.New(research.Config{Charting: charts, Version: version}), Log: slog.New(slog.DiscardHandler), Toolsets: []string{tool.ResearchSet}})
		if err != nil {
			t.Fatal(err)
		}
		id, _, _, _ := spanOf(t, r, `,"bars":400`)
		ids[id] = true
	}
	if len(ids) != 2 {
		t.Errorf("%d ids for two versions", len(ids))
	}
}

const inputStrategy = `{"symbol":"BTCUSDT","interval":"1h","bars":1000,"script":"//@version=6\nstrategy(\"cross\", initial_capital=10000, default_qty_type=strategy.percent_of_equity, default_qty_value=100, commission_value=0.1)\nfast = input.int(5, \"Fast length\", minval=2)\nslow = input.int(20)\nif ta.crossover(ta.sma(close, fast), ta.sma(close, slow))\n    strategy.entry(\"L\", strategy.long)\nif ta.crossunder(ta.sma(close, fast), ta.sma(close, slow))\n    strategy.close(\"L\")\n"%s}`

// TestRunBacktest_SweepsInputs holds that a sweep of a script sets its inputs: the values of a
// trial give what the script gives with them as defaults.
func TestRunBacktest_SweepsInputs(t *testing.T) {
	t.Parallel()
	type answer struct {
		Sweep struct {
			Trials int
			Chosen map[string]float64
		}
		Result struct {
			Net    float64
			Trades int
		}
	}
	read := func(arguments string) (a answer) {
		text, failed := ask(t, "run_backtest", arguments)
		if err := json.Unmarshal([]byte(text), &a); err != nil || failed {
			t.Fatal(err, text)
		}
		return a
	}
	swept := read(fmt.Sprintf(inputStrategy, `,"sweep":{"Fast length":[3,8],"slow":[15,30,40]},"walk_forward":{"train":300,"test":100}`))
	if swept.Sweep.Trials != 6 || swept.Result.Trades == 0 {
		t.Fatalf("%+v", swept)
	}
	with := strings.NewReplacer("input.int(5,", fmt.Sprintf("input.int(%v,", swept.Sweep.Chosen["Fast length"]), "input.int(20)", fmt.Sprintf("input.int(%v)", swept.Sweep.Chosen["slow"]))
	if plain := read(with.Replace(fmt.Sprintf(inputStrategy, ""))); plain.Result != swept.Result {
		t.Errorf("%+v, want %+v", swept.Result, plain.Result)
	}
	for more, want := range map[string]string{
		`,"sweep":{"fas":[3,4]}`:                   "fast, slow",
		`,"sweep":{"fast":[3,4.5]}`:                "whole numbers",
		`,"sweep":{"fast":[1,4]}`:                  "at least 2",
		`,"sweep":{"$fast":[3,4]}`:                 "fast, slow",
		`,"sweep":{"fast":[3,3,4]}`:                "each once",
		`,"walk_forward":{"train":300,"test":100}`: "sweep",
	} {
		if text, failed := ask(t, "run_backtest", fmt.Sprintf(inputStrategy, more)); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %s", more, text)
		}
	}
}

// TestTestAlert_ByID holds that an alert that waits is tested as the condition it was set with.
func TestTestAlert_ByID(t *testing.T) {
	t.Parallel()
	const id, condition = "a-1", `"symbol":"BTCUSDT","condition":{"price_above":70000}`
	r := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tool.ResearchSet)
	byID := call(t, r, "test_alert", `{"bars":500,"alert_id":"`+id+`"}`)
	plain := call(t, r, "test_alert", `{"bars":500,`+condition+`}`)
	if string(byID.Content[0].Text) != string(plain.Content[0].Text) || byID.IsError {
		t.Errorf("%s\n%s", byID.Content[0].Text, plain.Content[0].Text)
	}
	for arguments, want := range map[string]string{
		`{"alert_id":"none"}`:                          "alert_not_found",
		`{"alert_id":"` + id + `","symbol":"BTCUSDT"}`: "alert_id, or symbol and condition",
		`{"symbol":"BTCUSDT"}`:                         "condition",
		`{"condition":{"price_above":1}}`:              "symbol",
	} {
		if result := call(t, r, "test_alert", arguments); !result.IsError || !strings.Contains(string(result.Content[0].Text), want) {
			t.Errorf("%s: %s", arguments, result.Content[0].Text)
		}
	}
}

// TestRunBacktest_PaperFills holds that the fill model changes what is filled and is named, and
// that what the paper account cannot do is refused.
func TestRunBacktest_PaperFills(t *testing.T) {
	t.Parallel()
	const plain = `{"symbol":"BTCUSDT","interval":"1h","bars":1000,"long":{"enter":{"value":{"indicator":"rsi","op":"<","value":40}},"stop_pct":1,"target_pct":1}`
	var answers []string
	for _, model := range []string{"pine", "paper"} {
		text, failed := ask(t, "run_backtest", plain+`,"fill_model":"`+model+`"}`)
		var a struct {
			FillModel   string `json:"fill_model"`
			Assumptions string
			RunID       string `json:"run_id"`
			Result      struct{ Net float64 }
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil || failed || a.FillModel != model || strings.Contains(a.Assumptions, "nothing is sold short") != (model == "paper") {
			t.Errorf("%v: %s", err, text)
		}
		answers = append(answers, fmt.Sprint(a.RunID, a.Result.Net))
	}
	if answers[0] == answers[1] {
		t.Error("both models have the same result")
	}
	for more, want := range map[string]string{
		`,"fill_model":"real"`:                 "pine, paper",
		`,"fill_model":"paper","size_pct":200`: "at most 100",
		`,"fill_model":"paper","short":{"enter":{"value":{"indicator":"rsi","op":">","value":60}},"max_bars":10}`: "nothing is lent",
	} {
		if text, failed := ask(t, "run_backtest", plain+more+`}`); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %s", more, text)
		}
	}
	late := strings.Replace(fmt.Sprintf(inputStrategy, `,"fill_model":"paper","fee_bps":20`), "commission_value=0.1", "process_orders_on_close=true", 1)
	text, failed := ask(t, "run_backtest", late)
	for _, want := range []string{`"fill_model":"paper"`, "commission 0.2 % a side, slippage 0.05 %", "ignores_process_orders_on_close"} {
		if failed || !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

package tool

import (
	"encoding/json"
	"reflect"
	"testing"

	"candela/lib/fault"
)

func TestWords_FlagsBuildTheRequestOfTheArguments(t *testing.T) {
	const side = `{"enter":{"new_high":{"bars":20}},"max_bars":5}`
	want, input := (&charts{}).declareBacktest()
	if err := input.decode(json.RawMessage(`{"symbol":"BTCUSDT","interval":"1h","long":` + side + `,"bars":500,"fee_bps":2.5,"from":"2026-01-31","fill_model":"paper","walk_forward":{"train":200,"test":50}}`)); err != nil {
		t.Fatal(err)
	}
	got, input := (&charts{}).declareBacktest()
	err := input.readWords([]Word{
		{Name: "bars", JSON: json.RawMessage(`100`)},
		{Name: "long", JSON: json.RawMessage(side)},
		{Name: "short", JSON: json.RawMessage(`null`)},
		{Name: "bars", Text: "500"},
		{Name: "fee_bps", Text: "2.5"},
		{Name: "from", Text: "2026-01-31"},
		{Name: "fill_model", Text: "paper"},
		{Name: "walk_forward", JSON: json.RawMessage(`{"train":200,"test":50}`)},
		{Name: "symbol", Text: "BTCUSDT"},
		{Name: "interval", Text: "1h"},
	})
	want.Rules.Read, got.Rules.Read = nil, nil
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("flags build %+v, %v; the arguments build %+v", got, err, want)
	}
}

func TestWords_ListsAreWordsBetweenCommasAndSpaces(t *testing.T) {
	r, input := (&charts{}).declareScan()
	if err := input.readWords([]Word{{Name: "symbols", Text: "BTCUSDT, ETHUSDT\nAAPL"}, {Name: "columns", Text: "rsi,close"}}); err != nil || len(r.Symbols) != 3 || len(r.Columns) != 2 {
		t.Errorf("%v, %v, %v", r.Symbols, r.Columns, err)
	}
}

func TestWords_RefusesWhatTheArgumentsRefuse(t *testing.T) {
	for name, words := range map[string][]Word{
		"text for a number":   {{Name: "bars", Text: "x"}},
		"number out of range": {{Name: "bars", Text: "5"}},
		"unknown argument":    {{Name: "lang", JSON: json.RawMessage(`1`)}},
		"no symbol":           {{Name: "bars", Text: "500"}},
	} {
		if _, err := BacktestOf((&charts{}).library, words); fault.Of(err) == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

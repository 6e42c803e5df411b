package tool_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
)

// TestGetReport_PagesHoldEveryTrade reads all pages of a back-test, each below 2,000 tokens.
func TestGetReport_PagesHoldEveryTrade(t *testing.T) {
	t.Parallel()
	r := tooltest.Extended(t, nil, tool.ResearchSet)
	var run struct {
		ReportID string `json:"report_id"`
		Result   struct{ Trades int }
	}
	made := call(t, r, "run_backtest", crossStrategy)
	if err := json.Unmarshal(made.Content[0].Text, &run); err != nil || run.Result.Trades < 20 {
		t.Fatal(err, string(made.Content[0].Text))
	}
	for part, want := range map[string]int{"trades": run.Result.Trades, "equity": 1000, "months": 0} {
		rows, cursor := 0, ""
		for {
			arguments := `{"report_id":"` + run.ReportID + `","part":"` + part + `","limit":500` + cursor + `}`
			text := call(t, r, "get_report", arguments).Content[0].Text
			var page struct {
				Total int
				Rows  [][]any
				More  *struct{ Cursor string }
			}
			if err := json.Unmarshal(text, &page); err != nil || len(text) > 8000 || len(page.Rows) == 0 {
				t.Fatalf("%s: %v, %d bytes: %.300s", part, err, len(text), text)
			}
			if rows += len(page.Rows); page.More == nil {
				if rows != page.Total || want > 0 && rows != want {
					t.Errorf("%s: %d of %d rows, want %d", part, rows, page.Total, want)
				}
				break
			}
			cursor = `,"cursor":"` + page.More.Cursor + `"`
		}
	}
	for _, theme := range []string{"dark", "light"} {
		picture := call(t, r, "get_report", `{"report_id":"`+run.ReportID+`","part":"picture","theme":"`+theme+`"}`)
		if !bytes.HasPrefix(picture.Content[0].Image, []byte("\x89PNG")) {
			t.Errorf("%s: no picture", theme)
		}
	}
	for arguments, want := range map[string]string{
		`{"report_id":"nothing"}`:                                          "unknown_report",
		`{"report_id":"` + run.ReportID + `","part":"firings"}`:            "trades, equity, months, picture",
		`{"report_id":"` + run.ReportID + `","part":"no"}`:                 "firings",
		`{"report_id":"` + run.ReportID + `","cursor":"Z2V0X3JlcG9ydCB4"}`: "cursor",
	} {
		result, err := r.Call(t.Context(), caller(), "get_report", json.RawMessage(arguments))
		if err != nil || !result.IsError || !strings.Contains(string(result.Content[0].Text), want) {
			t.Errorf("%s: %v %s", arguments, err, result.Content[0].Text)
		}
	}
}

func TestRunBacktest_Pictures(t *testing.T) {
	t.Parallel()
	r := tooltest.Extended(t, nil, tool.ResearchSet)
	for format, items := range map[string]int{"png": 1, "both": 2} {
		result := call(t, r, "run_backtest", strings.Replace(crossStrategy, `{`, `{"format":"`+format+`",`, 1))
		if len(result.Content) != items || result.Content[0].MIME != "image/png" || result.Structured != nil {
			t.Errorf("%s: %d items", format, len(result.Content))
		}
	}
}

// TestRunBacktest_AWholeEquityIsNotSoldAtOnce holds that costs and a move until the fill do
// not turn a position of the whole equity into margin calls.
func TestRunBacktest_AWholeEquityIsNotSoldAtOnce(t *testing.T) {
	t.Parallel()
	r := tooltest.Extended(t, nil, tool.ResearchSet)
	made := call(t, r, "run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":1500,"slip_bps":50,"long":{"enter":{"indicator_signal":{"indicator":"macd","signal":"cross_up"}},"exit":{"indicator_signal":{"indicator":"macd","signal":"cross_down"}}}}`)
	if text := string(made.Content[0].Text); strings.Contains(text, "Margin") {
		t.Error(text)
	}
}

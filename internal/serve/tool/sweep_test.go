package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
)

const sweptRules = `"symbol":"BTCUSDT","interval":"1h","bars":2000,"long":{"enter":{"value":{"indicator":{"name":"rsi","length":"$len"},"op":"<","value":"$low"}},"stop_pct":"$stop","max_bars":10}`

// TestRunBacktest_Sweeps holds that a sweep answers within 2,000 tokens, counts its trials
// over calls, keeps all of them in the report and does not look at the newest bars.
func TestRunBacktest_Sweeps(t *testing.T) {
	t.Parallel()
	r := tooltest.Extended(t, nil, tool.ResearchSet)
	arguments := `{` + sweptRules + `,"sweep":{"len":[7,14,21],"low":[30,40],"stop":[1,2.5]},"walk_forward":{"train":600,"test":200}}`
	var a struct {
		ReportID string `json:"report_id"`
		Sweep    struct {
			Trials int
			Chosen map[string]float64
			OOS    struct{ From string } `json:"out_of_sample"`
			Walk   struct{ Folds int }   `json:"walk_forward"`
		}
		Honesty struct{ Trials string }
	}
	read := func() string {
		text := call(t, r, "run_backtest", arguments).Content[0].Text
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	text := read()
	if a.Sweep.Trials != 12 || len(a.Sweep.Chosen) != 3 || a.Sweep.OOS.From == "" || a.Sweep.Walk.Folds != 7 || len(text) > 8000 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	if !strings.HasPrefix(a.Honesty.Trials, "12 in this call, 12 of such rules") {
		t.Error(a.Honesty.Trials)
	}
	if read(); !strings.HasPrefix(a.Honesty.Trials, "12 in this call, 24 of such rules") {
		t.Error(a.Honesty.Trials)
	}
	for part, rows := range map[string]int{"trials": 12, "folds": 7} {
		var page struct{ Total int }
		if err := json.Unmarshal(call(t, r, "get_report", `{"report_id":"`+a.ReportID+`","part":"`+part+`"}`).Content[0].Text, &page); err != nil || page.Total != rows {
			t.Errorf("%s: %d rows, %v", part, page.Total, err)
		}
	}
}

func TestRunBacktest_SweepRefusals(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]string{
		`,"sweep":{"len":[7]}`: "2 to 1000 combinations",
		`,"sweep":{"len":[7,8],"low":[30],"stop":[1],"other":[1]}`:                              "$other",
		`,"sweep":{"len":[7,"x"]}`:                                                              "numbers",
		`,"sweep":{"len":[7,8],"low":[30],"stop":[1,400]}`:                                      "stop_pct",
		`,"walk_forward":{"train":600,"test":200}`:                                              "sweep",
		`,"sweep":{"len":[7,8],"low":[30],"stop":[1]},"walk_forward":{"train":1900,"test":200}`: "fit into 2000",
		``: "$stop",
	} {
		if text, failed := ask(t, "run_backtest", `{`+sweptRules+more+`}`); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %s", more, text)
		}
	}
}

package app

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"candela/internal/testkit/longtest"
	"candela/lib/ta"
)

// lineAt is a line of an indicator in a chart: its value at a closed bar at which it changed.
type lineAt struct {
	name, line string
	value      json.Number
	bar        time.Time // when it opened
	ago        int       // closed bars since
}

// TestEvidence_ChartAlertAndBacktestHaveTheSameBits takes the value of each line that may be claimed from a chart, at a bar at which it changed. A condition
// that it is not below and not above that number is true there in evidence, fires there as an alert, and enters at the next bar in a back-test.
func TestEvidence_ChartAlertAndBacktestHaveTheSameBits(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "--policy", ownPolicy(t, "max_orders_per_minute = \"none\"\nmax_evidence_age = \"none\"\n"))
	lines, indicators := 0, 0
	for i, def := range ta.All() {
		if !longtest.On() && i%5 != 0 || len(def.Lines) == 0 {
			continue
		}
		for range 2 { // an hour may begin between two calls, and not twice
			hour := time.Now().UTC().Truncate(time.Hour)
			all := chartLines(t, p, def.Name, def.Lines)
			var wrong []string
			for _, l := range all {
				wrong = append(wrong, l.differs(t, p)...)
			}
			if len(wrong) == 0 {
				lines += len(all)
				indicators += min(len(all), 1)
				break
			}
			if time.Now().UTC().Truncate(time.Hour).Equal(hour) {
				for _, one := range wrong {
					t.Error(one)
				}
				break
			}
		}
	}
	if want := longtest.Pick(30, 200); lines < want {
		t.Errorf("only %d lines have values, want %d", lines, want)
	}
	t.Logf("%d lines of %d indicators", lines, indicators)
}

// chartLines returns the lines of an indicator in a chart that changed at a closed bar some bars ago.
func chartLines(t *testing.T, p *program, name string, lines []string) (found []lineAt) {
	t.Helper()
	text, failed := p.call("generate_chart", fmt.Sprintf(`{"symbol":"BTCUSDT","interval":"1h","bars":98,"format":"series","indicators":[%q]}`, name))
	var got struct {
		Bars []struct {
			T int64 `json:"t"`
		} `json:"bars"`
		Indicators map[string]struct {
			Lines []struct {
				Label  string         `json:"label"`
				Values []*json.Number `json:"values"`
			} `json:"lines"`
		} `json:"indicators"`
	}
	if failed { // it has none without data of another kind
		return nil
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%s: %v: %.500s", name, err, text)
	}
	newest := len(got.Bars) - 2 // the last one runs
	for _, l := range got.Indicators[name].Lines {
		if !slices.Contains(lines, l.Label) || !mayBeClaimed(name, l.Label) {
			continue
		}
		for n := newest - 3; n > 0; n-- { // a back-test enters and leaves after it
			if now, before := l.Values[n], l.Values[n-1]; now != nil && before != nil && *now != *before {
				found = append(found, lineAt{name, l.Label, *now, time.Unix(got.Bars[n].T, 0).UTC(), newest - n})
				break
			}
		}
	}
	return found
}

// differs says what has another value than the chart.
func (l lineAt) differs(t *testing.T, p *program) (wrong []string) {
	t.Helper()
	compare := func(op string) string {
		return fmt.Sprintf(`{"value":{"indicator":%q,"line":%q,"op":%q,"value":%s}}`, l.name, l.line, op, l.value)
	}
	type firing struct{ Time time.Time }
	type trade struct{ In time.Time }
	same := `"all":[` + compare(">=") + "," + compare("<=") + "]"
	const where = `"symbol":"BTCUSDT","interval":"1h","bars":100`
	say := func(what, text string) {
		wrong = append(wrong, fmt.Sprintf("%s %s is %s at %s in a chart; %s: %.700s", l.name, l.line, l.value, l.bar, what, text))
	}
	text, _ := p.call("place_order", fmt.Sprintf(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"dry_run":true,"because":[{"interval":"1h","within_bars":%d,%s}]}`, l.ago+1, same))
	var order struct{ Evidence []claim }
	if err := json.Unmarshal([]byte(text), &order); err != nil || len(order.Evidence) != 1 || order.Evidence[0].True == nil || !*order.Evidence[0].True {
		say("not in evidence", text)
	}
	text, _ = p.call("test_alert", "{"+where+`,"condition":{`+same+"}}")
	var alert struct{ Last []firing }
	if err := json.Unmarshal([]byte(text), &alert); err != nil || !slices.ContainsFunc(alert.Last, func(f firing) bool { return f.Time.Equal(l.bar) }) {
		say("no alert fires there", text)
	}
	text, _ = p.call("run_backtest", fmt.Sprintf(`{%s,"to":%q,"entry":{%s},"exit":{"value":{"price":"close","op":">","value":0}}}`, where, l.bar.Add(4*time.Hour).Format(time.RFC3339), same))
	var tested struct {
		Trades []trade `json:"last_trades"`
	}
	if err := json.Unmarshal([]byte(text), &tested); err != nil || !slices.ContainsFunc(tested.Trades, func(f trade) bool { return f.In.Equal(l.bar.Add(time.Hour)) }) {
		say("no back-test enters at the next bar", text)
	}
	return wrong
}

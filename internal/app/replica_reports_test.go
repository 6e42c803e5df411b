package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	fakebinance "candela/internal/testkit/fake/binance"
)

// TestReplicas_AReportIsFoundAtAny makes a report at one replica and reads it at both: every part, the picture and every refusal is the
// same. Without the replica that has it, the answer is that for an unknown report.
func TestReplicas_AReportIsFoundAtAny(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	c := newCast(t, "--trade", "--binance-url", venue.URL, "--toolsets", "research")
	has, other := c.start(), c.start()
	token := has.Token()
	made := use(t, has.url, token, "run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":500,"entry":{"indicator":"rsi","crosses_above":30},"exit":{"indicator":"rsi","crosses_below":70}}`)
	_, rest, _ := strings.Cut(made, `"report_id":"`)
	id, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatal(made)
	}
	read := func(r *replica, arguments string) string {
		t.Helper()
		_, text := ask(t, http.MethodPost, r.url+"/mcp", token, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_report","arguments":%s}}`, arguments))
		return text
	}
	for _, arguments := range []string{
		`{"report_id":"` + id + `"}`, `{"report_id":"` + id + `","limit":1}`, `{"report_id":"` + id + `","part":"equity"}`,
		`{"report_id":"` + id + `","part":"picture","theme":"light"}`, `{"report_id":"` + id + `","part":"folds"}`, `{"report_id":"nope"}`,
	} {
		here, there := read(has, arguments), read(other, arguments)
		if here != there {
			t.Errorf("%s\nhere:  %.400s\nthere: %.400s", arguments, here, there)
		}
		if strings.Contains(here, "unknown_report") != strings.Contains(arguments, "nope") {
			t.Errorf("%s: %.400s", arguments, here)
		}
	}
	running := use(t, has.url, token, "scan_symbols", `{"symbols":["BTCUSDT"],"columns":["close"],"wait_seconds":0}`)
	if _, rest, long := strings.Cut(running, `"report_id":"`); long && strings.Contains(running, `running`) {
		run, _, _ := strings.Cut(rest, `"`)
		if text := read(other, `{"report_id":"`+run+`","wait_seconds":55}`); !strings.Contains(text, `"complete":true`) {
			t.Errorf("a run of the other replica: %s", text)
		}
	}
	has.stop()
	if text := read(other, `{"report_id":"`+id+`"}`); !strings.Contains(text, "unknown_report") {
		t.Errorf("without the replica: %s", text)
	}
}

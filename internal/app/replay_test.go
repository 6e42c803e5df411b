package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplay_SaysItsTimeAndItsEnd sets alerts in a replay: with an end that is yet to come only there, and after the last bar
// was played.
func TestReplay_SaysItsTimeAndItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var bars strings.Builder
	bars.WriteString("time,open,high,low,close,volume\n")
	for i := range 48 {
		fmt.Fprintf(&bars, "%d,100,101,99,100,1\n", 1735689600+i*3600)
	}
	if err := os.WriteFile(filepath.Join(dir, "TOYUSDT_1h.csv"), []byte(bars.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"2025-01-02T00:00:00Z": "by the wall clock, by which alerts of a replay expire",
		"2025-01-03T00:00:00Z": "the replay ends at 2025-01-03T00:00:00Z, so the alert would never fire",
	} {
		p := startProgram(t, "--csv-dir", dir, "--replay-from", from, "--replay-speed", "1")
		arguments := `{"symbol":"TOYUSDT","condition":{"price_above":200}`
		if strings.Contains(want, "wall clock") {
			if text, isError := p.call("set_alert", arguments+"}"); isError {
				t.Errorf("in the middle: %s", text)
			}
			arguments += `,"expires_at":"2025-01-02T12:00:00Z"`
		}
		if text, isError := p.call("set_alert", arguments+"}"); !isError || !strings.Contains(text, want) {
			t.Errorf("from %s: %s", from, text)
		}
	}
}

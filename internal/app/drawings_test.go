package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDrawings_StayAcrossARestart draws as an agent, and lists and charts what was drawn in the process after it.
func TestDrawings_StayAcrossARestart(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	file.WriteString("time,open,high,low,close,volume\n")
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for i := range int64(60) {
		fmt.Fprintf(&file, "%d,%d,%d,%d,%d,1\n", start+i*3600, 100+i, 102+i, 99+i, 101+i)
	}
	bars, home := t.TempDir(), filepath.Join(t.TempDir(), "home")
	if err := os.WriteFile(filepath.Join(bars, "BTCUSDT_1h.csv"), []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	tools := func(calls ...string) string {
		var lines strings.Builder
		for i, each := range calls {
			name, arguments, _ := strings.Cut(each, " ")
			fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", i+1, name, arguments)
		}
		return lines.String()
	}
	flags := []string{"--trade", "--toolsets", "drawings", "--csv-dir", bars}
	first := overStdioIn(t, home, tools(
		`set_drawing {"symbol":"BTCUSDT","type":"line","time":"2026-01-01T05:00:00Z","price":105,"time2":"2026-01-02T05:00:00Z","price2":129.5,"text":"up"}`,
		`set_drawing {"symbol":"csv:BTCUSDT","type":"measure","time":"2026-01-01T05:00:00Z","price":100,"time2":"2026-01-02T05:00:00Z","price2":110}`,
		`set_drawing {"symbol":"csv:BTCUSDT","type":"line","price":100}`,
	), flags...)
	if !strings.Contains(first[0], `csv:BTCUSDT`) || strings.Contains(first[0], `"isError":true`) || !strings.Contains(first[2], `\"field\":\"price2\"`) {
		t.Fatalf("%s\n%s", first[0], first[2])
	}
	after := overStdioIn(t, home, tools(
		`list_drawings {}`,
		`generate_chart {"symbol":"BTCUSDT","interval":"1h","bars":50,"indicators":[],"format":"summary","saved_drawings":true}`,
		`generate_chart {"symbol":"BTCUSDT","interval":"1h","bars":50,"indicators":[],"format":"summary"}`,
	), flags...)
	for i, want := range []string{`\"price2\":\"129.5\",\"text\":\"up\"`, `\"text\":\"+10 (+10.00 %), 24 h\"`} {
		if !strings.Contains(after[i], want) {
			t.Errorf("after the restart there is no %s in %s", want, after[i])
		}
	}
	if strings.Contains(after[2], `\"drawings\"`) {
		t.Errorf("a chart shows drawings that nobody asked for: %s", after[2])
	}
	if plain := overStdioIn(t, home, tools(`generate_chart {"symbol":"BTCUSDT","interval":"1h","format":"summary","saved_drawings":true}`), "--trade", "--csv-dir", bars); !strings.Contains(plain[0], "unknown_argument") && !strings.Contains(plain[0], "saved_drawings") {
		t.Errorf("without the set: %s", plain[0])
	}
}

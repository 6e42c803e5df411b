package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReplay_ShortFromEntryToLiquidation holds a short over a funding time of a replay, until its price of
// liquidation comes: the whole program over files.
func TestReplay_ShortFromEntryToLiquidation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const start = 1735689600
	var bars strings.Builder
	bars.WriteString("time,open,high,low,close,volume\n")
	for i := range 400 {
		price := 50000
		if i >= 120 {
			price = 65000
		}
		fmt.Fprintf(&bars, "%d,%d,%d,%d,%d,100\n", start+i*60, price, price+10, price-10, price)
	}
	files := map[string]string{
		filepath.Join(dir, "BTCUSDT.P_1m.csv"):      bars.String(),
		filepath.Join(dir, "BTCUSDT.P_funding.csv"): fmt.Sprintf("time,rate\n%d,0.0001\n%d,0.0002\n", start, start+3600),
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := startProgram(t, "--policy", ownPolicy(t, "max_leverage = 5\nallow_short = true\n"), "--csv-dir", dir, "--replay-from", "2025-01-01T00:30:00Z", "--replay-speed", "240")
	want := func(name, arguments string, says ...string) {
		t.Helper()
		var text string
		var isError bool
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			text, isError = p.call(name, arguments)
			missing := isError
			for _, s := range says {
				missing = missing || !strings.Contains(text, s)
			}
			if !missing {
				return
			}
		}
		t.Errorf("%s: %s, want %q", name, text, says)
	}
	want("place_order", `{"symbol":"BTCUSDT.P","side":"sell","type":"market","quantity":0.1,"idempotency_key":"a"}`, `"status":"filled"`)
	want("get_positions", `{}`, `"side":"sell"`, `"leverage":"5"`, `"liquidation_price":59731`, `"liquidation_distance_pct":19.`)
	want("get_positions", `{}`, `[]`)
	want("get_trades", `{}`, `"reason":"liquidation"`, `"funding":"-1","net":`, `"sums":[{"currency":"USDT"`)
	want("get_account", `{}`, `liquidated (replay:BTCUSDT.P)`, `"quantity":"98999.00125"`, `"funding":"-1"`) // 0.1 at 50,000 by 0.0002, received
}

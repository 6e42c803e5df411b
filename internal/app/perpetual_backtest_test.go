package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBacktest_PerpetualOnPaper runs rules over a perpetual future of files: both directions, funding as it is
// recorded, and a liquidation at the price that the leverage gives.
func TestBacktest_PerpetualOnPaper(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const start = 1735689600
	var bars strings.Builder
	bars.WriteString("time,open,high,low,close,volume\n")
	for i := range 300 {
		price := 50000 - 10*(i%10) // the close falls from 50,000 to 49,910, again and again
		if i >= 200 {
			price = 65000
		}
		fmt.Fprintf(&bars, "%d,%d,%d,%d,%d,100\n", start+i*3600, price, price+5, price-5, price)
	}
	for name, text := range map[string]string{
		"BTCUSDT.P_1h.csv": bars.String(), "ETHUSDT.P_1h.csv": bars.String(), "ETHUSDT_1h.csv": bars.String(),
		"BTCUSDT.P_funding.csv": fmt.Sprintf("time,rate\n%d,0.0001\n%d,0.0002\n", start+8*3600, start+16*3600),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := startProgram(t, "--csv-dir", dir)
	ask := func(symbol, more string) (string, bool) {
		return p.call("run_backtest", fmt.Sprintf(`{"symbol":"csv:%s","interval":"1h","quantity":0.1,"slip_bps":0,"short":{"enter":{"value":{"price":"close","op":"<","value":49960}},"exit":{"value":{"price":"close","op":"<","value":1}}}%s}`, symbol, more))
	}
	text, failed := ask("BTCUSDT.P", `,"fill_model":"paper","leverage":5`)
	var a struct {
		Leverage float64
		Result   struct {
			Net, Funding         float64
			Trades, Liquidations int
		}
		Honesty    struct{ Flags []string }
		LastTrades []struct {
			Side, Why   string
			Entry, Exit float64
		} `json:"last_trades"`
	}
	if err := json.Unmarshal([]byte(text), &a); failed || err != nil {
		t.Fatal(err, text)
	}
	// Short 0.1 at 49,940 after the close of 49,950: funding at 49,920 by 0.0001 and at 49,940 by 0.0002 is received. The margin of
	// 998.80 and it are lost, with the fee of 0.05 %. The funding of 1.498 moves the liquidation from 59,689.24 to 59,704.16.
	if r := a.Result; a.Leverage != 5 || r.Trades != 1 || r.Liquidations != 1 || r.Funding != -1.498 || len(a.LastTrades) != 1 {
		t.Fatal(text)
	}
	if x := a.LastTrades[0]; x.Side != "short" || x.Why != "liquidation" || x.Entry != 49940 || x.Exit != 59704 {
		t.Errorf("%+v", x)
	}
	if net := a.Result.Net; net != -1001.3 { // 998.80 and the fee of 2.497
		t.Errorf("net %v", net)
	}
	if text, failed := ask("ETHUSDT.P", `,"fill_model":"paper","leverage":5`); failed || !strings.Contains(text, `"no_funding"`) || !strings.Contains(text, `"funding":0`) {
		t.Error(text)
	}
	for _, refused := range []struct{ symbol, more, says string }{
		{"ETHUSDT", `,"fill_model":"paper"`, "a perpetual future such as BTCUSDT.P"},
		{"ETHUSDT", `,"leverage":5`, `1, or a perpetual future such as BTCUSDT.P with`},
		{"BTCUSDT.P", `,"leverage":5`, `\"fill_model\":\"paper\"`},
		{"BTCUSDT.P", `,"fill_model":"paper","leverage":0.5`, "a number from 1 to 125"},
		{"BTCUSDT.P", `,"fill_model":"paper","leverage":"5x"`, "a number from 1 to 125"},
		{"BTCUSDT.P", `,"fill_model":"paper","leverage":2,"size_pct":300`, "at most 200 with a leverage of 2"},
	} {
		if text, failed := ask(refused.symbol, refused.more); !failed || !strings.Contains(text, refused.says) {
			t.Errorf("%s %s: %s", refused.symbol, refused.more, text)
		}
	}
}

package csv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/lib/fault"
	"candela/lib/market"
)

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"BTCUSDT_1h.csv", "BTC%2FUSD_1d.csv", "%5EGSPC_1M.csv", "X_1mo.csv", "../X_1h.csv", "A_B_1m.csv", "%2e%2e%2fX_1h.csv", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file string) {
		symbol, interval, ok := parseName(file)
		if !ok {
			return
		}
		name := escape(symbol) + "_" + interval.String() + extension
		if name != file && interval != market.Month1 {
			t.Fatalf("%q is %q of %v, whose file is %q", file, symbol, interval, name)
		}
		if again, i, ok := parseName(name); !ok || again != symbol || i != interval {
			t.Fatalf("%q is read as %q of %v", name, again, i)
		}
	})
}

// A pair has one name, that of its file, whatever stands between its halves. Other
// names with a dash are no pairs.
func TestCanonical_IsTheSpellingOfTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, file := range []string{"BTCUSDT_1d.csv", "ETH-USD_1d.csv", "BRK-B_1d.csv", "SOLUSDT_1d.csv", "SOL-USDT_1d.csv"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte("time,open,high,low,close,volume\n1704067200,1,2,1,2,3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := New(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	for asked, want := range map[string]string{
		"BTC/USDT": "BTCUSDT", "BTC-USDT": "BTCUSDT", "BTC_USDT": "BTCUSDT", "BTCUSDT": "BTCUSDT", "ETHUSD": "ETH-USD", "ETH/USD": "ETH-USD",
		"BRK-B": "BRK-B", "BRKB": "", "SOL-USDT": "SOL-USDT", "SOL/USDT": "",
	} {
		got, err := p.Canonical(t.Context(), market.Symbol{Name: asked})
		if want == "" {
			if fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s: %v, %v", asked, got, err)
			}
			continue
		}
		if err != nil || got != (market.Symbol{Venue: "csv", Name: want}) {
			t.Errorf("%s: %v, %v", asked, got, err)
		}
	}
	var names []string
	for _, l := range p.Loaded() {
		names = append(names, l.Name)
	}
	if got := strings.Join(names, " "); got != "BRK-B BTCUSDT ETH-USD SOL-USDT SOLUSDT" {
		t.Errorf("the list: %s", got)
	}
}

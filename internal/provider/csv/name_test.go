package csv

import (
	"testing"

	"candela/internal/market"
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
		name := FileName(market.Symbol{Name: symbol}, interval)
		if name != file && interval != market.Month1 {
			t.Fatalf("%q is %q of %v, whose file is %q", file, symbol, interval, name)
		}
		if again, i, ok := parseName(name); !ok || again != symbol || i != interval {
			t.Fatalf("%q is read as %q of %v", name, again, i)
		}
	})
}

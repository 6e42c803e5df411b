package marketdata

import (
	"slices"
	"strings"
	"testing"
)

func TestNear_LeadsToSymbolsThatAreOffered(t *testing.T) {
	t.Parallel()
	all := Routes{Crypto: "binance", Other: "yahoo"}
	for name, want := range map[string]string{
		"BITCOIN": "BTCUSDT BTC-USD", "BTC": "BTCUSDT BTC-USD", "ETH": "ETHUSDT ETH-USD", "APPLE": "AAPL", "BTCUSTD": "BTCUSDT",
		"BTCUSDT.P": "BTCUSDT", "BTC-PERP": "BTCUSDT", "EUR/USD": "EURUSD=X", "EURUSD": "EURUSD=X", "GBP-JPY": "GBPJPY=X", "XAUUSD": "GC=F",
		"BTC/USD": "BTCUSDT BTC-USD", "QWERTYUIOP": "",
	} {
		if near, _ := all.near(name); strings.Join(near, " ") != want && (want == "" || near == nil || near[0] != want) {
			t.Errorf("%s: %v, want %s", name, near, want)
		}
	}
	if _, why := all.near("BTCUSDT.P"); !strings.Contains(why, "perpetuals") {
		t.Errorf("perpetuals: %q", why)
	}
	if near, _ := (Routes{Other: "yahoo"}).near("BITCOIN"); !slices.Equal(near, []string{"BTC-USD"}) {
		t.Errorf("without a venue for pairs: %v", near)
	}
}

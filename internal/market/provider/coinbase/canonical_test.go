package coinbase_test

import (
	"testing"

	"candela/internal/market"
	"candela/internal/market/provider/coinbase"
)

func TestCanonical_IsOneNameForEverySpelling(t *testing.T) {
	t.Parallel()
	p := new(coinbase.Provider)
	for _, asked := range []string{"BTCUSD", "BTC/USD", "BTC-USD", "BTC_USD"} {
		got, err := p.Canonical(t.Context(), market.Symbol{Name: asked})
		if err != nil || got != (market.Symbol{Venue: "coinbase", Name: "BTC-USD"}) {
			t.Errorf("%s: %v, %v", asked, got, err)
		}
	}
}

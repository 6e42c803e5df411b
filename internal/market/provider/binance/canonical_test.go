package binance_test

import (
	"testing"

	"candela/internal/kit/fault"
	"candela/internal/market"
	"candela/internal/market/provider/binance"
)

func TestCanonical_IsOneNameForEverySpelling(t *testing.T) {
	t.Parallel()
	p := new(binance.Provider)
	for _, asked := range []market.Symbol{{Name: "BTCUSDT"}, {Name: "BTC/USDT"}, {Name: "BTC-USDT"}, {Name: "BTC_USDT"}, {Venue: "binance", Name: "BTC/USDT"}} {
		got, err := p.Canonical(t.Context(), asked)
		if err != nil || got != (market.Symbol{Venue: "binance", Name: "BTCUSDT"}) {
			t.Errorf("%v: %v, %v", asked, got, err)
		}
	}
	if _, err := p.Canonical(t.Context(), market.Symbol{Name: "EURUSD=X"}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a name that the venue cannot have: %v", err)
	}
}

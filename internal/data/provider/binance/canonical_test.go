package binance_test

import (
	"testing"

	"pgregory.net/rapid"

	"candela/internal/data/provider/binance"
	"candela/lib/fault"
	"candela/lib/market"
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

// The name of an instrument is its own name, however it was spelled.
func TestCanonical_IsIdempotent(t *testing.T) {
	t.Parallel()
	p := new(binance.Provider)
	rapid.Check(t, func(rt *rapid.T) {
		s, err := market.ParseSymbol(rapid.StringMatching(`[A-Za-z0-9]{1,6}[-/_.=]?[A-Za-z0-9]{1,6}`).Draw(rt, "symbol"))
		if err != nil {
			rt.Fatal(err)
		}
		first, err := p.Canonical(t.Context(), s)
		if err != nil {
			return // a name that the venue cannot have
		}
		if again, err := p.Canonical(t.Context(), first); err != nil || again != first {
			rt.Fatalf("%v is called %v and then %v, %v", s, first, again, err)
		}
	})
}

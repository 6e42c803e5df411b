package coinbase_test

import (
	"testing"

	"pgregory.net/rapid"

	"candela/internal/data/provider/coinbase"
	"candela/lib/market"
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

// The name of an instrument is its own name, however it was spelled.
func TestCanonical_IsIdempotent(t *testing.T) {
	t.Parallel()
	p := new(coinbase.Provider)
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

package kraken_test

import (
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/kraken"
	venue "candela/internal/testkit/fake/kraken"
)

// The venue's own list is there once it was read, in the venue's spelling, and each name
// is its own name.
func TestLoaded_IsTheListOfTheVenue(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{Seed: 1, Pairs: []string{"BTC/USD", "ETH/BTC", "DOGE/EUR", "EUR/USD"}}, func(t *testing.T, _ *venue.Server, p *kraken.Provider) {
		t.Helper()
		if got := p.Loaded(); got != nil {
			t.Fatalf("before it was read: %v", got)
		}
		if _, err := p.Instrument(t.Context(), btc()); err != nil {
			t.Fatal(err)
		}
		want := []provider.Listing{
			{Name: "BTC/USD", Class: provider.Crypto, Asset: "BTC", Quote: "USD"},
			{Name: "EUR/USD", Class: provider.Currency, Asset: "EUR", Quote: "USD"},
			{Name: "DOGE/EUR", Class: provider.Crypto, Asset: "DOGE", Quote: "EUR"},
			{Name: "ETH/BTC", Class: provider.Crypto, Asset: "ETH", Quote: "BTC"},
		}
		got := p.Loaded()
		if len(got) != len(want) {
			t.Fatalf("%+v", got)
		}
		for i, l := range got {
			if l != want[i] {
				t.Errorf("%+v, want %+v", l, want[i])
			}
			named, err := p.Canonical(t.Context(), btc())
			if again, failed := p.Canonical(t.Context(), named); err != nil || failed != nil || again != named {
				t.Errorf("%v is called %v: %v, %v", named, again, err, failed)
			}
		}
		time.Sleep(2 * time.Hour) // virtual
		if got := p.Loaded(); got != nil {
			t.Errorf("an old list: %d", len(got))
		}
	})
}

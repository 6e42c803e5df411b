package alerts

import (
	"net/http/httptest"
	"testing"
	"time"

	"candela/e2e/tape"
	"candela/internal/testkit/fake"
	"candela/internal/testkit/fake/binance"
)

const (
	seed = 7
	step = tape.Step
)

// newVenue starts the fake venue and returns where. Its streams misbehave a little.
func newVenue(t *testing.T) string {
	t.Helper()
	venue := binance.New(binance.Config{
		Seed: seed, Step: 250 * time.Millisecond, Limit: 1_000_000,
		Knows: func(string) bool { return true },
	})
	venue.Feed.Set(fake.StreamFaults{Duplicate: 0.05, Reorder: 0.05, Lose: 0.05})
	server := httptest.NewServer(venue)
	t.Cleanup(server.Close)
	return server.URL
}

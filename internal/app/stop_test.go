package app

import (
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	fakebinance "candela/internal/testkit/fake/binance"
)

// TestStop_DoesNotWaitForWhoListens stops the program while a client listens or waits.
// The time that these programs have for a stop is longer than all that could end on its
// own, so that what ends soon was ended by the stop.
func TestStop_DoesNotWaitForWhoListens(t *testing.T) {
	t.Parallel()
	const soon = 3 * time.Minute // a poll ends on its own after four, a stop after five
	for name, start := range map[string]func(t *testing.T, venue string) (stop func()){
		"--serve, with a stream": func(t *testing.T, venue string) func() {
			t.Helper()
			url, stop := startTrading(t, filepath.Join(t.TempDir(), "home"), venue, "token")
			_, leave := follow(t, url, "token")
			t.Cleanup(leave)
			return stop
		},
		"--mcp, with a poll": func(t *testing.T, venue string) func() {
			t.Helper()
			s := talk(t, filepath.Join(t.TempDir(), "home"), nil, "--binance-url", venue)
			s.send("get_notifications", `{"wait_seconds":240}`)
			s.call("list_alerts", `{}`) // what was sent before has begun
			return func() { s.stop() }
		},
		"a replica, with a stream": func(t *testing.T, venue string) func() {
			t.Helper()
			r := newCast(t, "--trade", "--binance-url", venue).start()
			_, leave := follow(t, r.url, r.Token())
			t.Cleanup(leave)
			return r.stop
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
			t.Cleanup(venue.Close)
			stop := start(t, venue.URL)
			began := time.Now()
			stop()
			if took := time.Since(began); took > soon {
				t.Errorf("the stop took %v", took)
			}
		})
	}
}

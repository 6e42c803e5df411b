package binance_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/upstream"
	"candela/internal/kit/secret"
	venue "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/order"
)

// BenchmarkSubmit places market orders at the fake over loopback. Its floor is a
// plain request to the same server, there and back.
func BenchmarkSubmit(b *testing.B) {
	b.Run("order", func(b *testing.B) {
		measure(b, func(url string) (func(context.Context) error, func()) {
			hosts := upstream.NewHosts(nil)
			br, err := binance.New(hosts, binance.Config{
				Environment: binance.Testnet, URL: url, Key: secret.New(venue.Key), Secret: secret.New(venue.Secret),
			})
			if err != nil {
				b.Fatal(err)
			}
			return func(ctx context.Context) error {
				_, err := br.Submit(ctx, spec(order.Buy, "0.0002", ""))
				return err
			}, func() { _ = hosts.Close() }
		})
	})
	b.Run("floor", func(b *testing.B) {
		measure(b, func(url string) (func(context.Context) error, func()) {
			client := &http.Client{Transport: &http.Transport{}}
			return func(ctx context.Context) error {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v3/ping", http.NoBody)
				if err != nil {
					return err
				}
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				defer resp.Body.Close() //nolint:errcheck // it was only read
				_, err = io.Copy(io.Discard, resp.Body)
				return err
			}, client.CloseIdleConnections
		})
	})
}

// measure asks many times, of a new venue every thousand: a minute has no weight
// for more, and the fake looks through all its orders.
func measure(b *testing.B, connect func(url string) (ask func(context.Context) error, done func())) {
	b.Helper()
	took := make([]time.Duration, 0, 1<<16)
	stop := func() {}
	var ask func(context.Context) error
	for n := 0; b.Loop(); n++ {
		if n%1000 == 0 {
			b.StopTimer()
			stop()
			server := venue.New(venue.Config{})
			server.Pin("BTCUSDT", decimal.NewFromInt(50_000))
			web := httptest.NewServer(server)
			var done func()
			ask, done = connect(web.URL)
			stop = func() { done(); web.Close() }
			if err := ask(b.Context()); err != nil { // the first one connects and reads the clock
				b.Fatal(err)
			}
			b.StartTimer()
		}
		start := time.Now()
		if err := ask(b.Context()); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	stop()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
}

package desk_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// BenchmarkPlace places market orders at a venue and a store in memory, so that the
// time is the desk's own: without a key, with a new key, and as the repeat of an order.
func BenchmarkPlace(b *testing.B) {
	for name, key := range map[string]func(n int) string{
		"no key":  func(int) string { return "" },
		"new key": strconv.Itoa,
		"repeat":  func(int) string { return "same" },
	} {
		b.Run(name, func(b *testing.B) {
			var d *desk.Desk
			stop := func() {}
			var took []time.Duration
			for n := 0; b.Loop(); n++ {
				if n%100 == 0 { // recent orders count in every check
					b.StopTimer()
					stop()
					d, stop = benchDesk(b)
					b.StartTimer()
				}
				r := buy("0.001")
				if r.Key = key(n); n%2 == 1 && name != "repeat" {
					r.Side = order.Sell
				}
				start := time.Now()
				if o, err := d.Place(b.Context(), caller(), r); err != nil || o.Status != order.Filled {
					b.Fatal(o.Status, err)
				}
				took = append(took, time.Since(start))
			}
			stop()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
		})
	}
}

func benchDesk(b *testing.B) (d *desk.Desk, stop func()) {
	b.Helper()
	prices, policy, off := &desktest.Market{}, guard.Default(), guard.Limit{Off: true}
	prices.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("50000")})
	policy.MaxOrderNotional, policy.MaxSymbolExposure, policy.MaxExposure, policy.MaxDailyNotional = off, off, off, off
	policy.MaxOrdersPerMinute, policy.MaxDailyLoss, policy.AllowShort, policy.DuplicateWindow = off, off, true, 0
	d = desk.New(desk.Config{
		Owner: owner, Broker: brokertest.NewMemory(), Store: desktest.NewStore(), Market: prices, Policy: policy, AssetBalances: true,
		Resolve: func(context.Context, market.Symbol) (market.Symbol, error) { return brokertest.MemorySymbol(), nil },
		Log:     slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Float64,
	})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx, ctx, func() {}) }()
	for !d.Status().Reconciled {
		time.Sleep(time.Millisecond)
	}
	return d, func() {
		cancel()
		<-done
	}
}

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/marketdata/marketdatatest"
	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	"candela/internal/kit/principal"
	"candela/internal/kit/secret"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/store/ledger"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/alpaca"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/chart"
	"candela/lib/market"
)

// clocked measures how long the parts of an order take that are not the program's own:
// the commits, which wait for the disk, and the venue's answer.
type clocked struct {
	*ledger.Ledger
	broker.Broker
	commits, venue atomic.Int64 // nanoseconds since the last order began
}

func (c *clocked) AppendEvents(ctx context.Context, by principal.Caller, events []order.Event, notices ...order.Notice) ([]order.Event, error) {
	defer c.since(&c.commits, time.Now())
	return c.Ledger.AppendEvents(ctx, by, events, notices...)
}

func (c *clocked) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	defer c.since(&c.venue, time.Now())
	return c.Broker.Submit(ctx, o)
}

func (*clocked) since(sum *atomic.Int64, start time.Time) { sum.Add(int64(time.Since(start))) }

// free is a policy that lets everything pass.
func free() guard.Policy {
	p, off := guard.Default(), guard.Limit{Off: true}
	p.MaxOrderNotional, p.MaxSymbolExposure, p.MaxExposure, p.MaxDailyNotional, p.MaxOrdersPerMinute, p.MaxDailyLoss = off, off, off, off, off, off
	p.AllowShort, p.DuplicateWindow = true, 0
	return p
}

// wire puts the tools over a desk with a real store and a venue behind loopback.
func wire(b *testing.B, symbol market.Symbol, connect func(hosts *upstream.Hosts) (broker.Broker, error)) (*clocked, *tool.Registry, func()) {
	b.Helper()
	hosts := upstream.NewHosts(nil)
	v, err := connect(hosts)
	if err != nil {
		b.Fatal(err)
	}
	store, err := ledger.Open(b.Context(), b.TempDir(), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	c, prices := &clocked{Ledger: store, Broker: v}, &desktest.Market{}
	prices.Set(symbol, order.Quote{Last: decimal.NewFromInt(100)})
	d := desk.New(desk.Config{
		Owner: "owner", Broker: c, Store: c, Market: prices, Policy: free(), AssetBalances: symbol.Venue == "binance",
		Resolve: func(context.Context, market.Symbol) (market.Symbol, error) { return symbol, nil },
		Log:     slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Float64,
	})
	ctx, cancel := context.WithCancel(b.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- d.Run(ctx, ctx, func() { close(ready) }) }()
	<-ready
	parts := (&tooltest.Trading{}).Parts()
	parts.Orders, parts.Positions = d, d
	tools, err := tool.New(tool.Config{Charting: tooltest.Charts(marketdatatest.Bars{}, chart.NewRenderer(), parts), Trading: parts, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	return c, tools, func() {
		cancel()
		<-done
		_, _ = hosts.Close(), store.Close()
	}
}

// BenchmarkPlaceOrder calls place_order, from the arguments to the answer: checked,
// judged, committed to the disk, sent to a fake venue over loopback, answered, and
// committed again. It reports the share of commits and of the venue.
func BenchmarkPlaceOrder(b *testing.B) {
	for name, tc := range map[string]struct {
		symbol market.Symbol
		open   func() (*httptest.Server, func(*upstream.Hosts) (broker.Broker, error))
	}{
		"binance": {market.Symbol{Venue: "binance", Name: "BTCUSDT"}, func() (*httptest.Server, func(*upstream.Hosts) (broker.Broker, error)) {
			server := fakebinance.New(fakebinance.Config{})
			server.Pin("BTCUSDT", decimal.NewFromInt(100))
			web := httptest.NewServer(server)
			return web, func(h *upstream.Hosts) (broker.Broker, error) {
				return binance.New(h, binance.Config{Environment: binance.Testnet, URL: web.URL, Key: secret.New(fakebinance.Key), Secret: secret.New(fakebinance.Secret)})
			}
		}},
		"alpaca": {market.Symbol{Venue: "alpaca", Name: "MSFT"}, func() (*httptest.Server, func(*upstream.Hosts) (broker.Broker, error)) {
			server := fakealpaca.New(fakealpaca.Config{Now: time.Now})
			server.SetHours(true)
			server.SetQuote("MSFT", "100", "100")
			server.SetUnlimited()
			web := httptest.NewServer(server)
			return web, func(h *upstream.Hosts) (broker.Broker, error) {
				return alpaca.New(h, alpaca.Config{Keys: stocks.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: web.URL, DataURL: web.URL, Now: time.Now})
			}
		}},
	} {
		b.Run(name, func(b *testing.B) {
			var all, commits, venue time.Duration
			took, written, sent := make([]time.Duration, 0, 1<<14), make([]time.Duration, 0, 1<<14), make([]time.Duration, 0, 1<<14)
			stop := func() {}
			var c *clocked
			var tools *tool.Registry
			for n := 0; b.Loop(); n++ {
				if n%100 == 0 { // a venue has limits, and so has what is placed in a minute
					b.StopTimer()
					stop()
					web, connect := tc.open()
					var end func()
					c, tools, end = wire(b, tc.symbol, connect)
					stop = func() { end(); web.Close() }
					warm(b, tools)
					b.StartTimer()
				}
				c.commits.Store(0)
				c.venue.Store(0)
				start := time.Now()
				text := placeOne(b, tools, n)
				took = append(took, time.Since(start))
				written = append(written, time.Duration(c.commits.Load()))
				sent = append(sent, time.Duration(c.venue.Load()))
				all, commits, venue = all+took[len(took)-1], commits+written[len(written)-1], venue+sent[len(sent)-1]
				if !strings.Contains(text, `"venue_order_id"`) {
					b.Fatal(text)
				}
			}
			b.StopTimer()
			stop()
			for name, times := range map[string][]time.Duration{"": took, "commit-": written, "venue-": sent} {
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)/2].Microseconds()), name+"p50-us")
				b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), name+"p99-us")
			}
			b.ReportMetric(100*float64(commits)/float64(all), "commit-%")
			b.ReportMetric(100*float64(venue)/float64(all), "venue-%")
		})
	}
}

func placeOne(b *testing.B, tools *tool.Registry, n int) string {
	b.Helper()
	side := []string{"buy", "sell"}[n%2]
	arguments := fmt.Sprintf(`{"symbol":"BTCUSDT","side":%q,"type":"market","quantity":1}`, side)
	r, err := tools.Call(b.Context(), principal.Caller{Subject: "owner", Key: "token", Client: "agent", Scope: principal.Trade}, "place_order", json.RawMessage(arguments))
	if err != nil {
		b.Fatal(err)
	}
	return string(r.Content[0].Text)
}

// warm waits until orders pass, and all connections are open.
func warm(b *testing.B, tools *tool.Registry) {
	b.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		text := placeOne(b, tools, 0)
		if strings.Contains(text, `"filled"`) {
			return
		}
		if time.Now().After(deadline) {
			b.Fatal(text)
		}
	}
}

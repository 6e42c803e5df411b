package marketdata_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/data/provider/alpaca"
	"candela/internal/data/provider/binance"
	"candela/internal/data/provider/coinbase"
	"candela/internal/data/provider/kraken"
	"candela/internal/data/provider/sample"
	"candela/internal/data/provider/yahoo"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// venue is a provider for tests: the moving bars of sample data under another
// name, presented as real, with the faults of a test.
type venue struct {
	name  string
	caps  func(*provider.Caps)
	delay time.Duration
	since int64 // open of the first bar there is; 0 for all

	mu      sync.Mutex
	fail    error
	spoil   func(*provider.BarPage)
	queries []provider.BarQuery
	asked   int // instruments
}

func (v *venue) bars() *sample.Provider { return sample.New(sample.Config{Seed: 5, Now: time.Now}) }

func (v *venue) Name() string { return v.name }

func (v *venue) Capabilities() provider.Caps {
	c := v.bars().Capabilities()
	c.Synthetic, c.PageSize, c.Live, c.Builds = false, 1000, false, nil
	if v.caps != nil {
		v.caps(&c)
	}
	return c
}

func (v *venue) Instrument(_ context.Context, s market.Symbol) (provider.Instrument, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked++
	return provider.Instrument{Symbol: market.Symbol{Venue: v.name, Name: s.Name}}, v.fail
}

func (v *venue) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	v.mu.Lock()
	v.queries = append(v.queries, q)
	fail, spoil := v.fail, v.spoil
	v.mu.Unlock()
	if v.delay > 0 {
		select {
		case <-time.After(v.delay):
		case <-ctx.Done():
			return provider.BarPage{}, ctx.Err()
		}
	}
	if fail != nil {
		return provider.BarPage{}, fail
	}
	if q.Symbol.Name == "NONE" {
		return provider.BarPage{}, provider.UnknownSymbol(v.name, q.Symbol)
	}
	q, err := v.Capabilities().Normalize(v.name, q)
	if err != nil {
		return provider.BarPage{}, err
	}
	if v.since != 0 && q.From != 0 {
		q.From = max(q.From, v.since)
	}
	q.Symbol = market.Symbol{}
	page, err := v.bars().Bars(ctx, q)
	page.Synthetic = false
	if first := page.Bars.Search(v.since); v.since != 0 && q.From == 0 && (first > 0 || page.Next <= v.since) {
		page.Bars, page.More, page.Next = page.Bars.Slice(first, page.Bars.Len()), false, 0
	}
	if spoil != nil {
		spoil(&page)
	}
	return page, err
}

func (v *venue) set(fail error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fail = fail
}

func (v *venue) calls() []provider.BarQuery {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]provider.BarQuery(nil), v.queries...)
}

// truth is the result of one request for all bars.
func (v *venue) truth(tb testing.TB, i market.Interval, n int) provider.BarPage {
	tb.Helper()
	page, err := provider.Read(context.Background(), v.bars(), provider.BarQuery{Interval: i}, n)
	if err != nil {
		tb.Fatal(err)
	}
	page.Bars = page.Bars.Tail(n)
	if v.since != 0 {
		page.Bars = page.Bars.Slice(page.Bars.Search(v.since), page.Bars.Len())
	}
	return page
}

func service(tb testing.TB, change func(*marketdata.Config), providers ...provider.Provider) *marketdata.Service {
	tb.Helper()
	cfg := marketdata.Config{
		Providers: append([]provider.Provider{sample.New(sample.Config{})}, providers...),
		Routes: marketdata.Routes{Crypto: "binance", Other: "yahoo", Venues: []provider.Descriptor{
			binance.Descriptor(), coinbase.Descriptor(), kraken.Descriptor(), yahoo.Descriptor(), alpaca.Descriptor(),
		}},
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	}
	if change != nil {
		change(&cfg)
	}
	s, err := marketdata.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

func btc(bars, warmup int) marketdata.Request {
	return marketdata.Request{Symbol: market.Symbol{Name: "BTCUSDT"}, Interval: market.Minute5, Bars: bars, Warmup: warmup}
}

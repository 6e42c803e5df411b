// Package marketdatatest has bars and symbols for the tests of what reads them: sample bars of a venue with a few
// symbols, and the routes of three venues of which none is asked.
package marketdatatest

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/data/provider/binance"
	"candela/internal/data/provider/coinbase"
	"candela/internal/data/provider/sample"
	"candela/internal/data/provider/yahoo"
	"candela/internal/data/upstream"
	"candela/lib/fault"
	"candela/lib/market"
)

// Bars serves sample bars: as such without a symbol, and as if they were fetched
// for the symbols of the test venue. Any other symbol is unknown.
type Bars struct{}

// Bars answers want.
func (Bars) Bars(ctx context.Context, want marketdata.Request) (marketdata.BarSet, error) {
	query := provider.BarQuery{Interval: want.Interval, Limit: min(want.Bars+want.Warmup, 5000)}
	set := marketdata.BarSet{Symbol: want.Symbol, Instrument: market.Symbol{Venue: "test", Name: want.Symbol.Name}, Provider: "test", AsOf: time.Unix(1735689600, 0)}
	switch want.Symbol.Name {
	case "":
		set.Symbol.Name, set.Synthetic, set.Provider = "SAMPLE", true, "sample"
	case "DOWN":
		return set, fault.Unreachable(context.DeadlineExceeded, 1500*time.Millisecond, "test does not answer for %s; try again", want.Symbol)
	default:
		if err := Listed(want.Symbol); err != nil {
			return set, err
		}
	}
	page, err := sample.New(sample.Config{Seed: 7}).Bars(ctx, query)
	set.Bars, set.Forming = page.Bars, page.Running
	return set, err
}

// names returns the symbols that the test venue has.
func names() []string {
	return []string{"BTCUSDT", "AAPL", "ETHUSDT", "EURUSD=X", "TSLA", "GC=F", "^GSPC", "BTC-USD", "USDJPY=X", "^TNX", "SOLUSDT", "BTCUSDT.P"}
}

// Listed is the error of a symbol that the test venue does not have.
func Listed(s market.Symbol) error {
	if venues := []string{"test", "binance", "coinbase", "yahoo"}; s.Venue != "" && !slices.Contains(venues, s.Venue) {
		return fault.Field("symbol", s.String(), marketdata.VenuesHere+strings.Join(venues, ", "))
	}
	if slices.Contains(names(), s.Name) {
		return nil
	}
	return provider.UnknownSymbol("test", s, fault.Nearest(s.Name, []string{"BTCUSDT", "AAPL"})...)
}

// Symbols returns the instruments of three venues, none of which is asked.
func Symbols(tb testing.TB) *marketdata.Service {
	tb.Helper()
	cfg := marketdata.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler), Routes: marketdata.Routes{Crypto: "binance", Other: "yahoo"}}
	cfg.Routes.Venues = []provider.Descriptor{binance.Descriptor(), coinbase.Descriptor(), yahoo.Descriptor()}
	hosts := upstream.NewHosts(nil)
	tb.Cleanup(func() { _ = hosts.Close() })
	for _, d := range cfg.Routes.Venues {
		p, err := d.Open(provider.Env{Hosts: hosts, Now: time.Now})
		if err != nil {
			tb.Fatal(err)
		}
		cfg.Providers = append(cfg.Providers, p)
	}
	s, err := marketdata.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

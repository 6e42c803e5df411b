// Package fakes lists the fake venues. A new fake is a line of All.
package fakes

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"candela/internal/testkit/fake/alpaca"
	"candela/internal/testkit/fake/binance"
	"candela/internal/testkit/fake/coinbase"
	"candela/internal/testkit/fake/kraken"
	"candela/internal/testkit/fake/yahoo"
)

// Fake is a fake of one venue.
type Fake struct {
	Name string // of the venue
	New  func(Options) http.Handler
}

// Options tune a fake. All but the seed are for the fake of Binance; zero means
// its own.
type Options struct {
	Seed      uint64
	Step      time.Duration // between two updates of a stream
	Limit     int           // weight per minute and address
	Addresses int           // that clients come from
	Variety   int           // different prices of symbols; 0 for all
}

// All lists the fakes.
func All() []Fake {
	return []Fake{
		{"binance", func(o Options) http.Handler {
			return binance.New(binance.Config{Seed: o.Seed, Knows: pair, Step: o.Step, Limit: o.Limit, Addresses: o.Addresses, Variety: o.Variety})
		}},
		{"coinbase", func(o Options) http.Handler { return coinbase.New(coinbase.Config{Seed: o.Seed}) }},
		{"kraken", func(o Options) http.Handler { return kraken.New(kraken.Config{Seed: o.Seed}) }},
		{"yahoo", func(o Options) http.Handler { return yahoo.New(yahoo.Config{Now: time.Now, Seed: o.Seed}) }},
		{"alpaca", func(o Options) http.Handler {
			return alpaca.New(alpaca.Config{Now: time.Now, Seed: o.Seed, Partial: 0.1})
		}},
	}
}

// pair reports whether the fake of Binance trades a symbol: any pair in these currencies.
func pair(symbol string) bool {
	return slices.ContainsFunc([]string{"USDT", "USDC", "BTC"}, func(quote string) bool {
		return len(symbol) > len(quote) && strings.HasSuffix(symbol, quote)
	})
}

// Names lists the names of fakes, sorted.
func Names(all []Fake) []string {
	names := make([]string, 0, len(all))
	for _, f := range all {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

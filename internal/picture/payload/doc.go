// Package payload writes what the chart tools answer in JSON: the summary, the
// series and the result of a computation, as the interface lays them out. It
// computes no indicator and fetches nothing; it cuts, rounds and writes what it
// is given. NaN and infinities become null.
package payload

import (
	"strconv"
	"time"

	"candela/internal/analysis/indicator"
	"candela/internal/market"
)

// Source says where the bars came from.
type Source string

// The sources.
const (
	Sample Source = "sample"       // made up: no symbol was named
	Cache  Source = "engine_cache" // the running engine's window
	Fetch  Source = "fetched"      // read from a provider for this request
)

// Provenance is what a reader must know to judge the numbers.
type Provenance struct {
	Source        Source
	Provider      string
	AsOf          time.Time // when the newest bar was read; zero for sample data
	LastBarClosed bool
	Stale         bool // the provider did not answer and older bars stand in
	WarmupOK      bool // every indicator had the history it needs
	// BuiltFrom is the interval that the bars were made of where the venue has none
	// of theirs; Holes is how many bars of it, or else of their own interval, are
	// missing among those shown.
	BuiltFrom market.Interval
	Holes     int
	Calendar  market.Calendar
}

// Chart is bars and what indicators say about them. Every result has exactly one
// entry per bar.
type Chart struct {
	Symbol     string        // as it is shown
	Instrument market.Symbol // the same as its venue writes it, with the venue; nothing shows it
	Interval   market.Interval
	Bars       *market.Bars
	Indicators []Indicator
	Alerts     []Alert // of whoever asks, on the price of this symbol
	Account    Account // of whoever asks, in this symbol
	Provenance
}

// Alert is an alert that waits for a price.
type Alert struct {
	ID        string
	Type      string // price_above or price_below
	Threshold string // in decimal digits, as it was given
	Note      string
}

// Indicator is one result under the key it is published with.
type Indicator struct {
	Key    string
	Result *indicator.Result
}

// sample reports whether the bars are made up and have no times.
func (c *Chart) sample() bool { return c.Source == Sample }

// Keys returns the key for each requested name: the name as it was written, and
// with a number from the second of the same name on. A number that would clash
// with another request's name is passed over.
func Keys(names []string) []string {
	keys := make([]string, len(names))
	taken := make(map[string]bool, 2*len(names))
	for _, name := range names {
		taken[name] = true
	}
	first := make(map[string]bool, len(names))
	for i, name := range names {
		keys[i] = name
		if !first[name] {
			first[name] = true
			continue
		}
		for n := 2; taken[keys[i]]; n++ {
			keys[i] = name + "_" + strconv.Itoa(n)
		}
		taken[keys[i]] = true
	}
	return keys
}

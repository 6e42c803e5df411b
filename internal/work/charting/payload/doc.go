// Package payload writes the JSON results of the chart tools: the summary, the series
// and the result of a computation, as the interface defines them. It computes and
// fetches nothing. NaN and infinities become null.
package payload

import (
	"strconv"
	"time"

	"candela/lib/market"
	"candela/lib/ta"
)

// Source is the origin of the bars.
type Source string

// The sources.
const (
	Sample Source = "sample"       // synthetic: no symbol was named
	Cache  Source = "engine_cache" // the engine's rolling window
	Fetch  Source = "fetched"      // read from a provider for this request
)

// Provenance describes the origin and quality of the numbers.
type Provenance struct {
	Source        Source
	Provider      string
	AsOf          time.Time // when the newest bar was read; zero for sample data
	LastBarClosed bool
	Cut           int64 // open time of the bar in which the end of the request lies, which is left out; 0 for none
	Stale         bool  // older bars, because the provider did not answer
	WarmupOK      bool  // every indicator had the history it needs
	// BuiltFrom is the interval that the bars were built from, if the venue lacks
	// theirs; Holes counts the missing bars of it, or else of their own interval, among
	// those shown.
	BuiltFrom market.Interval
	Holes     int
	Calendar  market.Calendar
}

// Chart is bars and indicator results. Every result has exactly one entry per bar.
type Chart struct {
	Symbol       string        // as shown
	Instrument   market.Symbol // in the venue's spelling, with the venue; not shown
	Interval     market.Interval
	Bars         *market.Bars
	Indicators   []Indicator
	Alerts       []Alert // the caller's, on the price of this symbol
	Account      Account // the caller's, in this symbol
	Compared     []Compared
	Drawings     []Drawing
	MoreDrawings int // that are kept and had no room
	Provenance
}

// Alert is an active price alert.
type Alert struct {
	ID        string
	Type      string // price_above, price_below or price_crosses
	Threshold string // in decimal digits, as it was given
	Note      string
}

// Indicator is one result under the key it is published with.
type Indicator struct {
	Key    string
	Result *ta.Result
}

// sample reports whether the bars are synthetic and have no times.
func (c *Chart) sample() bool { return c.Source == Sample }

// Keys returns the key for each requested name: the name as written, with a number
// from the second of the same name on. Numbers that would clash with another name are
// skipped.
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

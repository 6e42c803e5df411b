package source

import (
	"context"
	"time"

	"candela/internal/data/listing"
	"candela/internal/data/marketdata"
	"candela/internal/serve/console"
	"candela/lib/market"
)

// Market reads prices and symbols for the console's pages.
type Market struct{ Bars Bars }

// Bars has the bars and symbols of venues.
type Bars interface {
	Bars(ctx context.Context, r marketdata.Request) (marketdata.BarSet, error)
	Find(ctx context.Context, q listing.Query) (found []listing.Instrument, total int)
}

// maxCloses is how many closes are read at most.
const maxCloses = 500

// Closes returns closes a minute apart, or 15 where the time is long.
func (m Market) Closes(ctx context.Context, s market.Symbol, since time.Time) ([]float64, error) {
	interval, length := market.Minute1, time.Since(since)
	if length > 2*time.Hour {
		interval = market.Minute15
	}
	count := int(length/time.Second)/int(interval.Seconds()) + 1
	set, err := m.Bars.Bars(ctx, marketdata.Request{Symbol: s, Interval: interval, Bars: min(count, maxCloses)})
	if err != nil {
		return nil, err
	}
	var all []float64
	for i := range set.Bars.Len() {
		if b := set.Bars.At(i); b.T+interval.Seconds() > since.Unix() {
			all = append(all, b.C)
		}
	}
	return all, nil
}

// Day returns the closes of the last two daily bars, of which the last one may be running.
func (m Market) Day(ctx context.Context, s market.Symbol) (before, last float64, err error) {
	set, err := m.Bars.Bars(ctx, marketdata.Request{Symbol: s, Interval: market.Day1, Bars: 2})
	if err != nil {
		return 0, 0, err
	}
	n := set.Bars.Len()
	if n == 0 {
		return 0, 0, nil
	}
	return set.Bars.C[max(0, n-2)], set.Bars.C[n-1], nil
}

// Currency returns the quote currency of a symbol that is listed.
func (m Market) Currency(ctx context.Context, s market.Symbol) string {
	found, _ := m.Bars.Find(ctx, listing.Query{Text: s.Name, Venue: s.Venue, Limit: 5})
	for _, one := range found {
		if one.Symbol.Name == s.Name {
			return one.Quote
		}
	}
	return ""
}

// maxKnown is how many symbols the console offers to choose from.
const maxKnown = 150

// Known returns the best-known symbols of each venue.
func (m Market) Known(ctx context.Context) []console.Known {
	found, _ := m.Bars.Find(ctx, listing.Query{Limit: maxKnown})
	all := make([]console.Known, 0, len(found))
	for _, one := range found {
		if !one.Locked {
			all = append(all, console.Known{Use: one.Use, Name: one.Name})
		}
	}
	return all
}

package marketdata

import (
	"context"
	"time"

	"candela/lib/fault"
	"candela/lib/market"
)

// maxSince is how many bars Since reads.
const maxSince = 500

// Since returns the bars of a symbol since a time, as fine as a few hundred of them allow. Bars that read could not
// bring up to date are an error.
func Since(ctx context.Context, read func(context.Context, Request) (BarSet, error), s market.Symbol, since time.Time) ([]market.Bar, error) {
	interval, now := market.Minute1, time.Now()
	for interval < market.Day1 && int64(now.Sub(since).Seconds())/interval.Seconds() > maxSince {
		interval++
	}
	set, err := read(ctx, Request{Symbol: s, Interval: interval, Bars: maxSince + 2, Start: since.Unix() / interval.Seconds() * interval.Seconds()})
	switch {
	case err != nil:
		return nil, err
	case set.Stale:
		return nil, fault.New(fault.Unavailable, "stale", "%s does not respond", s.Venue)
	}
	var all []market.Bar
	for i := range set.Bars.Len() {
		if b := set.Bars.At(i); b.T+interval.Seconds() > since.Unix() {
			all = append(all, b)
		}
	}
	return all, nil
}

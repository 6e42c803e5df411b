package past

import (
	"context"
	"slices"

	"candela/internal/data/marketdata"
	"candela/internal/work/charting"
	"candela/lib/market"
)

const (
	mostShorter    = 60_000 // shorter bars of one back-test; earlier bars are not magnified
	shorterAtATime = 15_000
)

// ShorterThan returns the interval whose bars magnify those of another, 0 if none is shorter.
// They are those that TradingView takes, or the next shorter that venues have.
func ShorterThan(i market.Interval) market.Interval {
	for _, row := range []struct {
		up, take market.Interval
	}{
		{market.Minute1, 0},
		{market.Minute15, market.Minute1},
		{market.Hour1, market.Minute5},
		{market.Hour2, market.Minute15},
		{market.Hour12, market.Minute30},
		{market.Day1, market.Hour1},
		{market.Day3, market.Hour4},
		{market.Month1, market.Day1},
	} {
		if i <= row.up {
			return row.take
		}
	}
	return 0
}

// ReadShorter reads bars from one time to another, the newest first and at most so many.
func ReadShorter(ctx context.Context, source charting.BarSource, symbol market.Symbol, i market.Interval, from, to int64) (*market.Bars, error) {
	var parts []market.Bars
	n := 0
	for end := to; n < mostShorter && end > from; {
		set, err := source.Bars(ctx, marketdata.Request{Symbol: symbol, Interval: i, Bars: shorterAtATime, Start: from, End: end, Background: true, Closed: true})
		if err != nil {
			if len(parts) > 0 && ctx.Err() == nil {
				break // the venue has no more
			}
			return nil, err
		}
		part := set.Bars.Slice(set.Bars.Search(from), set.Bars.Search(end))
		if part.Len() == 0 {
			break
		}
		parts, n, end = append(parts, part), n+part.Len(), part.T[0]
	}
	out := market.MakeBars(n, false)
	for _, part := range slices.Backward(parts) {
		for k := range part.Len() {
			out.Append(part.At(k))
		}
	}
	return &out, nil
}

package provider

import (
	"context"

	"candela/internal/market"
)

// SeriesSource returns values that do not come with bars, such as the funding rate
// of a future. A Provider may be one; so may a source that has nothing else. It
// is safe for concurrent use and leaves no goroutine behind when a call returns.
type SeriesSource interface {
	// Name is that of the provider, or of the publisher.
	Name() string
	// SeriesNames lists what there is, by the names indicators ask with:
	// "funding_rate" as a fraction per funding period, "open_interest" in quote
	// currency, "long_accounts" as a share from 0 to 1, "fear_greed" from 0 to 100.
	SeriesNames() []string
	// Series returns the points that answer q, all pages of them. Errors are as
	// those of Provider.
	Series(ctx context.Context, q SeriesQuery) ([]Point, error)
}

// SeriesQuery asks for the points that were known from From to To, in unix
// seconds: those in between, and the last one before From where the source goes
// back that far.
type SeriesQuery struct {
	Name     string
	Symbol   market.Symbol   // zero for a series of the whole market
	Interval market.Interval // of the bars the points will stand beside: a source with several resolutions need not be finer
	From, To int64           // both inclusive
}

// Point is a value from the time it was known. Points ascend in T.
type Point struct {
	T int64 // unix seconds
	V float64
}

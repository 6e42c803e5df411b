package charting

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/work/charting/payload"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

// maxComparedBars bounds the bars of one symbol to compare with. A market that never closes
// has five times as many as one with sessions over the same time.
const maxComparedBars = 15_000

// checkCompared rejects symbols that have nothing to be compared with, and symbols that
// are drawn already.
func checkCompared(s market.Symbol, others []market.Symbol) error {
	switch {
	case len(others) == 0:
		return nil
	case s.IsZero():
		return fault.Missing("symbol", "compare needs one, because sample data has no dates")
	case len(others) > chart.MaxCompared:
		return fault.Field("compare", fmt.Sprintf("%d symbols", len(others)), fmt.Sprintf("at most %d", chart.MaxCompared))
	}
	for i, other := range others {
		if other == s || slices.Contains(others[:i], other) {
			return repeated(other)
		}
	}
	return nil
}

func repeated(s market.Symbol) error {
	return fault.Field("compare", s.String(), "each symbol once, and not the symbol of the chart")
}

// readCompared reads the bars of the symbols to compare with, from the first bar of shown
// on, all of them at the same time.
func readCompared(ctx context.Context, source BarSource, q *Request, main *marketdata.BarSet, shown *market.Bars) ([]marketdata.BarSet, error) {
	if len(q.Compare) == 0 {
		return nil, nil
	}
	requests := make([]marketdata.Request, len(q.Compare))
	for i, s := range q.Compare {
		// One more than shown: at the first bar, the last known close may be older.
		requests[i] = marketdata.Request{Symbol: s, Interval: q.Interval, Bars: shown.Len() + 1, End: q.Range.End}
	}
	sets, err := marketdata.ReadAll(ctx, requests, func(ctx context.Context, r marketdata.Request) (marketdata.BarSet, error) {
		set, err := readBack(ctx, source, r, shown.T[0])
		if err != nil {
			return set, comparedError(err, r.Symbol)
		}
		return set, nil
	})
	if err != nil {
		return nil, err
	}
	for i := range sets {
		same := func(s marketdata.BarSet) bool { return s.Instrument == sets[i].Instrument }
		if same(*main) || slices.ContainsFunc(sets[:i], same) {
			return nil, repeated(q.Compare[i])
		}
	}
	return sets, nil
}

// readBack reads the bars of r and, if they begin after the time from, as many more as
// reach back to it.
func readBack(ctx context.Context, source BarSource, r marketdata.Request, from int64) (marketdata.BarSet, error) {
	set, err := source.Bars(ctx, r)
	if err != nil {
		return set, err
	}
	need := reaching(&set, r, from)
	switch {
	case need == 0:
		return set, nil
	case need > maxComparedBars:
		r.Bars = maxComparedBars
		if set, err = source.Bars(ctx, r); err != nil || set.Bars.Len() < maxComparedBars {
			return set, err // all that there are: the calendar counts those before the first one too
		}
		return set, fault.Field("compare", r.Symbol.String(),
			fmt.Sprintf("fewer bars or a longer interval: it has %d %s bars in the time of the chart, and %d can be compared", need, r.Interval, maxComparedBars))
	}
	r.Bars = need
	return source.Bars(ctx, r)
}

// reaching returns how many bars must be read to reach back to the time from, 0 if those of the set
// do, or if there are no more.
func reaching(set *marketdata.BarSet, r marketdata.Request, from int64) int {
	n := set.Bars.Len()
	if n < r.Bars || n == 0 || set.Bars.T[0] <= from {
		return 0
	}
	return max(set.Calendar.Count(r.Interval, market.Span{Open: from, Close: set.Bars.T[n-1] + 1})+1, r.Bars+1)
}

// comparedError says which of the symbols an error is about.
func comparedError(err error, s market.Symbol) error {
	e := fault.Of(err)
	if e == nil {
		return fmt.Errorf("compare %s: %w", s, err)
	}
	named := *e
	if named.Field != "compare" {
		named.Field, named.Message = "compare", "compare "+s.String()+": "+e.Public()
	}
	if named.Value == "" {
		named.Value = s.String()
	}
	return &named
}

// compared returns the percent change of each set at each bar of shown since its first
// known close. The value of a bar is that of the last close known at the bar's own close.
func compared(sets []marketdata.BarSet, shown *market.Bars, i market.Interval, c market.Calendar) ([]payload.Compared, error) {
	all := make([]payload.Compared, 0, len(sets))
	for k := range sets {
		set := &sets[k]
		closes := closingPoints(set, i)
		if len(closes) == 0 || closes[len(closes)-1].T <= shown.T[0] {
			return nil, noComparedBars(set, shown, i)
		}
		values := marketdata.AlignToBars(closes, shown, i, c, time.Time{})
		first := slices.IndexFunc(values, func(v float64) bool { return !math.IsNaN(v) })
		if first < 0 {
			return nil, noComparedBars(set, shown, i)
		}
		base := values[first]
		for n, v := range values {
			values[n] = market.ChangePct(base, v)
		}
		all = append(all, payload.Compared{Symbol: set.Symbol.String(), Provider: set.Provider, Stale: set.Stale, Since: shown.T[first], Values: values})
	}
	return all, nil
}

// closingPoints returns the closes of a set with the times at which they were known. The
// close of a forming bar is known since it was read.
func closingPoints(set *marketdata.BarSet, i market.Interval) []provider.Point {
	points := make([]provider.Point, set.Bars.Len())
	for k, t := range set.Bars.T {
		points[k] = provider.Point{T: set.Calendar.CloseOf(i, t), V: set.Bars.C[k]}
	}
	if last := len(points) - 1; last >= 0 && set.Forming && !set.AsOf.IsZero() {
		points[last].T = min(points[last].T, set.AsOf.Unix())
	}
	return points
}

func noComparedBars(set *marketdata.BarSet, shown *market.Bars, i market.Interval) error {
	first, last := market.Stamp(shown.T[0]), market.Stamp(shown.T[shown.Len()-1])
	return &fault.Error{
		Kind: fault.NotFound, Code: "no_bars", Field: "compare", Value: set.Symbol.String(),
		Message: fmt.Sprintf("compare %s: %s has no %s bars of it from %s to %s; remove it, or choose another time", set.Symbol, set.Provider, i, first, last),
	}
}

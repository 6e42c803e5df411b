package charting

import (
	"fmt"

	"candela/internal/data/marketdata"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

// TimeRange selects bars by their open times, in Unix seconds. A zero bound is absent.
type TimeRange struct {
	Start int64 // inclusive
	End   int64 // exclusive
}

// check rejects a range without bars, and one of sample data, which has no times.
func (r *TimeRange) check(s market.Symbol) error {
	switch {
	case *r == (TimeRange{}):
		return nil
	case s.IsZero():
		return fault.Missing("symbol", "start and end need one, because sample data has no dates")
	case r.Start != 0 && r.End != 0 && r.Start >= r.End:
		return fault.Field("start", market.Stamp(r.Start), "a time up to end, "+market.Stamp(r.End-1))
	}
	return nil
}

// most is the number of bars to read for a chart that shows up to bars of them, or all of
// the range: one more than may be shown, to see whether there are too many.
func (r *TimeRange) most(bars int) int {
	if r.Start != 0 && bars == 0 {
		return chart.MaxBars + 1
	}
	return bars
}

// shown returns the bars of the set that a request shows, at least one.
func (r *TimeRange) shown(set *marketdata.BarSet, bars int, i market.Interval) (market.Bars, error) {
	all := set.Bars.Tail(r.most(bars))
	if r.Start == 0 {
		return all, nil
	}
	all = all.Slice(all.Search(r.Start), all.Len())
	switch n := all.Len(); {
	case n == 0:
		newest := set.Bars.T[set.Bars.Len()-1]
		return all, &fault.Error{
			Kind: fault.NotFound, Code: "no_bars", Field: "start", Value: market.Stamp(r.Start),
			Message: fmt.Sprintf("%s has no %s bars of %s in that time; the newest before it is of %s, so try an earlier start", set.Provider, i, set.Symbol, market.Stamp(newest)),
		}
	case bars == 0 && n > chart.MaxBars:
		message := fmt.Sprintf("start: more than %d %s bars lie between start and end", chart.MaxBars, i)
		e := fault.Field("start", market.Stamp(r.Start), "a later start, a longer interval, or bars for the newest of them", market.Stamp(all.T[n-chart.MaxBars]))
		e.Message = message + "; use " + e.Allowed
		return all, e
	}
	return all, nil
}

package tool

import (
	"encoding/json"
	"fmt"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/kit/strictjson"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

// TimeRange selects bars by their open times, in Unix seconds. A zero bound is absent.
type TimeRange struct {
	Start int64 // inclusive
	End   int64 // exclusive
}

func (r *TimeRange) startArg(doc string) arg { return momentArg("start", &r.Start, 0, doc) }
func (r *TimeRange) endArg(doc string) arg   { return momentArg("end", &r.End, 1, doc) }

const momentAllowed = "a date such as 2026-01-31, or a time such as 2026-01-31T16:00:00Z, after 1970"

// momentArg is a time in RFC 3339 or a date, read as the start of the day in UTC. after is
// added in units of what was given, so that 1 makes the end exclusive: the next day after
// a date, and the next second after a time.
func momentArg(name string, dst *int64, after int, doc string) arg {
	return newArg(name, dst, momentAllowed, &schema{Type: "string", Description: doc}, func(raw json.RawMessage) (int64, error) {
		value, _ := strictjson.Text(raw)
		at, ok := parseMoment(value, after)
		if !ok {
			return 0, fault.Field(name, quoteValue(raw), momentAllowed)
		}
		return at, nil
	})
}

// parseMoment reads a moment in Unix seconds, as momentArg describes it.
func parseMoment(value string, after int) (int64, bool) {
	at, err := time.Parse(time.DateOnly, value)
	if err == nil {
		at = at.AddDate(0, 0, after)
	} else if at, err = time.Parse(time.RFC3339, value); err == nil {
		at = at.Add(time.Duration(after) * time.Second)
	}
	return at.Unix(), err == nil && at.Unix() > 0
}

// check rejects a range without bars, and one of sample data, which has no times.
func (r *TimeRange) check(s market.Symbol) error {
	switch {
	case *r == (TimeRange{}):
		return nil
	case s.IsZero():
		return fault.Missing("symbol", "start and end need one, because sample data has no dates")
	case r.Start != 0 && r.End != 0 && r.Start >= r.End:
		return fault.Field("start", unixText(r.Start), "a time up to end, "+unixText(r.End-1))
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
			Kind: fault.NotFound, Code: "no_bars", Field: "start", Value: unixText(r.Start),
			Message: fmt.Sprintf("%s has no %s bars of %s in that time; the newest before it is of %s, so try an earlier start", set.Provider, i, set.Symbol, unixText(newest)),
		}
	case bars == 0 && n > chart.MaxBars:
		message := fmt.Sprintf("start: more than %d %s bars lie between start and end", chart.MaxBars, i)
		e := fault.Field("start", unixText(r.Start), "a later start, a longer interval, or bars for the newest of them", unixText(all.T[n-chart.MaxBars]))
		e.Message = message + "; use " + e.Allowed
		return all, e
	}
	return all, nil
}

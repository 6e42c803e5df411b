package evaluate_test

import (
	"testing"
	"time"

	"candela/internal/alerting/evaluate"
	"candela/lib/market"
)

// TestLonger_KnowsWhichBarIsStillToCome holds that a close waits for the longer bar that ends with it or before it, and for none
// without trades.
func TestLonger_KnowsWhichBarIsStillToCome(t *testing.T) {
	t.Parallel()
	stock, err := market.NewCalendar(market.USEquities())
	if err != nil {
		t.Fatal(err)
	}
	at := func(day, hour, minute int) int64 { return time.Date(2026, 1, day, hour, minute, 0, 0, time.UTC).Unix() }
	for name, c := range map[string]struct {
		calendar  market.Calendar
		on        market.Interval
		newest    int64 // of the longer bars
		bar, prev int64
		lacks     bool
	}{
		"in the middle":                          {market.Calendar{}, market.Hour4, at(5, 0, 0), at(5, 5, 0), at(5, 4, 0), false},
		"both close, the longer is there":        {market.Calendar{}, market.Hour4, at(5, 4, 0), at(5, 7, 0), at(5, 6, 0), false},
		"both close, the longer is not":          {market.Calendar{}, market.Hour4, at(5, 0, 0), at(5, 7, 0), at(5, 6, 0), true},
		"the last bar of the longer is a hole":   {market.Calendar{}, market.Hour4, at(5, 0, 0), at(5, 8, 0), at(5, 6, 0), true},
		"and the longer has come":                {market.Calendar{}, market.Hour4, at(5, 4, 0), at(5, 8, 0), at(5, 6, 0), false},
		"a longer bar without trades":            {market.Calendar{}, market.Hour4, at(5, 0, 0), at(5, 9, 0), at(5, 3, 0), false},
		"a later one shows that it has a hole":   {market.Calendar{}, market.Hour4, at(5, 8, 0), at(5, 7, 0), at(5, 6, 0), false},
		"the first bar":                          {market.Calendar{}, market.Hour4, at(5, 0, 0), at(5, 5, 0), 0, false},
		"a session ends, its day is not there":   {stock, market.Day1, at(5, 14, 30), at(6, 20, 30), at(6, 19, 30), true},
		"a session ends, its day is there":       {stock, market.Day1, at(6, 14, 30), at(6, 20, 30), at(6, 19, 30), false},
		"a half day ended before, without a bar": {stock, market.Day1, at(5, 14, 30), at(7, 14, 30), at(6, 17, 30), true},
		"a day within a session":                 {stock, market.Day1, at(5, 14, 30), at(6, 15, 30), at(6, 14, 30), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bars market.Bars
			bars.Append(market.Bar{T: c.newest, C: 1})
			l := evaluate.Longer{Interval: c.on, Own: market.Hour1, Calendar: c.calendar, Bars: &bars}
			if got := l.Lacks(market.Bar{T: c.bar}, market.Bar{T: c.prev}); got != c.lacks {
				t.Errorf("lacks: %v", got)
			}
		})
	}
}

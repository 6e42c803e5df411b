package tool_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/work/charting"
	"candela/internal/work/charting/payload"
	"candela/lib/market"
)

// given serves the bars it has.
type given struct{ set marketdata.BarSet }

func (g given) Bars(context.Context, marketdata.Request) (marketdata.BarSet, error) {
	return g.set, nil
}

// TestCompute_CountsTheHolesOfAVenuesOwnBars leaves bars out and looks for them in
// the answer: of a market that never closes, and of an exchange, whose weekends and
// holidays are no holes.
func TestCompute_CountsTheHolesOfAVenuesOwnBars(t *testing.T) {
	t.Parallel()
	exchange, err := market.NewCalendar(market.UTCWeekdays())
	if err != nil {
		t.Fatal(err)
	}
	monday := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	const hour, day = 3600, 86400
	for name, tc := range map[string]struct {
		calendar market.Calendar
		interval market.Interval
		step     int64
		without  func(t int64) bool
		offset   int64
		want     string
	}{
		"none":                       {market.Calendar{}, market.Hour1, hour, func(int64) bool { return false }, 0, ""},
		"120 hours":                  {market.Calendar{}, market.Hour1, hour, func(t int64) bool { return t >= 100*hour && t < 220*hour }, 0, `"holes":120`},
		"two of many days":           {market.Calendar{}, market.Day1, day, func(t int64) bool { return t == 3*day || t == 9*day }, 0, `"holes":2`},
		"weekends and a holiday":     {exchange, market.Day1, day, func(t int64) bool { return t/day%7 > 4 || t == 9*day }, 0, ""},
		"a week of an exchange":      {exchange, market.Day1, day, func(t int64) bool { return t/day%7 > 4 || t/day/7 == 2 }, 0, `"holes":5`},
		"bars of another calendar":   {market.Calendar{}, market.Hour1, hour, func(t int64) bool { return t >= 100*hour && t < 220*hour }, 1800, ""},
		"hours missing in a session": {exchange, market.Hour1, hour, func(t int64) bool { return t/day%7 > 4 || t >= 30*hour && t < 33*hour }, 0, `"holes":3`},
	} {
		var bars market.Bars
		for i := range int64(400) {
			if t := i * tc.step; !tc.without(t) {
				bars.Append(market.Bar{T: monday + t + tc.offset, O: 1, H: 1, L: 1, C: 1, V: 1})
			}
		}
		set := marketdata.BarSet{Symbol: market.Symbol{Name: "X"}, Bars: bars, Calendar: tc.calendar, Provider: "test"}
		shown, err := charting.Compute(t.Context(), given{set}, charting.Request{Interval: tc.interval, Bars: bars.Len()})
		if err != nil {
			t.Fatal(err)
		}
		text := string(payload.AppendSummary(nil, shown))
		if tc.want == "" && strings.Contains(text, `"holes"`) || !strings.Contains(text, tc.want) || !strings.Contains(text, `"calendar":"`+tc.calendar.String()+`"`) {
			t.Errorf("%s: want %q in %s", name, tc.want, text)
		}
	}
}

package market_test

import (
	"testing"
	"time"

	"candela/lib/market"
)

func TestCalendar_String(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]market.Hours{
		"Mon-Fri 09:30-16:00 America/New_York": market.USEquities(),
		"Mon-Fri 00:00-24:00 UTC":              market.UTCWeekdays(),
		"Mon,Sun 10:00-17:15 Asia/Riyadh":      {Zone: "Asia/Riyadh", Open: 10 * time.Hour, Close: 17*time.Hour + 15*time.Minute, Days: []time.Weekday{time.Sunday, time.Monday}},
	} {
		c, err := market.NewCalendar(h)
		if err != nil {
			t.Fatal(err)
		}
		if c.String() != want || c.Guessed() || !c.AsGuess().Guessed() {
			t.Errorf("got %v, want %s", c, want)
		}
	}
	if got := (market.Calendar{}).String(); got != "24/7" {
		t.Errorf("round the clock is %q", got)
	}
}

// TestCalendar_MissedLeavesHolidaysOut counts gaps of whole sessions up to three as
// holidays and everything else as missing.
func TestCalendar_MissedLeavesHolidaysOut(t *testing.T) {
	t.Parallel()
	c, err := market.NewCalendar(market.UTCWeekdays())
	if err != nil {
		t.Fatal(err)
	}
	const day = 86400
	monday := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for name, tc := range map[string]struct {
		absent []int // days of four weeks from a Monday on
		want   int
	}{
		"nothing":         {nil, 0},
		"a holiday":       {[]int{2}, 0},
		"three days":      {[]int{8, 9, 10}, 0},
		"four days":       {[]int{7, 8, 9, 10}, 4},
		"over a weekend":  {[]int{4, 7}, 0},
		"a week and more": {[]int{7, 8, 9, 10, 11, 14}, 6},
	} {
		var bars market.Bars
		for d := range 28 {
			absent := d%7 > 4
			for _, a := range tc.absent {
				absent = absent || a == d
			}
			if !absent {
				bars.Append(market.Bar{T: monday + int64(d)*day, O: 1, H: 1, L: 1, C: 1})
			}
		}
		holes, err := market.Gaps(&bars, market.Day1, c)
		if err != nil || c.Missed(holes.Gaps) != tc.want {
			t.Errorf("%s: %d missed of %+v, want %d; %v", name, c.Missed(holes.Gaps), holes, tc.want, err)
		}
	}
	if got := (market.Calendar{}).Missed([]market.Gap{{From: monday, To: monday + 5*day, Missing: 120}}); got != 120 {
		t.Errorf("round the clock %d are missed of 120", got)
	}
}

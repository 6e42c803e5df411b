package chart

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCivil_AgreesWithTheCalendar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unix := rapid.Int64Range(-62_000_000_000, 250_000_000_000).Draw(t, "unix")
		at := time.Unix(unix, 0).UTC()
		c := civilOf(unix)
		if c.year != at.Year() || c.day != at.Day() || c.month != at.Year()*12+int(at.Month())-1 || c.minute != at.Hour()*60+at.Minute() {
			t.Fatalf("%v is %+v", at, c)
		}
		monday := civilOf(unix - int64((at.Weekday()+6)%7)*daySeconds)
		if monday.week != c.week || civilOf(unix+7*daySeconds).week != c.week+1 {
			t.Fatalf("%v is in week %d, its Monday in %d", at, c.week, monday.week)
		}
	})
}

// labels returns the texts of a time axis, bold ones with a star.
func labels(times []int64, per float64) []string {
	ticks, _ := timeTicks(nil, times, per, timeTickGap, nil)
	var out []string
	for _, t := range ticks {
		if t.bold {
			t.text += "*"
		}
		out = append(out, t.text)
	}
	return out
}

func every(from string, step time.Duration, n int) []int64 {
	at, err := time.Parse("2006-01-02 15:04", from)
	if err != nil {
		panic(err)
	}
	times := make([]int64, n)
	for i := range times {
		times[i] = at.Add(time.Duration(i) * step).Unix()
	}
	return times
}

func TestTimeTicks_NameTheBoundaryCrossed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		times []int64
		per   float64
		want  []string
	}{
		"two days apart, the month in bold": {
			every("2025-01-02 00:00", 4*time.Hour, 200), 6,
			[]string{"3", "5", "7", "9", "11", "13", "15", "17", "19", "21", "23", "25", "27", "29", "Feb*", "3"},
		},
		"hours within days": {
			every("2025-03-09 22:00", time.Hour, 40), 12,
			[]string{"10", "06:00", "12:00", "18:00", "11", "06:00", "12:00"},
		},
		"minutes":         {every("2025-03-09 23:50", time.Minute, 30), 14, []string{"23:50", "23:55", "10", "00:05", "00:10", "00:15"}},
		"months and year": {every("2024-10-15 00:00", 24*time.Hour, 200), 5, []string{"16", "Nov*", "16", "Dec*", "16", "2025*", "16", "Feb*", "16", "Mar*", "16", "Apr*", "16", "May*"}},
		"half months that do not fit give way to months": {
			every("2025-01-02 00:00", 4*time.Hour, 600), 0.67,
			[]string{"Feb*", "Mar*", "Apr*"},
		},
		"one bar": {every("2025-03-09 10:30", time.Hour, 1), 64, []string{"10:30"}},
	}
	for name, tc := range cases {
		if got := labels(tc.times, tc.per); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestTimeTicks_KeepTheirDistance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(0, 4_000_000_000).Draw(t, "from")
		step := rapid.SampledFrom([]int64{60, 300, 3600, 4 * 3600, 86400, 7 * 86400, 2629746}).Draw(t, "step")
		times := make([]int64, rapid.IntRange(1, 400).Draw(t, "n"))
		for i := range times {
			times[i] = at
			at += step
			if rapid.IntRange(0, 9).Draw(t, "gap") == 0 {
				at += step * rapid.Int64Range(1, 60).Draw(t, "hole")
			}
		}
		per := rapid.Float64Range(0.3, 64).Draw(t, "per")
		ticks, _ := timeTicks(nil, times, per, timeTickGap, nil)
		for i := 1; i < len(ticks); i++ {
			if d := float64(ticks[i].bar-ticks[i-1].bar) * per; d < timeTickGap {
				t.Fatalf("%v and %v are %.1f px apart", ticks[i-1], ticks[i], d)
			}
		}
	})
}

func TestRangeText_HasTheYear(t *testing.T) {
	t.Parallel()
	day := time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC).Unix()
	for want, got := range map[string]string{
		"2 Jan 2025 \u2013 4 Feb 2025 04:00 UTC":  rangeText(day, day+33*86400+4*3600, true),
		"2 Jan 2025 \u2013 4 Feb 2025":            rangeText(day, day+33*86400, false),
		"2 Jan 2025 00:00 \u2013 00:59 UTC":       rangeText(day, day+59*60, true),
		"2 Jan 2025 00:00 UTC":                    rangeText(day, day, true),
		"31 Dec 2024 \u2013 2 Jan 2025 00:00 UTC": rangeText(day-2*86400, day, true),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

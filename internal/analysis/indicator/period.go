package indicator

import (
	"time"

	"candela/internal/market"
)

// periodOf numbers the calendar periods of a market: two bars belong to one
// period exactly when the numbers are equal. Days are dates in the market's own
// zone, weeks begin on Monday.
func periodOf(c market.Calendar, unit string, t int64) int64 {
	if unit == "hour" {
		return t / 3600
	}
	local := time.Unix(t, 0).In(c.Zone())
	year, month, _ := local.Date()
	switch unit {
	case "week":
		// The Thursday of a week names it; that of 1970-01-01 is week 0.
		_, offset := local.Zone()
		return floorDiv(floorDiv(t+int64(offset), 24*3600)+3, 7)
	case "month":
		return int64(12*year + int(month) - 1)
	case "quarter":
		return int64(4*year + (int(month)-1)/3)
	case "year":
		return int64(year)
	}
	_, offset := local.Zone()
	return floorDiv(t+int64(offset), 24*3600)
}

// periodBars is how many bars a period holds at most, and at least one.
func periodBars(i market.Interval, unit string) int {
	const hour, day = 3600, 24 * 3600
	seconds := map[string]int64{
		"hour": hour, "session": day, "day": day, "week": 7 * day, "month": 31 * day, "quarter": 92 * day, "year": 366 * day,
	}[unit]
	return int(max(1, seconds/max(1, i.Seconds())))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

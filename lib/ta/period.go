package ta

import (
	"time"

	"candela/lib/market"
	"candela/lib/ta/calc"
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
	_, offset := local.Zone()
	day := int64(calc.SlotOf(t+int64(offset), 24*3600))
	switch unit {
	case "week":
		// The Thursday of a week names it; that of 1970-01-01 is week 0.
		return int64(calc.SlotOf(day+3, 7))
	case "month":
		return int64(12*year + int(month) - 1)
	case "quarter":
		return int64(4*year + (int(month)-1)/3)
	case "year":
		return int64(year)
	}
	return day
}

// periodBars is how many bars a period holds at most, and at least one.
func periodBars(i market.Interval, unit string) int {
	const hour, day = 3600, 24 * 3600
	seconds := map[string]int64{
		"hour": hour, "session": day, "day": day, "week": 7 * day, "month": 31 * day, "quarter": 92 * day, "year": 366 * day,
	}[unit]
	return int(max(1, seconds/max(1, i.Seconds())))
}

// slots returns the times of the bars for windowed kernels, so that a value does not
// depend on where the history began.
func (in Input) slots() calc.Slots {
	if even(in.Interval) {
		return calc.Slots{T: in.Bars.T, Step: max(1, in.Interval.Seconds())}
	}
	numbers := make([]int64, in.Bars.Len())
	for i, t := range in.Bars.T {
		numbers[i] = in.Interval.Slot(t)
	}
	return calc.Slots{T: numbers, Step: 1}
}

// slotOf is the slot of one bar, equal to that of slots.
func slotOf(i market.Interval, t int64) calc.Slot {
	if !even(i) {
		return calc.SlotOf(i.Slot(t), 1)
	}
	return calc.SlotOf(t, max(1, i.Seconds()))
}

// even reports whether the bars of an interval are equally long; those of an unknown one count as such.
func even(i market.Interval) bool { return i.Even() || !i.Valid() }

// evenSeconds returns how far apart the times of two slots in a row are; 0 if that varies.
func evenSeconds(i market.Interval) int64 {
	if !even(i) {
		return 0
	}
	return max(1, i.Seconds())
}

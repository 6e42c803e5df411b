package ta

import (
	"math"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

// days joins bars to days of the market's calendar. A bar of a day or more is a day.
type days struct {
	calendar market.Calendar
	whole    bool // each bar is a day
	cells    calc.Cells
}

// The cells of days.
const (
	dayDate = iota
	dayHigh
	dayLow
	dayCount // days begun
	dayCells
)

func newDays(m *calc.Slab, env Env) days {
	return days{calendar: env.Calendar, whole: periodBars(env.Interval, "day") == 1, cells: m.Cells(dayCells)}
}

// next takes a bar and reports whether a whole day ended: with this bar or before it.
// day numbers it. The first day of a history may be a part of one and does not count.
func (d days) next(r *Row) (high, low float64, day calc.Slot, ended bool) {
	if d.whole {
		return r.Bar.H, r.Bar.L, r.Slot, true
	}
	m := d.cells.Mem()
	date := float64(periodOf(d.calendar, "day", r.Bar.T))
	if r.Index == 0 || date != m[dayDate] {
		high, low, day, ended = m[dayHigh], m[dayLow], calc.Slot(m[dayDate]), m[dayCount] > 1
		m[dayDate], m[dayHigh], m[dayLow] = date, math.Inf(-1), math.Inf(1)
		m[dayCount]++
	}
	if !math.IsNaN(r.Bar.H) && !math.IsNaN(r.Bar.L) {
		m[dayHigh], m[dayLow] = max(m[dayHigh], r.Bar.H), min(m[dayLow], r.Bar.L)
	}
	return high, low, day, ended
}

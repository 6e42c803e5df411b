package eval

import (
	"math"
	"strconv"
	"time"

	"candela/lib/market"
)

// zone is the exchange's time zone.
func (m *Machine) zone() *time.Location {
	if z := m.env.Calendar.Zone(); z != nil {
		return z
	}
	return time.UTC
}

// timeframeOf spells an interval as timeframe.period does.
func timeframeOf(i market.Interval, version int) string {
	n, unit := timeframeParts(i)
	if n == 1 && version < 6 && unit != "" && unit != "S" {
		return unit
	}
	return strconv.Itoa(n) + unit
}

// Timeframe spells an interval as Pine 6 does: 1h is 60, 1d is 1D.
func Timeframe(i market.Interval) string { return timeframeOf(i, 6) }

// timeframeParts returns a number of units and the letter of the unit as timeframes have them: S, none for minutes,
// D, W or M.
func timeframeParts(i market.Interval) (n int, unit string) {
	s := int(i.Seconds())
	switch {
	case i.Months() > 0:
		return i.Months(), "M"
	case i.Weeks() > 0:
		return i.Weeks(), "W"
	case i >= market.Day1:
		return s / 86_400, "D"
	case s%60 == 0:
		return s / 60, ""
	default:
		return s, "S"
	}
}

// ofInterval is a variable of the chart's interval, ofLength one that asks for its length.
func ofInterval(of func(c *compiler, i market.Interval) float64) variable {
	return variable{fixed: func(c *compiler) float64 { return of(c, c.m.env.Interval) }}
}

func ofLength(is func(i market.Interval) bool) variable {
	return ofInterval(func(_ *compiler, i market.Interval) float64 { return toFloat(is(i)) })
}

// timeframeVariables are those of the chart's interval.
func timeframeVariables() variables {
	return variables{
		"timeframe.isdaily":     ofUnit("D"),
		"timeframe.isdwm":       ofLength(func(i market.Interval) bool { return !isIntraday(i) }),
		"timeframe.isintraday":  ofLength(isIntraday),
		"timeframe.isminutes":   ofUnit(""),
		"timeframe.ismonthly":   ofUnit("M"),
		"timeframe.isseconds":   ofUnit("S"),
		"timeframe.isticks":     always(0),
		"timeframe.isweekly":    ofUnit("W"),
		"timeframe.main_period": {fixed: func(c *compiler) float64 { return period(c, c.m.main) }},
		"timeframe.multiplier":  ofInterval(multiplier),
		"timeframe.period":      ofInterval(period),
	}
}

func isIntraday(i market.Interval) bool { return i.Seconds() < 86_400 }

func ofUnit(letter string) variable {
	return ofLength(func(i market.Interval) bool {
		_, unit := timeframeParts(i)
		return unit == letter
	})
}

func period(c *compiler, i market.Interval) float64 { return c.text(timeframeOf(i, c.version)) }

func multiplier(_ *compiler, i market.Interval) float64 {
	n, _ := timeframeParts(i)
	return float64(n)
}

// ofMachine is a variable that is computed where it is read, ofBar one that asks for the state of
// the bar.
func ofMachine(of func(m *Machine) float64) variable {
	return variable{read: func(c *compiler) num {
		m := c.m
		return func() float64 { return of(m) }
	}}
}

func ofBar(is func(m *Machine) bool) variable {
	return ofMachine(func(m *Machine) float64 { return toFloat(is(m)) })
}

// clockVariables are times and parts of them.
func clockVariables() variables {
	all := variables{
		"chart.left_visible_bar_time":  {read: firstTime},
		"chart.right_visible_bar_time": ofMachine(func(m *Machine) float64 { return float64(m.bar.T) * 1000 }),
		"last_bar_index":               ofMachine(func(m *Machine) float64 { return float64(max(m.index, m.env.Last)) }),
		"last_bar_time":                ofMachine(func(m *Machine) float64 { return float64(m.bar.T) * 1000 }),
		"time_close":                   ofMachine(func(m *Machine) float64 { return float64(m.ends()) * 1000 }),
		"time_tradingday":              ofMachine(tradingDay),
		"timenow":                      ofMachine(func(m *Machine) float64 { return float64(m.ends()) * 1000 }),
	}
	for name, of := range dateFields() {
		all[name] = ofMachine(func(m *Machine) float64 { return float64(of(m.local(float64(m.bar.T) * 1000))) })
	}
	return all
}

func firstTime(c *compiler) num {
	m, first := c.m, c.m.keep.add(math.NaN())
	return func() float64 {
		if *first != *first {
			*first = float64(m.bar.T) * 1000
		}
		return *first
	}
}

func tradingDay(m *Machine) float64 {
	y, mo, d := m.local(float64(m.bar.T) * 1000).Date()
	return float64(time.Date(y, mo, d, 0, 0, 0, 0, time.UTC).UnixMilli())
}

// barVariables are the states of a bar. One that is kept sees the same state whether it is the
// last of a chart or one of many.
func barVariables() variables {
	newDay := variable{every: func(c *compiler) num { return truth(c.newDay()) }}
	return variables{
		"barstate.isconfirmed":            ofBar(func(m *Machine) bool { return m.confirmed }),
		"barstate.isfirst":                ofBar(func(m *Machine) bool { return m.index == 0 }),
		"barstate.ishistory":              ofBar(func(m *Machine) bool { return !m.newest }),
		"barstate.islast":                 ofBar(func(m *Machine) bool { return m.newest }),
		"barstate.islastconfirmedhistory": ofBar(func(m *Machine) bool { return m.newest && m.confirmed }),
		"barstate.isnew":                  ofBar(func(m *Machine) bool { return !m.seen }),
		"barstate.isrealtime":             ofBar(func(m *Machine) bool { return m.newest }),

		"session.isfirstbar":         newDay,
		"session.isfirstbar_regular": newDay,
		"session.islastbar":          ofBar(lastOfDay),
		"session.islastbar_regular":  ofBar(lastOfDay),
		"session.ismarket":           always(1),
		"session.ispostmarket":       always(0),
		"session.ispremarket":        always(0),
	}
}

func lastOfDay(m *Machine) bool {
	day := func(t int64) int { return m.local(float64(t) * 1000).YearDay() }
	return day(m.bar.T) != day(m.ends())
}

// local returns a time in milliseconds in the exchange's zone.
func (m *Machine) local(ms float64) time.Time {
	const latest = 8.64e15 // of the year 275760
	return time.UnixMilli(int64(min(max(ms, -latest), latest))).In(m.zone())
}

// newDay reports whether a bar is the first of its day at the exchange.
func (c *compiler) newDay() func() bool {
	m, last := c.m, c.m.keep.add(math.NaN())
	return func() bool {
		t := m.local(float64(m.bar.T) * 1000)
		day := float64(t.Year()*1000 + t.YearDay())
		first := day != *last
		*last = day
		return first
	}
}

package eval

import (
	"math"
	"strconv"
	"strings"
	"time"

	"candela/lib/market"
	"candela/lib/pine/check"
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
	one := ""
	if version >= 6 {
		one = "1"
	}
	switch s := i.Seconds(); {
	case i == market.Month1:
		return one + "M"
	case i == market.Week1:
		return one + "W"
	case i == market.Day1:
		return one + "D"
	case s > 86_400:
		return strconv.FormatInt(s/86_400, 10) + "D"
	default:
		return strconv.FormatInt(s/60, 10)
	}
}

func (c *compiler) timeframeInfo(name string, i market.Interval) (float64, bool) {
	s := i.Seconds()
	intraday := s < 86_400
	daily := !intraday && i != market.Week1 && i != market.Month1
	switch strings.TrimPrefix(name, "timeframe.") {
	case "period", "main_period":
		return c.text(timeframeOf(i, c.version)), true
	case "multiplier":
		switch {
		case intraday:
			return float64(s / 60), true
		case daily:
			return float64(s / 86_400), true
		}
		return 1, true
	case "isintraday", "isminutes":
		return toFloat(intraday), true
	case "isdaily":
		return toFloat(daily), true
	case "isdwm":
		return toFloat(!intraday), true
	case "isweekly":
		return toFloat(i == market.Week1), true
	case "ismonthly":
		return toFloat(i == market.Month1), true
	case "isseconds", "isticks":
		return 0, true
	}
	return 0, false
}

// computedVariable are the variables that are computed where they are read.
func (c *compiler) computedVariable(e *check.BuiltinVar) num {
	m := c.m
	if f := c.stateOfBar(e.Name); f != nil {
		return truth(f)
	}
	switch e.Name {
	case "time_close":
		return func() float64 { return float64(m.ends()) * 1000 }
	case "timenow":
		return func() float64 { return float64(m.ends()) * 1000 }
	case "last_bar_index":
		return func() float64 { return float64(max(m.index, m.env.Last)) }
	case "last_bar_time", "chart.right_visible_bar_time":
		return func() float64 { return float64(m.bar.T) * 1000 }
	case "chart.left_visible_bar_time":
		first := m.keep.add(math.NaN())
		return func() float64 {
			if *first != *first {
				*first = float64(m.bar.T) * 1000
			}
			return *first
		}
	case "time_tradingday":
		return func() float64 {
			y, mo, d := m.local(float64(m.bar.T) * 1000).Date()
			return float64(time.Date(y, mo, d, 0, 0, 0, 0, time.UTC).UnixMilli())
		}
	case "line.all", "label.all", "box.all", "table.all", "linefill.all", "polyline.all":
		return c.allDrawings(e)
	case "hour", "minute", "second", "year", "month", "dayofmonth", "dayofweek", "weekofyear":
		name := e.Name
		return func() float64 { return dateField(name, m.local(float64(m.bar.T)*1000)) }
	case "session.islastbar", "session.islastbar_regular":
		return func() float64 {
			day := func(t int64) int { return m.local(float64(t) * 1000).YearDay() }
			return toFloat(day(m.bar.T) != day(m.ends()))
		}
	}
	if strings.HasPrefix(e.Name, "dividends.") || strings.HasPrefix(e.Name, "earnings.") {
		return func() float64 { return math.NaN() }
	}
	c.unsupported(e.Where(), e.Name)
	return nil
}

// stateOfBar are the variables of barstate. A bar that is kept sees the same state whether
// it is the last of a chart or one of many.
func (c *compiler) stateOfBar(name string) func() bool {
	m := c.m
	switch name {
	case "barstate.isfirst":
		return func() bool { return m.index == 0 }
	case "barstate.islast":
		return func() bool { return m.newest }
	case "barstate.ishistory":
		return func() bool { return !m.newest }
	case "barstate.isrealtime":
		return func() bool { return m.newest }
	case "barstate.isnew":
		return func() bool { return true }
	case "barstate.isconfirmed":
		return func() bool { return m.confirmed }
	case "barstate.islastconfirmedhistory":
		return func() bool { return m.newest && m.confirmed }
	}
	return nil
}

// local returns a time in milliseconds in the exchange's zone.
func (m *Machine) local(ms float64) time.Time {
	const latest = 8.64e15 // of the year 275760
	return time.UnixMilli(int64(min(max(ms, -latest), latest))).In(m.zone())
}

// dateField returns a part of a date.
func dateField(name string, t time.Time) float64 {
	switch name {
	case "year":
		return float64(t.Year())
	case "month":
		return float64(t.Month())
	case "dayofmonth":
		return float64(t.Day())
	case "dayofweek":
		return float64(t.Weekday() + 1)
	case "weekofyear":
		_, week := t.ISOWeek()
		return float64(week)
	case "hour":
		return float64(t.Hour())
	case "minute":
		return float64(t.Minute())
	}
	return float64(t.Second())
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

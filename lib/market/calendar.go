package market

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	// Zone rules travel in the binary: a container without zone files must not
	// put a New York session an hour off, or fail to start.
	_ "time/tzdata"

	"candela/lib/fault"
)

// Hours describes one exchange's regular trading hours, from which NewCalendar
// makes a Calendar.
type Hours struct {
	Zone        string         // IANA name, such as "America/New_York"
	Open, Close time.Duration  // wall-clock time since local midnight; at most 24h
	Days        []time.Weekday // the trading days; nil means Monday to Friday
	PerYear     int            // sessions in a year, for annualising; 0 means 252 per five days a week
}

// USEquities returns the regular hours of the New York exchanges.
func USEquities() Hours {
	return Hours{Zone: "America/New_York", Open: 9*time.Hour + 30*time.Minute, Close: 16 * time.Hour}
}

// UTCWeekdays returns whole UTC days from Monday to Friday. It suits daily bars
// of an exchange that carry their session's date at midnight UTC, as files often do.
func UTCWeekdays() Hours { return Hours{Zone: "UTC", Close: 24 * time.Hour} }

// Calendar says when an instrument trades, and with that where its bars begin
// and end. The zero value trades round the clock and counts in UTC, as crypto
// venues do. Any other is made by NewCalendar: one session a day, by the wall
// clock of the exchange's zone, so that a session moves with daylight saving time.
//
// A Calendar knows neither holidays nor half days; Gap marks what may be a holiday. It
// does not describe sessions that run over local midnight.
type Calendar struct {
	zone        *time.Location // nil: round the clock, UTC
	open, close int            // seconds of wall clock since local midnight
	days        uint8          // bit per time.Weekday
	perYear     int
	guessed     bool
}

// NewCalendar returns the calendar of h, or an Invalid fault naming the field
// that is wrong.
func NewCalendar(h Hours) (Calendar, error) {
	zone, err := time.LoadLocation(h.Zone)
	// LoadLocation takes "" for UTC and "Local" for the machine's zone: neither says which exchange is meant.
	if err != nil || h.Zone == "" || h.Zone == "Local" {
		return Calendar{}, fault.Field("zone", h.Zone, "an IANA time zone such as America/New_York")
	}
	if h.Open < 0 || h.Open%time.Second != 0 {
		return Calendar{}, fault.Field("open", h.Open.String(), "whole seconds from 0s")
	}
	if h.Close <= h.Open || h.Close > 24*time.Hour || h.Close%time.Second != 0 {
		return Calendar{}, fault.Field("close", h.Close.String(), "whole seconds, later than open, at most 24h")
	}
	if h.PerYear < 0 {
		return Calendar{}, fault.Field("per year", strconv.Itoa(h.PerYear), "0 or a number of sessions")
	}
	c := Calendar{zone: zone, open: int(h.Open / time.Second), close: int(h.Close / time.Second), perYear: h.PerYear}
	days := h.Days
	if days == nil {
		days = []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}
	}
	for _, d := range days {
		if d < time.Sunday || d > time.Saturday {
			return Calendar{}, fault.Field("days", d.String(), "Sunday to Saturday")
		}
		c.days |= 1 << d
	}
	if c.days == 0 {
		return Calendar{}, fault.Missing("days", "at least one weekday, or none at all for Monday to Friday")
	}
	if c.perYear == 0 {
		c.perYear = (252*bits.OnesCount8(c.days) + 4) / 5
	}
	return c, nil
}

// AsGuess returns c marked as a guess: no source confirms the hours.
func (c Calendar) AsGuess() Calendar {
	c.guessed = true
	return c
}

// Guessed reports whether c is a guess.
func (c Calendar) Guessed() bool { return c.guessed }

// String returns the trading hours, such as "24/7" or
// "Mon-Fri 09:30-16:00 America/New_York".
func (c Calendar) String() string {
	if c.zone == nil {
		return "24/7"
	}
	var days []string
	for d := time.Monday; d <= time.Saturday+1; d++ { // Sunday comes last
		if day := d % 7; c.days&(1<<day) != 0 {
			days = append(days, day.String()[:3])
		}
	}
	text := strings.Join(days, ",")
	if text == "Mon,Tue,Wed,Thu,Fri" {
		text = "Mon-Fri"
	}
	clock := func(second int) string { return fmt.Sprintf("%02d:%02d", second/hour, second/minute%60) }
	return text + " " + clock(c.open) + "-" + clock(c.close) + " " + c.zone.String()
}

// RoundTheClock reports whether c trades without sessions.
func (c Calendar) RoundTheClock() bool { return c.zone == nil }

// Zone returns the zone whose dates name the calendar's days.
func (c Calendar) Zone() *time.Location {
	if c.zone == nil {
		return time.UTC
	}
	return c.zone
}

// PerYear returns how many bars of the interval a year holds, for annualising:
// 365 days round the clock, otherwise the calendar's sessions. It returns 0 for
// an interval that is not valid.
func (c Calendar) PerYear(i Interval) float64 {
	switch {
	case !i.Valid():
		return 0
	case i.Months() > 0:
		return 12 / float64(i.Months())
	case i > Day1:
		return 365 * float64(day) / float64(i.Seconds())
	case c.zone == nil:
		return 365 * float64(ceilDiv(day, i.Seconds()))
	case i == Day1:
		return float64(c.perYear)
	}
	return float64(c.perYear) * float64(ceilDiv(int64(c.close-c.open), i.Seconds()))
}

// dayOf returns the number of the local date that t falls on, counted from
// 1970-01-01. A date that has begun does not end again: where the clock goes back
// over midnight, as it long did in St. John's at one past, the hour before it is
// shown twice, and the second time it belongs to the new date, in whose session it is.
func (c Calendar) dayOf(t int64) int64 {
	if c.zone == nil {
		return floorDiv(t, day)
	}
	_, offset := time.Unix(t, 0).In(c.zone).Zone()
	date, second := floorDiv(t+int64(offset), day), floorMod(t+int64(offset), day)
	if second >= day-3*hour && c.instant(date+1, 0) <= t { // none has gone back further over midnight since 1867
		return date + 1
	}
	return date
}

// session returns the trading hours of a local date. There are none on a day
// that is not traded, nor where a clock change swallows the whole session.
func (c Calendar) session(date int64) (Span, bool) {
	// 1970-01-01 was a Thursday.
	if c.days&(1<<floorMod(date+int64(time.Thursday), 7)) == 0 {
		return Span{}, false
	}
	s := Span{Open: c.instant(date, c.open), Close: c.instant(date, c.close)}
	return s, s.Open < s.Close
}

// instant returns when the local clock first shows the given second of a date or a
// later time: where the clock jumps over it, that is the moment of the jump, and
// where it goes back, the earlier of the two. time.Date may answer with a time before
// a jump, which can even lie on the day before, and with either of the two.
func (c Calendar) instant(date int64, second int) int64 {
	want := date*day + int64(second)
	// No clock differs from UTC by a day, so that this is before it.
	_, before := time.Unix(want-day, 0).In(c.zone).Zone()
	t := time.Unix(want-int64(before), 0).In(c.zone)
	_, after := t.Zone()
	if after == before {
		return t.Unix()
	}
	change, _ := t.ZoneBounds()
	return max(change.Unix(), want-int64(after))
}

// sessions returns the span from the first session's open to the last session's
// close within the dates first to last.
func (c Calendar) sessions(first, last int64) (Span, bool) {
	var span Span
	found := false
	for ; first <= last && !found; first++ {
		span, found = c.session(first)
	}
	for ; last >= first; last-- {
		if s, ok := c.session(last); ok {
			span.Close = s.Close
			break
		}
	}
	return span, found
}

// floorDiv divides rounding down, because times before 1970 are negative.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }

package market

import (
	"strconv"
	"strings"
	"time"

	"candela/lib/fault"
)

// Interval is the length of a bar: so many seconds, minutes, hours, days, weeks or months. Its value is the
// length in seconds, so that intervals compare by length; a month counts as the mean over the 400-year calendar
// cycle, which no number of minutes or days equals. The zero value is no interval and is never valid.
type Interval uint32

// The intervals that venues have and that texts name, ascending.
const (
	Second1  Interval = 1
	Minute1  Interval = minute
	Minute3  Interval = 3 * minute
	Minute5  Interval = 5 * minute
	Minute15 Interval = 15 * minute
	Minute30 Interval = 30 * minute
	Hour1    Interval = hour
	Hour2    Interval = 2 * hour
	Hour4    Interval = 4 * hour
	Hour6    Interval = 6 * hour
	Hour8    Interval = 8 * hour
	Hour12   Interval = 12 * hour
	Day1     Interval = day
	Day3     Interval = 3 * day
	Week1    Interval = week
	Month1   Interval = month
)

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
	week   = 7 * day
	month  = 2629746 // the mean: good for spacing, never for bucket arithmetic

	maxDays   = 365
	maxMonths = 12
)

// IntervalForms says which other intervals there are than those of IntervalNames, for errors and schemas.
const IntervalForms = "or any other such as 45m 3h 2d 2w 3M"

// named are the intervals that texts name, ascending. Their names take no memory.
//
//nolint:gochecknoglobals // a table, never written
var named = [...]struct {
	interval Interval
	name     string
}{
	{Minute1, "1m"},
	{Minute3, "3m"},
	{Minute5, "5m"},
	{Minute15, "15m"},
	{Minute30, "30m"},
	{Hour1, "1h"},
	{Hour2, "2h"},
	{Hour4, "4h"},
	{Hour6, "6h"},
	{Hour8, "8h"},
	{Hour12, "12h"},
	{Day1, "1d"},
	{Day3, "3d"},
	{Week1, "1w"},
	{Month1, "1M"},
}

// Intervals returns the intervals that texts name, ascending. Any other is built from shorter bars.
func Intervals() []Interval {
	all := make([]Interval, len(named))
	for k := range named {
		all[k] = named[k].interval
	}
	return all
}

// IntervalNames returns the names of Intervals.
func IntervalNames() []string {
	names := make([]string, len(named))
	for k := range named {
		names[k] = named[k].name
	}
	return names
}

// Valid reports whether i is an interval: 1 to 59 seconds, whole minutes below a day, 1 to 365 days, whole weeks
// among them, or 1 to 12 months.
func (i Interval) Valid() bool {
	switch {
	case i < minute:
		return i > 0
	case i < day:
		return i%minute == 0
	default:
		return i%day == 0 && i <= maxDays*day || i.Months() > 0
	}
}

// Months returns how many months an interval has, 0 if it is no number of months.
func (i Interval) Months() int {
	if i%month != 0 || i > maxMonths*month {
		return 0
	}
	return int(i / month)
}

// Weeks returns how many weeks an interval has, 0 if it is no number of weeks.
func (i Interval) Weeks() int {
	if i%week != 0 || i > maxDays*day {
		return 0
	}
	return int(i / week)
}

// Even reports whether bars of the interval are equally long round the clock: months are not, and neither are
// minutes that do not divide a day, whose last bar of a day ends with it.
func (i Interval) Even() bool {
	if i < day {
		return i > 0 && day%i == 0 && (i < minute || i%minute == 0)
	}
	return i%day == 0 && i <= maxDays*day
}

// String returns the canonical name, such as "15m", "3h", "2w" or "1M".
func (i Interval) String() string {
	for k := range named {
		if named[k].interval == i {
			return named[k].name
		}
	}
	name := func(n Interval, unit string) string { return strconv.Itoa(int(n)) + unit }
	switch {
	case !i.Valid():
		return "interval(" + strconv.Itoa(int(i)) + ")"
	case i.Months() > 0:
		return name(i/month, "M")
	case i%week == 0:
		return name(i/week, "w")
	case i%day == 0:
		return name(i/day, "d")
	case i%hour == 0:
		return name(i/hour, "h")
	case i%minute == 0:
		return name(i/minute, "m")
	}
	return name(i, "s")
}

// Seconds returns the length of a bar; for months, the mean length.
func (i Interval) Seconds() int64 {
	if !i.Valid() {
		return 0
	}
	return int64(i)
}

// Duration returns Seconds as a time.Duration.
func (i Interval) Duration() time.Duration { return time.Duration(i.Seconds()) * time.Second }

// ParseInterval reads every spelling clients are known to use: "15", "15m",
// "15min", "60", "1h", "1hr", "1D", "1wk", "1W", "1mo", "1M", "30s". A capital M
// is months and never minutes. A unit without a number counts one.
func ParseInterval(s string) (Interval, error) {
	text := strings.TrimSpace(s)
	unit := strings.TrimLeft(text, "0123456789")
	n := 1
	if count := text[:len(text)-len(unit)]; count != "" {
		var err error
		if n, err = strconv.Atoi(count); err != nil {
			return 0, wrongInterval(s)
		}
	}
	i := intervalOf(n, strings.TrimSpace(unit))
	if !i.Valid() || text == "" {
		return 0, wrongInterval(s)
	}
	return i, nil
}

// intervalOf returns the interval of n units, which may not be valid. A bare number counts minutes, as on
// TradingView.
func intervalOf(n int, unit string) Interval {
	each, most := month, maxMonths
	if unit != "M" { // m is a minute
		each, most = unitOf(asciiLower(unit))
	}
	if n > most {
		return 0 // before the product below can overflow
	}
	return Interval(n * each) //nolint:gosec // at most 365 days
}

// unitOf returns the seconds of a unit and the most of them that an interval has.
func unitOf(name string) (each, most int) {
	switch name {
	case "mo", "mon", "mth", "month", "months", "monthly":
		return month, maxMonths
	case "s", "sec", "secs", "second", "seconds":
		return 1, minute - 1
	case "", "m", "min", "mins", "minute", "minutes":
		return minute, maxDays * day / minute
	case "h", "hr", "hrs", "hour", "hours", "hourly":
		return hour, maxDays * day / hour
	case "d", "day", "days", "daily":
		return day, maxDays
	case "w", "wk", "wks", "week", "weeks", "weekly":
		return week, maxDays * day / week
	}
	return 0, 0
}

// AllowedIntervals says which intervals there are, for errors.
func AllowedIntervals() string { return strings.Join(IntervalNames(), " ") + ", " + IntervalForms }

// asciiLower folds A to Z and nothing else: strings.ToLower would also take the
// Kelvin sign for a k.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func wrongInterval(s string) error {
	names := IntervalNames()
	return fault.Field("interval", s, AllowedIntervals(), fault.Nearest(s, names)...)
}

// MarshalText writes the canonical name.
func (i Interval) MarshalText() ([]byte, error) {
	if !i.Valid() {
		return nil, fault.Field("interval", i.String(), AllowedIntervals())
	}
	return []byte(i.String()), nil
}

// UnmarshalText reads what ParseInterval reads.
func (i *Interval) UnmarshalText(text []byte) error {
	iv, err := ParseInterval(string(text))
	if err != nil {
		return err
	}
	*i = iv
	return nil
}

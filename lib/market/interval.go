package market

import (
	"strconv"
	"strings"
	"time"

	"candela/lib/fault"
)

// Interval is the length of a bar: one of a fixed list, because venues,
// indicators and charts agree on these and no others. The zero value is no
// interval and is never valid.
type Interval uint8

// The intervals, ascending.
const (
	Minute1 Interval = iota + 1
	Minute3
	Minute5
	Minute15
	Minute30
	Hour1
	Hour2
	Hour4
	Hour6
	Hour8
	Hour12
	Day1
	Day3
	Week1
	Month1
)

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
	week   = 7 * day
)

// intervals is indexed by Interval. Seconds of a month are the mean over the
// 400-year calendar cycle: good for spacing, never for bucket arithmetic.
//
//nolint:gochecknoglobals // a table, never written
var intervals = [...]struct {
	name    string
	seconds int64
}{
	{}, // no interval
	{"1m", minute},
	{"3m", 3 * minute},
	{"5m", 5 * minute},
	{"15m", 15 * minute},
	{"30m", 30 * minute},
	{"1h", hour},
	{"2h", 2 * hour},
	{"4h", 4 * hour},
	{"6h", 6 * hour},
	{"8h", 8 * hour},
	{"12h", 12 * hour},
	{"1d", day},
	{"3d", 3 * day},
	{"1w", week},
	{"1M", 2629746},
}

// Intervals returns every interval, ascending.
func Intervals() []Interval {
	all := make([]Interval, 0, len(intervals)-1)
	for i := range intervals[1:] {
		all = append(all, Interval(i+1))
	}
	return all
}

// IntervalNames returns the canonical names, ascending, for schemas and errors.
func IntervalNames() []string {
	names := make([]string, 0, len(intervals)-1)
	for _, iv := range intervals[1:] {
		names = append(names, iv.name)
	}
	return names
}

// Valid reports whether i is one of the list.
func (i Interval) Valid() bool { return i >= Minute1 && i <= Month1 }

// String returns the canonical name, such as "15m" or "1M".
func (i Interval) String() string {
	if !i.Valid() {
		return "interval(" + strconv.Itoa(int(i)) + ")"
	}
	return intervals[i].name
}

// Seconds returns the length of a bar; for a month, the mean length.
func (i Interval) Seconds() int64 {
	if !i.Valid() {
		return 0
	}
	return intervals[i].seconds
}

// Duration returns Seconds as a time.Duration.
func (i Interval) Duration() time.Duration { return time.Duration(i.Seconds()) * time.Second }

// ParseInterval reads every spelling clients are known to use: "15", "15m",
// "15min", "60", "1h", "1hr", "1D", "1wk", "1W", "1mo", "1M". A lone capital M
// is a month and never a minute. A unit without a number counts one.
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
	iv, ok := intervalOf(n, strings.TrimSpace(unit))
	if !ok || text == "" {
		return 0, wrongInterval(s)
	}
	return iv, nil
}

// intervalOf finds the interval of n units. A bare number counts minutes, as on
// TradingView.
func intervalOf(n int, unit string) (Interval, bool) {
	if unit == "M" {
		return Month1, n == 1
	}
	var each int64
	switch asciiLower(unit) {
	case "mo", "mon", "mth", "month", "months", "monthly":
		return Month1, n == 1
	case "", "m", "min", "mins", "minute", "minutes":
		each = minute
	case "h", "hr", "hrs", "hour", "hours", "hourly":
		each = hour
	case "d", "day", "days", "daily":
		each = day
	case "w", "wk", "wks", "week", "weeks", "weekly":
		each = week
	default:
		return 0, false
	}
	if n > week/minute {
		return 0, false // before the product below can overflow
	}
	for i := Minute1; i < Month1; i++ {
		if intervals[i].seconds == int64(n)*each {
			return i, true
		}
	}
	return 0, false
}

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
	return fault.Field("interval", s, strings.Join(names, " "), fault.Nearest(s, names)...)
}

// MarshalText writes the canonical name.
func (i Interval) MarshalText() ([]byte, error) {
	if !i.Valid() {
		return nil, fault.Field("interval", i.String(), strings.Join(IntervalNames(), " "))
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

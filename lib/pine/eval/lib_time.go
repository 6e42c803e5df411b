package eval

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"candela/lib/market"
	"candela/lib/pine/check"
)

// zoneNamed finds a time zone: an IANA name, UTC+3 or GMT-5:30.
func zoneNamed(name string) (*time.Location, bool) {
	for _, prefix := range []string{"UTC", "GMT"} {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if rest == "" {
			return time.UTC, true
		}
		hours, minutes, _ := strings.Cut(rest[1:], ":")
		if minutes == "" && len(hours) == 4 {
			hours, minutes = hours[:2], hours[2:]
		}
		h, err := strconv.Atoi(hours)
		if err != nil {
			return nil, false
		}
		m, _ := strconv.Atoi(minutes)
		offset := h*3600 + m*60
		if rest[0] == '-' {
			offset = -offset
		}
		return time.FixedZone(name, offset), true
	}
	if name == "" || name == "Local" {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		zone, err = time.LoadLocation(capitals(name))
	}
	return zone, err == nil
}

// capitals writes each word of a zone's name with a capital, as in America/New_York.
func capitals(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c >= 'a' && c <= 'z' && (i == 0 || b[i-1] == '/' || b[i-1] == '_') {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

// zoneSteps is what it takes to find a time zone, maxZones how many a machine keeps.
const (
	zoneSteps = 500
	maxZones  = 16
)

// zoneOf returns the zone of an argument, or the exchange's.
func (s *site) zoneOf(a []float64, i int) *time.Location {
	name := s.text(a, i, "")
	if name == "" {
		return s.m.zone()
	}
	if zone := s.m.zones[name]; zone != nil {
		return zone
	}
	s.m.owe(s.at, zoneSteps) // no steps of the script: another machine may know the zone
	zone, ok := zoneNamed(name)
	if !ok {
		s.fail("Unknown time zone %q. Use a name such as America/New_York, or UTC+2.", name)
	}
	s.keepZone(name, zone)
	return zone
}

func (s *site) keepZone(name string, zone *time.Location) {
	if s.m.zones == nil || len(s.m.zones) >= maxZones {
		s.m.zones = map[string]*time.Location{}
	}
	s.m.zones[name] = zone
}

// timeRows are the functions of dates and timeframes.
func timeRows() functions {
	all := functions{
		"time":                   timeRow(func(s market.Span) int64 { return s.Open }),
		"time_close":             timeRow(func(s market.Span) int64 { return s.Close }),
		"timeframe.from_seconds": priced(flat(2), func(s *site, a []float64) float64 { return s.h.newText(fromSeconds(int64(whole(a[0])))) }),
		"timeframe.in_seconds":   priced(texts(0), func(s *site, a []float64) float64 { return float64(s.m.interval(s.text(a, 0, "")).seconds()) }),
		"timestamp":              priced(cost{steps: 1, more: dateSteps}, timestamp),
	}
	for name, of := range dateFields() {
		all[name] = priced(texts(1), func(s *site, a []float64) float64 {
			if a[0] != a[0] {
				return a[0]
			}
			return float64(of(s.m.local(a[0]).In(s.zoneOf(a, 1))))
		})
	}
	return all
}

// dateFields are the parts of a date, each of them a function of a time and a variable.
func dateFields() map[string]func(t time.Time) int {
	return map[string]func(t time.Time) int{
		"dayofmonth": time.Time.Day,
		"dayofweek":  func(t time.Time) int { return int(t.Weekday()) + 1 },
		"hour":       time.Time.Hour,
		"minute":     time.Time.Minute,
		"month":      func(t time.Time) int { return int(t.Month()) },
		"second":     time.Time.Second,
		"weekofyear": weekOfYear,
		"year":       time.Time.Year,
	}
}

func weekOfYear(t time.Time) int {
	_, week := t.ISOWeek()
	return week
}

// frame is a timeframe: an interval of candela, or a number of seconds that is none.
type frame struct {
	market.Interval
	length int64
}

func (f frame) seconds() int64 {
	if f.Valid() {
		if n := f.Months(); n > 0 {
			return int64(n) * 2_628_003
		}
		return f.Seconds()
	}
	return f.length
}

// interval reads a timeframe; an empty one is the chart's.
func (m *Machine) interval(text string) frame {
	if text == "" {
		return frame{Interval: m.env.Interval}
	}
	if i, err := market.ParseInterval(text); err == nil {
		return frame{Interval: i}
	}
	number, unit := text, int64(60)
	if last := text[len(text)-1]; last < '0' || last > '9' {
		number = text[:len(text)-1]
		unit = map[byte]int64{'S': 1, 'D': 86_400, 'W': 604_800, 'M': 2_628_003, 'H': 3600}[last]
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if number == "" {
		n, err = 1, nil
	}
	if err != nil || unit == 0 || n < 1 {
		m.fail(m.place, CodeRuntime, "Unknown timeframe %q. Use minutes such as 60, or 1D, 1W, 1M.", text)
	}
	return frame{length: n * unit}
}

func fromSeconds(n int64) string {
	switch {
	case n < 60:
		return fmt.Sprintf("%dS", max(n, 1))
	case n < 86_400:
		return strconv.FormatInt((n+59)/60, 10)
	case n < 604_800:
		return fmt.Sprintf("%dD", (n+86_399)/86_400)
	case n < 2_628_003:
		return fmt.Sprintf("%dW", (n+604_799)/604_800)
	}
	return fmt.Sprintf("%dM", (n+2_628_002)/2_628_003)
}

// bucket returns the period of a timeframe that holds a time.
func (m *Machine) bucket(f frame, t int64) market.Span {
	if f.Valid() {
		if span, ok := m.env.Calendar.Bucket(f.Interval, t); ok {
			return span
		}
	}
	step := max(f.seconds(), 1)
	open := t - ((t%step)+step)%step
	return market.Span{Open: open, Close: open + step}
}

// wholeSession reports whether a session leaves out no bar: that of the symbol, or a time zone in its place, which
// names no hours.
func (s *site) wholeSession(session string) bool {
	if session == "regular" || session == "extended" {
		return true
	}
	if first := session[0]; first >= '0' && first <= '9' {
		return false
	}
	if s.m.zones[session] != nil {
		return true
	}
	s.m.owe(s.at, zoneSteps)
	zone, ok := zoneNamed(session)
	if ok {
		s.keepZone(session, zone)
	}
	return ok
}

// param returns the place of a parameter by its name, -1 if the function has none in this form.
func (s *site) param(name string) int {
	for i, p := range s.call.Builtin.Params {
		if p.Name == name {
			return i
		}
	}
	return -1
}

// inSession reports whether a time lies in one of the hours, such as 0930-1600,1800-0000.
func (s *site) inSession(hours, days string, t time.Time) bool {
	if days == "" {
		days = "1234567"
	}
	if hours == "24x7" {
		return true
	}
	now := t.Hour()*60 + t.Minute()
	on := func(d time.Weekday) bool { return strings.Contains(days, strconv.Itoa(1+int(d))) }
	for part := range strings.SplitSeq(hours, ",") {
		if len(part) != 9 || part[4] != '-' {
			s.fail("Unknown session %q. Write it as 0930-1600 or 0930-1600:23456.", part)
		}
		from, to := clockMinutes(part[:4]), clockMinutes(part[5:])
		if from < 0 || to < 0 {
			s.fail("Unknown session %q. Write it as 0930-1600 or 0930-1600:23456.", part)
		}
		day := t.Weekday()
		switch {
		case from < to && now >= from && now < to && on(day):
			return true
		case from >= to && now >= from && on(day):
			return true
		case from >= to && now < to && on((day+6)%7):
			return true
		}
	}
	return false
}

func clockMinutes(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 2400 || n%100 > 59 {
		return -1
	}
	return n/100*60 + n%100
}

// timestamp makes a time of a date string, or of numbers with a zone before them or not.
func timestamp(s *site, a []float64) float64 {
	first := s.call.Args[0]
	if first != nil && first.Type().Kind == check.String && (len(a) == 1 || !s.given(1)) {
		return parseDate(s, s.text(a, 0, ""))
	}
	zone := s.m.zone()
	if first != nil && first.Type().Kind == check.String {
		zone = s.zoneOf(a, 0)
		a = a[1:]
	} else if first == nil && len(a) == 7 {
		a = a[1:]
	}
	var part [6]int
	for i := range part {
		if i < len(a) && a[i] == a[i] {
			part[i] = whole(a[i])
		} else if i < 3 && i < len(a) {
			return math.NaN()
		}
	}
	return float64(wallTime(part, zone).UnixMilli())
}

// wallTime returns the time that a clock shows. One that the clock skips, when summer time begins, is as much
// later as the clock is put forward.
func wallTime(part [6]int, zone *time.Location) time.Time {
	date := func(z *time.Location) time.Time {
		return time.Date(part[0], time.Month(part[1]), part[2], part[3], part[4], part[5], 0, z)
	}
	t, wall := date(zone), date(time.UTC)
	if t.Hour() == wall.Hour() && t.Minute() == wall.Minute() {
		return t
	}
	_, before := t.Add(-24 * time.Hour).Zone()
	return wall.Add(-time.Duration(before) * time.Second).In(zone)
}

// dateSteps is what timestamp takes: a date as a text is compared with many forms.
func dateSteps(s *site, a []float64) int64 {
	if first := s.call.Args[0]; first != nil && first.Type().Kind == check.String {
		return int64(20 + s.textSize(a, 0))
	}
	return 1
}

func parseDate(s *site, text string) float64 {
	ms, ok := check.ParseDate(text)
	if !ok {
		s.fail("Unknown date %q. Write it as 2024-01-31 or 31 Jan 2024 00:00 +0000.", text)
	}
	return float64(ms)
}

// date writes a time with a pattern of letters such as yyyy-MM-dd HH:mm:ss.
func (w *writer) date(t time.Time, pattern string) {
	for i := 0; i < len(pattern); {
		if pattern[i] == '\'' {
			end := strings.IndexByte(pattern[i+1:], '\'')
			if end < 0 {
				break
			}
			w.write(pattern[i+1 : i+1+end])
			i += end + 2
			continue
		}
		j := i
		for j < len(pattern) && pattern[j] == pattern[i] {
			j++
		}
		w.m.spend(w.at, 4)
		w.write(dateLetters(t, pattern[i], j-i))
		i = j
	}
}

// dateLetters writes the part of a time that a letter of a pattern names, written n times.
func dateLetters(t time.Time, letter byte, n int) string {
	switch letter {
	case 'H':
		if n == 1 {
			return strconv.Itoa(t.Hour())
		}
		return t.Format("15")
	case 'S':
		return fmt.Sprintf("%03d", t.Nanosecond()/1e6)[:min(n, 3)]
	case 'w':
		return strconv.Itoa(weekOfYear(t))
	}
	layouts := dateLayouts(letter)
	if layouts == "" {
		return strings.Repeat(string(letter), n)
	}
	for n--; n > 0; n-- {
		_, rest, more := strings.Cut(layouts, " ")
		if !more {
			break
		}
		layouts = rest
	}
	layout, _, _ := strings.Cut(layouts, " ")
	return t.Format(layout)
}

// dateLayouts has the layouts of a letter that is written once, twice and so on; empty for one without.
func dateLayouts(letter byte) string {
	switch letter {
	case 'y':
		return "2006 06 2006"
	case 'M':
		return "1 01 Jan January"
	case 'd':
		return "2 02"
	case 'E':
		return "Mon Mon Mon Monday"
	case 'h':
		return "3 03"
	case 'a':
		return "PM"
	case 'm':
		return "4 04"
	case 's':
		return "5 05"
	case 'Z':
		return "-0700"
	case 'z':
		return "MST"
	case 'X':
		return "Z07 Z0700 Z07:00"
	}
	return ""
}

package check

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"candela/lib/pattern"
)

// ParseDate reads a date as timestamp takes it, in milliseconds, in UTC where it names no zone.
func ParseDate(s string) (ms int64, ok bool) {
	s = strings.Join(strings.FieldsFunc(s, unicode.IsSpace), " ")
	if len(s) > longestDate {
		return 0, false
	}
	if rest, found := strings.CutPrefix(s, "UTC "); found {
		s = rest
	}
	s = joinedDay().ReplaceAllString(s, "$1 $2")
	s = strings.Replace(s, "Sept ", "Sep ", 1)
	day, rest := s, ""
	if i := clockAt(s); i >= 0 {
		day, rest = strings.TrimSuffix(s[:i], " "), strings.TrimPrefix(s[i:], "T")
	}
	date, ok := parseLayouts(day, dayLayouts())
	if !ok || rest == "" {
		return date.UnixMilli(), ok
	}
	clock := clockText().FindStringSubmatch(rest)
	if clock == nil {
		return 0, false
	}
	at, ok := parseLayouts(clock[1], []string{"15:04", "15:04:05", "3:04 PM", "3:04:05 PM"})
	hours, _ := strconv.Atoi(clock[3])
	minutes, _ := strconv.Atoi(clock[4])
	if hours > latestZone || minutes > 59 {
		return 0, false
	}
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if clock[2] == "-" {
		offset = -offset
	}
	since := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second
	return date.Add(since - offset).UnixMilli(), ok
}

// clockText is a time of day with its zone: the clock, and the sign, hours and minutes of the zone.
var clockText = pattern.Of(`^(\d{1,2}:\d{2}(?::\d{2})?(?: [AP]M)?)(?:\.\d+)? ?(?:Z|GMT|UTC)?(?:([+-])(\d{1,2}):?(\d{2})?)?$`)

// latestZone is the largest offset of a time zone in hours.
const latestZone = 14

const longestDate = 64

// joinedDay is a day of the month without a space before the month's name.
var joinedDay = pattern.Of(`^(\d{1,2})([A-Za-z]{3})`)

// clockAt returns where the time of day begins, with the T before it; -1 without one.
func clockAt(s string) int {
	colon := strings.IndexByte(s, ':')
	if colon < 0 {
		return -1
	}
	i := colon
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	if i > 0 && s[i-1] == 'T' {
		i--
	}
	return i
}

func parseLayouts(s string, layouts []string) (t time.Time, ok bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func dayLayouts() []string {
	return []string{
		"2006-1-2", "2 Jan 2006", "2 January 2006", "2 Jan 06", "Jan 2 2006", "January 2 2006", "Jan 2, 2006", "January 2, 2006", "2006/1/2", "1/2/2006",
		"Mon, 2 Jan 2006", "Mon 2 Jan 2006", "Mon Jan 2 2006", "2006 1 2", "2006-1", "2006 Jan 2", "2006",
	}
}

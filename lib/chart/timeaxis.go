package chart

import (
	"strconv"
	"time"
)

// timeTick is a mark on the time axis.
type timeTick struct {
	bar  int
	text string
	bold bool // a month or a year begins
	rank timeUnit
}

// timeUnit is the largest calendar unit that begins at a bar.
type timeUnit uint8

const (
	unitNone timeUnit = iota
	unitMinute
	unitDay
	unitMonth
	unitYear
)

// timeStep is one candidate spacing of the axis: a bar begins a bucket of count
// units when its bucket number differs from that of the bar before.
type timeStep struct {
	unit  byte // 'm'inutes of the day, 'd'ays of the month, 'w'eeks, 'M'onths of the year
	count int
}

// timeSteps lists the spacings, finest first. Half months stand where two weeks
// would: a fortnight falls so near to half of all month starts that the axis
// would be irregular.
//
//nolint:gochecknoglobals // a table, never written
var timeSteps = [...]struct {
	unit   byte
	counts []int
}{
	{'m', []int{1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720}},
	{'d', []int{1, 2, 4}},
	{'w', []int{1}},
	{'d', []int{halfMonth}},
	{'M', []int{1, 2, 3, 6, 12, 24, 60, 120, 600}},
}

// civil is the calendar of one bar, computed once because every candidate
// spacing reads it.
type civil struct {
	minute int // of the day
	day    int // of the month
	days   int // since the epoch
	week   int // since the epoch, from Monday
	month  int // since year 0
	year   int
}

const (
	halfMonth  = 15 // days
	dayMinutes = 24 * 60
	daySeconds = 24 * 60 * 60
)

// civilOf returns the UTC calendar of unix second t. Its days are clamped to years that
// are sure to be in the range of package time.
func civilOf(t int64) civil {
	days := min(max(floorDiv(t, daySeconds), -3_000_000), 3_000_000)
	year, month, day := time.Unix(days*daySeconds, 0).UTC().Date()
	return civil{
		minute: int(floorMod(t, daySeconds) / 60), day: day, days: int(days),
		week:  int(floorDiv(days+3, 7)), // 1 January 1970 was a Thursday
		month: year*12 + int(month) - 1, year: year,
	}
}

// bucket returns the number of the bucket that holds c. Days count from the first of
// their month, so that the ticks of every month fall on the same days, and what is
// left of it at its end makes no bucket of its own.
func (s timeStep) bucket(c *civil) int {
	switch s.unit {
	case 'm':
		return c.days*dayMinutes + c.minute/s.count*s.count
	case 'd':
		if s.count == 1 {
			return c.days
		}
		return c.month*32 + min((c.day-1)/s.count, 30/s.count-1)
	case 'w':
		return floorDiv(c.week, s.count)*2 + c.month%2 // a month begins a bucket too
	}
	return floorDiv(c.month, s.count)
}

func floorDiv[T int | int64](a, b T) T {
	if a < 0 {
		return (a - b + 1) / b
	}
	return a / b
}

// began returns the largest unit that begins between the bar before and c.
func began(prev, c *civil) timeUnit {
	switch {
	case prev.year != c.year:
		return unitYear
	case prev.month != c.month:
		return unitMonth
	case prev.days != c.days:
		return unitDay
	case prev.minute != c.minute:
		return unitMinute
	}
	return unitNone
}

// timeLabel names the boundary of the given unit at c.
func timeLabel(unit timeUnit, c *civil) (text string, bold bool) {
	switch unit {
	case unitYear:
		return strconv.Itoa(c.year), true
	case unitMonth:
		return time.Month(floorMod(c.month, 12) + 1).String()[:3], true
	case unitDay:
		return strconv.Itoa(c.day), false
	case unitNone, unitMinute:
	}
	h, m := c.minute/60, c.minute%60
	const digits = "0123456789"
	return string([]byte{digits[h/10%10], digits[h%10], ':', digits[m/10%10], digits[m%10]}), false
}

func floorMod[T int | int64](a, b T) T { return a - floorDiv(a, b)*b }

// timeTicks appends the marks of a time axis to dst: the finest spacing whose first bars lie at
// least gap device pixels apart, the larger unit winning where two are too near.
// per is the device pixels per bar; cal is scratch that the caller keeps.
func timeTicks(dst []timeTick, times []int64, per, gap float64, cal []civil) ([]timeTick, []civil) {
	cal = cal[:0]
	for _, t := range times {
		cal = append(cal, civilOf(t))
	}
	var fits bool
search:
	for _, steps := range timeSteps {
		for _, count := range steps.counts {
			if dst, fits = (timeStep{steps.unit, count}).ticks(dst[:0], times, cal, per, gap); fits {
				break search
			}
		}
	}
	dst = thinTicks(dst, per, gap)
	for i := range dst {
		dst[i].text, dst[i].bold = timeLabel(dst[i].rank, &cal[dst[i].bar])
	}
	return dst, cal
}

// ticks appends one tick for each bar that begins a bucket. It fits when no more
// than a tenth of the gaps are too narrow: those are the edges of irregular
// sessions, which thinTicks resolves. A gap next to the first bar of a month does
// not count for days and weeks, because months begin anywhere among them.
func (s timeStep) ticks(dst []timeTick, times []int64, cal []civil, per, gap float64) (_ []timeTick, fits bool) {
	narrow, allowed := 0, int(float64(len(cal))*per/gap/10)+1
	before := civilOf(times[0] - 1)
	monthly := s.unit == 'M' || s.count == halfMonth
	prev := timeTick{bar: -1}
	for i := range cal {
		if i > 0 {
			before = cal[i-1]
		}
		if s.bucket(&before) == s.bucket(&cal[i]) {
			continue
		}
		tick := timeTick{bar: i, rank: began(&before, &cal[i])}
		if prev.bar >= 0 && float64(i-prev.bar)*per < gap && (monthly || max(prev.rank, tick.rank) < unitMonth) {
			if narrow++; narrow > allowed {
				return dst, false
			}
		}
		prev = tick
		dst = append(dst, tick)
	}
	return dst, true
}

// thinTicks drops the lesser of two ticks that are nearer than gap, larger units
// first, earlier ones first among equals.
func thinTicks(ticks []timeTick, per, gap float64) []timeTick {
	for rank := unitYear; rank > unitNone; rank-- {
		for i := 0; i < len(ticks); i++ {
			if ticks[i].rank != rank {
				continue
			}
			ticks = dropNear(ticks, &i, per, gap)
		}
	}
	return ticks
}

// dropNear removes the neighbours of ticks[*i] that are too near, on the left only those
// of lesser rank, and leaves *i on the same tick.
func dropNear(ticks []timeTick, i *int, per, gap float64) []timeTick {
	at := *i
	from, to := at, at+1
	for from > 0 && ticks[from-1].rank < ticks[at].rank && float64(ticks[at].bar-ticks[from-1].bar)*per < gap {
		from--
	}
	for to < len(ticks) && ticks[to].rank <= ticks[at].rank && float64(ticks[to].bar-ticks[at].bar)*per < gap {
		to++
	}
	keep := ticks[at]
	ticks = append(ticks[:from+1], ticks[to:]...)
	ticks[from] = keep
	*i = from
	return ticks
}

// indexTicks appends the marks of an axis that counts bars.
func indexTicks(dst []timeTick, n int, per, gap float64) []timeTick {
	step, _ := niceStep(max(1, gap/per))
	if step == 2.5 {
		step = 5
	}
	every := max(1, int(step+0.5))
	for i := 0; i < n; i += every {
		dst = append(dst, timeTick{bar: i, text: "#" + strconv.Itoa(i), rank: unitMinute})
	}
	return dst
}

// rangeText is the period the bars cover, with the year, as the header shows it.
// The time of day is left out where every bar begins a day.
func rangeText(first, last int64, withTime bool) string {
	const day, clock, zone = "2 Jan 2006", "15:04", " UTC"
	from := time.Unix(first, 0).UTC()
	to := time.Unix(last, 0).UTC()
	switch {
	case !withTime && first == last:
		return to.Format(day)
	case !withTime:
		return from.Format(day) + " \u2013 " + to.Format(day)
	case first == last:
		return to.Format(day + " " + clock + zone)
	case last-first < 2*daySeconds && from.Day() == to.Day():
		return from.Format(day+" "+clock) + " \u2013 " + to.Format(clock+zone)
	}
	return from.Format(day) + " \u2013 " + to.Format(day+" "+clock+zone)
}

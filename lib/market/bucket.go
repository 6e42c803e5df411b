package market

import "time"

// Span is the time of one bar: from Open, inclusive, to Close, exclusive, in
// unix seconds.
type Span struct{ Open, Close int64 }

// Holds reports whether t falls in the span.
func (s Span) Holds(t int64) bool { return s.Open <= t && t < s.Close }

// CloseOf returns when the bar that opens at t closes. For a time at which the calendar has
// no bar it is a full length later.
func (c Calendar) CloseOf(i Interval, t int64) int64 {
	if span, ok := c.Bucket(i, t); ok {
		return span.Close
	}
	return t + i.Seconds()
}

// Bucket returns the span of the bar of interval i that t falls in, and false
// when t is outside every session or i is not valid.
//
// Intraday bars count from the open of the session, round the clock from midnight
// UTC, and the last one ends with the session or the day. A day is its session;
// days, weeks and months group local dates and run from the first session's open
// to the last session's close: days count from 1970, weeks from the Monday before
// it, months from the year 0. There are no bars
// outside the years 1 to 9999.
func (c Calendar) Bucket(i Interval, t int64) (Span, bool) {
	if !i.Valid() || t != inRange(t) {
		return Span{}, false
	}
	span, ok := c.group(i, c.dayOf(t))
	if !ok || !span.Holds(t) {
		return Span{}, false
	}
	if i < Day1 {
		span = slot(span, i.Seconds(), t)
	}
	return span, true
}

// Next returns the first bar of interval i that opens after t, or after the
// nearest time within the years 1 to 9999. It returns the zero Span when i is not
// valid.
func (c Calendar) Next(i Interval, t int64) Span {
	if !i.Valid() {
		return Span{}
	}
	t = inRange(t)
	for date := c.dayOf(t); ; {
		_, last := dates(i, date)
		if span, ok := c.group(i, date); ok {
			switch {
			case span.Open > t && i < Day1:
				return slot(span, i.Seconds(), span.Open)
			case span.Open > t:
				return span
			case i < Day1 && span.Holds(t):
				if s := slot(span, i.Seconds(), t); s.Close < span.Close {
					return slot(span, i.Seconds(), s.Close)
				}
			}
		}
		date = last + 1
	}
}

// Prev returns the last bar of interval i that opens before t, or before the
// nearest time within the years 1 to 9999. It returns the zero Span when i is not
// valid.
func (c Calendar) Prev(i Interval, t int64) Span {
	if !i.Valid() {
		return Span{}
	}
	t = inRange(t)
	for date := c.dayOf(t - 1); ; {
		first, _ := dates(i, date)
		if span, ok := c.group(i, date); ok && span.Open < t {
			if i < Day1 {
				return slot(span, i.Seconds(), min(t, span.Close)-1)
			}
			return span
		}
		date = first - 1
	}
}

// Count returns how many bars of interval i open in the span.
func (c Calendar) Count(i Interval, in Span) int {
	in = Span{Open: inRange(in.Open), Close: inRange(in.Close)}
	if !i.Valid() || in.Open >= in.Close {
		return 0
	}
	n := int64(0)
	if step := i.Seconds(); i < Day1 {
		if c.zone == nil {
			return int(i.before(in.Close) - i.before(in.Open))
		}
		for date, last := c.dayOf(in.Open), c.dayOf(in.Close-1); date <= last; date++ {
			if s, ok := c.session(date); ok && s.Open < in.Close {
				from, to := max(s.Open, in.Open), min(s.Close, in.Close)
				n += max(0, ceilDiv(to-s.Open, step)-ceilDiv(from-s.Open, step))
			}
		}
		return int(n)
	}
	for t := c.Next(i, in.Open-1).Open; t < in.Close; t = c.Next(i, t).Open {
		n++
	}
	return int(n)
}

// before returns how many intraday bars open round the clock before t, counted from 1970.
func (i Interval) before(t int64) int64 {
	date := floorDiv(t, day)
	return date*ceilDiv(day, int64(i)) + ceilDiv(t-date*day, int64(i))
}

// Slot numbers the bars round the clock: the bar of t has a number of its own, and the next bar the next number.
// Bars of sessions have ascending numbers, too.
func (i Interval) Slot(t int64) int64 {
	switch n := i.Months(); {
	case n > 0:
		year, month, _ := time.Unix(t, 0).UTC().Date()
		if n == 1 {
			return int64(12*year + int(month))
		}
		return floorDiv(int64(12*year+int(month)-1), int64(n))
	case i.Even():
		return floorDiv(t, int64(i))
	case i < Day1 && i > 0:
		date := floorDiv(t, day)
		return date*ceilDiv(day, int64(i)) + (t-date*day)/int64(i)
	}
	return t
}

// Most returns how many bars may open within so many seconds.
func (i Interval) Most(seconds int64) int64 {
	switch n := i.Months(); {
	case !i.Valid():
		return 0
	case n > 0:
		return seconds/int64(28*day*n) + 1
	case !i.Even(): // the last bar of each day is shorter
		return seconds/int64(i) + seconds/day + 2
	default:
		return seconds/int64(i) + 1
	}
}

// inRange returns the time nearest to t that a bar may have, so that arithmetic
// on a time from outside cannot overflow.
func inRange(t int64) int64 { return min(max(t, minTime), maxTime) }

// slot returns the step-long part of a trading day that t falls in, cut off at
// the day's end.
func slot(within Span, step, t int64) Span {
	open := within.Open + (t-within.Open)/step*step
	return Span{Open: open, Close: min(open+step, within.Close)}
}

// group returns the trading time of the day, 3 days, week or month that the
// date belongs to; for an intraday interval, of the day.
func (c Calendar) group(i Interval, date int64) (Span, bool) {
	first, last := dates(i, date)
	if c.zone == nil {
		return Span{Open: first * day, Close: (last + 1) * day}, true
	}
	return c.sessions(first, last)
}

// dates returns the first and last date of the group that a date belongs to.
func dates(i Interval, date int64) (first, last int64) {
	if n := i.Months(); n > 0 {
		year, month, _ := time.Unix(date*day, 0).UTC().Date()
		since := 12*year + int(month) - 1
		since -= since % n
		of := func(months int) int64 {
			return floorDiv(time.Date(0, time.Month(months+1), 1, 0, 0, 0, 0, time.UTC).Unix(), day)
		}
		return of(since), of(since+n) - 1
	}
	n := int64(1)
	switch {
	case i.Weeks() > 0:
		n = int64(7 * i.Weeks())
		first = date - floorMod(date+int64(time.Thursday)-int64(time.Monday), n)
	case i > Day1:
		n = int64(i / day)
		first = date - floorMod(date, n)
	default:
		first = date
	}
	return first, first + n - 1
}

// Divides reports whether bars of interval to can be built from bars of
// interval i: every bar of i then lies within one bar of to. Days, weeks and months
// can be built from a day or less, and each of them from fewer of its own kind.
func (i Interval) Divides(to Interval) bool {
	switch {
	case !i.Valid() || !to.Valid():
		return false
	case i == to || i <= Day1 && to > Day1:
		return true
	case to < Day1:
		return to%i == 0
	case to == Day1:
		return i < Day1
	default: // groups of days
		same := (i.Months() > 0) == (to.Months() > 0) && (i.Weeks() > 0) == (to.Weeks() > 0)
		return same && to%i == 0
	}
}

// Dated returns the span of the day, 3 days, week or month that the local date
// of t belongs to, whether or not t is within a session: venues label such bars
// by midnight, by the first open or by the last trade. It returns false for an
// intraday interval, and where the dates hold no session.
func (c Calendar) Dated(i Interval, t int64) (Span, bool) {
	if !i.Valid() || i < Day1 || t != inRange(t) {
		return Span{}, false
	}
	return c.group(i, c.dayOf(t))
}

// Midnight returns the local midnight with which the day, 3 days, week or month
// that holds the local date of t begins; for an intraday interval, the date's own.
func (c Calendar) Midnight(i Interval, t int64) int64 {
	first, _ := dates(i, c.dayOf(inRange(t)))
	if c.zone == nil {
		return first * day
	}
	return c.instant(first, 0)
}

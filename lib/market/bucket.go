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
// Round the clock, bars begin at multiples of the interval since 1970 UTC, 3d
// included; weeks begin on Monday, months on the first. With sessions, intraday
// bars count from the session's open and the last one ends with the session; a
// day is its session; 3d, weeks and months group local dates and run from the
// first session's open to the last session's close. There are no bars outside
// the years 1 to 9999.
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
			return int(ceilDiv(in.Close, step) - ceilDiv(in.Open, step))
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
	switch i {
	case Day3:
		first = date - floorMod(date, 3)
		return first, first + 2
	case Week1:
		first = date - floorMod(date+int64(time.Thursday)-int64(time.Monday), 7)
		return first, first + 6
	case Month1:
		year, month, dayOfMonth := time.Unix(date*day, 0).UTC().Date()
		first = date - int64(dayOfMonth) + 1
		return first, time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Unix() / day
	default:
		return date, date
	}
}

// Divides reports whether bars of interval to can be built from bars of
// interval i: every bar of i then lies within one bar of to. 3d, weeks and months
// can be built from a day or less, because none of them begins with another.
func (i Interval) Divides(to Interval) bool {
	switch {
	case !i.Valid() || !to.Valid():
		return false
	case i == to:
		return true
	case to > Day1:
		return i <= Day1
	default:
		return to.Seconds()%i.Seconds() == 0
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

package eval

import (
	"math"
	"strings"
	"time"

	"candela/lib/market"
	"candela/lib/pine/check"
)

// maxAhead is how many bars ahead of this one time() finds, maxBehind how many bars of a longer interval behind:
// each is looked up in the calendar.
const (
	maxAhead  = 500
	maxBehind = 5_000
	// aBarAway is what it takes to find the bar beside another.
	aBarAway = 4
)

// timeRow is the row of time() and time_close(): the time of the bar, or of the longer bar around it, in milliseconds,
// na outside a session. The forms of the function differ in which argument is a text.
func timeRow(bound func(s market.Span) int64) row {
	r := priced(allTexts(), func(s *site, a []float64) float64 {
		f := s.m.interval(s.text(a, 0, ""))
		span, ok := s.barSpan(a, f)
		if !ok {
			return math.NaN()
		}
		if session := s.text(a, s.param("session"), ""); session != "" && !s.wholeSession(session) {
			s.pay(len(session) / readAStep)
			hours, days, _ := strings.Cut(session, ":")
			zone := s.zoneOf(a, s.param("timezone"))
			if !s.inSession(hours, days, time.Unix(span.Open, 0).In(zone)) {
				return math.NaN()
			}
		}
		return float64(bound(span)) * 1000
	})
	r.ready = (*site).keepOpens
	return r
}

// keepOpens keeps the open times of earlier bars where a call may ask for one.
func (s *site) keepOpens() {
	i := s.param("bars_back")
	if !s.given(i) {
		return
	}
	if n, ok := s.c.fixed(s.exprs[i]); ok && !(n >= 1) {
		return
	}
	s.opens = s.c.variableRing(&check.BuiltinVar{Typed: check.Typed{T: &check.Type{Kind: check.Int}}, Name: "time"}, maxHistory)
}

// barSpan returns the bar of a timeframe around this bar, or around one that bars_back names, or one that lies
// timeframe_bars_back bars of the timeframe before that. A negative number counts bars ahead, which are expected
// where the calendar has them. It returns false for a bar before the first.
func (s *site) barSpan(a []float64, f frame) (market.Span, bool) {
	m := s.m
	span := market.Span{Open: m.bar.T, Close: m.ends()}
	switch n := s.offset(a, "bars_back", maxHistory); {
	case n > 0 && (s.opens == nil || n > s.opens.n):
		return span, false
	case n > 0:
		open := int64(s.opens.back(n) / 1000)
		span = market.Span{Open: open, Close: m.closeOf(open)}
	case n < 0:
		span = s.beside(frame{Interval: m.env.Interval}, span, n)
	}
	if f.Interval != m.env.Interval {
		span = m.bucket(f, span.Open)
	}
	return s.beside(f, span, s.offset(a, "timeframe_bars_back", maxBehind)), true
}

// offset returns an argument that counts bars, 0 if it was left out or is na.
func (s *site) offset(a []float64, name string, most int) int {
	i := s.param(name)
	if !s.given(i) || a[i] != a[i] {
		return 0
	}
	if a[i] > float64(most) || a[i] < -maxAhead {
		s.fail("%s of %s is from %d to %d (got %v).", name, s.call.Builtin.Name, -maxAhead, most, a[i])
	}
	return whole(a[i])
}

// beside returns the bar of a timeframe that lies so many before another, or after it for a negative number.
func (s *site) beside(f frame, span market.Span, back int) market.Span {
	s.pay(max(back, -back) * aBarAway)
	for ; back > 0; back-- {
		span = s.m.spanBefore(f, span)
	}
	for ; back < 0; back++ {
		span = s.m.spanAfter(f, span)
	}
	return span
}

func (m *Machine) spanBefore(f frame, span market.Span) market.Span {
	if f.Valid() {
		return m.env.Calendar.Prev(f.Interval, span.Open)
	}
	return m.bucket(f, span.Open-1)
}

func (m *Machine) spanAfter(f frame, span market.Span) market.Span {
	if f.Valid() {
		return m.env.Calendar.Next(f.Interval, span.Open)
	}
	return m.bucket(f, span.Close)
}

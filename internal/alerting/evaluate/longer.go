package evaluate

import (
	"sort"
	"time"

	"candela/internal/alerting/alert"
	"candela/lib/market"
)

// Longer finds, for the closes of an alert's bars, the newest bar of a longer interval that had
// closed by then. It is for one goroutine at a time.
type Longer struct {
	Interval market.Interval // of the longer bars
	Own      market.Interval // of the alert's bars
	Calendar market.Calendar
	Bars     *market.Bars // closed longer bars; they may grow

	seen int // how many had closed at the last close that was asked about
}

// Seen returns how many of the longer bars had closed at a time of the venue.
func (l *Longer) Seen(by int64) int {
	closed := func(i int) bool { return l.Calendar.CloseOf(l.Interval, l.Bars.T[i]) <= by }
	n := l.Bars.Len()
	if l.seen > n || l.seen > 0 && !closed(l.seen-1) || l.seen+1 < n && closed(l.seen+1) {
		l.seen = sort.Search(n, func(i int) bool { return !closed(i) })
	} else if l.seen < n && closed(l.seen) {
		l.seen++
	}
	return l.seen
}

// At returns the newest longer bar at the close of a bar, and how many longer bars had closed by
// then. prev is the bar before, with T zero if there is none.
func (l *Longer) At(bar, prev market.Bar, wall func(int64) time.Time) (alert.LongerBar, int) {
	out := alert.LongerBar{Interval: l.Interval}
	n := l.Seen(l.Calendar.CloseOf(l.Own, bar.T))
	if n == 0 {
		return out, 0
	}
	if out.Bar = l.Bars.At(n - 1); n > 1 {
		out.Prev = l.Bars.At(n - 2)
	}
	closed := l.Calendar.CloseOf(l.Interval, out.Bar.T)
	out.Closed = wall(closed)
	out.New = prev.T == 0 || closed > l.Calendar.CloseOf(l.Own, prev.T)
	return out, n
}

// Lacks reports whether the longer bars lack one that has closed at the close of a bar: a bar within it
// shows that the venue has it. A venue may deliver it later than the bar.
func (l *Longer) Lacks(bar, prev market.Bar) bool {
	by := l.Calendar.CloseOf(l.Own, bar.T)
	for _, within := range []int64{bar.T, prev.T} {
		if span, ok := l.Calendar.Bucket(l.Interval, within); within != 0 && ok && span.Close <= by {
			n := l.Bars.Len()
			return n == 0 || l.Calendar.CloseOf(l.Interval, l.Bars.T[n-1]) < span.Close
		}
	}
	return false
}

// All returns the newest longer bar at every one of some bars.
func (l *Longer) All(bars *market.Bars) alert.LongerBars {
	out := alert.LongerBars{Bars: l.Bars, Newest: make([]int, bars.Len())}
	for i, t := range bars.T {
		out.Newest[i] = l.Seen(l.Calendar.CloseOf(l.Own, t)) - 1
	}
	return out
}

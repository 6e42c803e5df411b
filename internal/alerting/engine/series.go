package engine

import (
	"sync/atomic"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/analysis/indicator"
	"candela/internal/market"
	"candela/internal/market/feed"
	"candela/internal/market/provider"
)

// maxPending is how many bars may close while a series is loaded.
const maxPending = 256

// series follows the bars of an instrument at an interval, and the indicators that
// alerts watch there.
type series struct {
	loading
	need    alert.Need
	place   *place      // nil before it was loaded
	bars    market.Bars // closed
	whole   bool        // the venue has nothing before them
	built   market.Interval
	depth   int // how many of them are kept
	window  atomic.Pointer[view]
	streams map[string]*stream // by the selection's key
	pending []market.Bar       // closed while they were loaded
	floor   int64              // the bar before pending, which a load must bring
}

// take handles an event of the feed.
func (s *series) take(l *loop, e *feed.Event) {
	switch e.Kind {
	case provider.Forming:
		if s.ready {
			s.show(e.Bar, l.cfg.Now())
		}
	case provider.Closed:
		if !s.ready {
			s.wait(e.Bar)
			return
		}
		closed := s.place.closes(s.need.Interval, e.Bar.T)
		s.close(l, e.Bar, closed, e.Backfilled && l.cfg.Now().Sub(closed) > lateAfter)
	default:
	}
}

// wait keeps a bar that closed while the series is loaded. When there is no room
// the load must bring the oldest.
func (s *series) wait(bar market.Bar) {
	if len(s.pending) == maxPending {
		s.floor = s.pending[0].T
		s.pending = s.pending[1:]
	}
	s.pending = append(s.pending, bar)
}

// close takes a bar that is final and evaluates what it confirms.
func (s *series) close(l *loop, bar market.Bar, closed time.Time, late bool) {
	if n := s.bars.Len(); n > 0 && bar.T <= s.bars.T[n-1] {
		return
	}
	s.append(bar)
	s.publish(market.Bar{}, false, l.cfg.Now())
	for key, selection := range l.book.Groups(s.need) {
		st := s.stream(key, selection)
		if s.short(st) {
			continue // it is being deepened, and the bars from here on are evaluated then
		}
		l.evaluations++
		for _, signal := range st.step(&s.bars) {
			l.found = l.book.Signal(l.found, s.need, key, signal.Label, signal.Y, closed, late)
		}
	}
	s.forget(l)
	if s.isZero() { // else a selection waits for a longer window, and then for this bar
		l.mark(&s.loading, s.need, bar.T)
	}
}

// stream returns the stream of a selection, a new one if there is none.
func (s *series) stream(key string, selection *indicator.Selection) *stream {
	st := s.streams[key]
	if st == nil {
		st = newStream(selection, s.need.Interval, s.place.calendar)
		s.streams[key] = st
	}
	return st
}

// short reports whether the window is too short for the values of a stream to be
// right.
func (s *series) short(st *stream) bool {
	return s.bars.Len() < st.history.Len() && !s.whole
}

// forget drops the streams that no alert watches.
func (s *series) forget(l *loop) {
	watched := 0
	for range l.book.Groups(s.need) {
		watched++
	}
	if watched == len(s.streams) {
		return
	}
	keep := make(map[string]*stream, watched)
	for key := range l.book.Groups(s.need) {
		if st := s.streams[key]; st != nil {
			keep[key] = st
		}
	}
	s.streams = keep
}

// append adds a closed bar. When the window has grown by a quarter it moves to
// memory of its own, because readers may hold the old.
func (s *series) append(bar market.Bar) {
	s.bars.Append(bar)
	if s.bars.Len() > s.depth+s.depth/4 {
		s.bars = copyOf(s.bars.Tail(s.depth), s.depth/2)
		s.whole = false
	}
}

// copyOf returns the bars in memory of their own, with room for more.
func copyOf(bars market.Bars, room int) market.Bars {
	own := market.MakeBars(bars.Len()+room, bars.TakerBuy != nil)
	for i := range bars.Len() {
		own.Append(bars.At(i))
	}
	return own
}

// show publishes the bar that runs.
func (s *series) show(running market.Bar, now time.Time) {
	if n := s.bars.Len(); n > 0 && running.T <= s.bars.T[n-1] {
		return
	}
	s.publish(running, true, now)
}

// publish lets others see the bars.
func (s *series) publish(running market.Bar, runs bool, now time.Time) {
	s.window.Store(&view{
		closed: s.bars.Slice(0, s.bars.Len()), running: running, runs: runs,
		asOf: now, whole: s.whole, built: s.built, place: s.place,
	})
}

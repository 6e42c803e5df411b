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

// barTracker follows the bars of an instrument at an interval, and the indicators that
// alerts watch there.
type barTracker struct {
	tracker
	need         alert.Dependency
	place        *listing    // nil before it was loaded
	bars         market.Bars // closed
	reachesStart bool        // the venue has nothing before them
	builtFrom    market.Interval
	depth        int // how many of them are kept
	window       atomic.Pointer[window]
	evaluators   map[string]*evaluator // by the selection's key
	pending      []market.Bar          // closed while they were loaded
	mustReach    int64                 // the bar before pending, which a load must bring
}

// handleEvent handles an event of the feed.
func (s *barTracker) handleEvent(l *loop, e *feed.Event) {
	switch e.Kind {
	case provider.Forming:
		if s.ready {
			s.publishForming(e.Bar, l.cfg.Now())
		}
	case provider.Closed:
		if !s.ready {
			s.bufferClosed(e.Bar)
			return
		}
		closed := s.place.closeTime(s.need.Interval, e.Bar.T)
		s.close(l, e.Bar, closed, e.Backfilled && l.cfg.Now().Sub(closed) > lateAfter)
	default:
	}
}

// bufferClosed keeps a bar that closed while the series is loaded. When there is no room
// the load must bring the oldest.
func (s *barTracker) bufferClosed(bar market.Bar) {
	if len(s.pending) == maxPending {
		s.mustReach = s.pending[0].T
		s.pending = s.pending[1:]
	}
	s.pending = append(s.pending, bar)
}

// close takes a bar that is final and evaluates what it confirms.
func (s *barTracker) close(l *loop, bar market.Bar, closed time.Time, late bool) {
	if n := s.bars.Len(); n > 0 && bar.T <= s.bars.T[n-1] {
		return
	}
	s.append(bar)
	s.publish(market.Bar{}, false, l.cfg.Now())
	for key, selection := range l.index.Groups(s.need) {
		st := s.evaluator(key, selection)
		if s.isTooShort(st) {
			continue // it is being deepened, and the bars from here on are evaluated then
		}
		l.evaluations++
		for _, signal := range st.evaluate(&s.bars) {
			l.newFirings = l.index.FireSignal(l.newFirings, s.need, key, signal.Label, signal.Y, closed, late)
		}
	}
	s.dropUnused(l)
	if s.isZero() { // else a selection waits for a longer window, and then for this bar
		l.setWatermark(&s.tracker, s.need, bar.T)
	}
}

// evaluator returns the stream of a selection, a new one if there is none.
func (s *barTracker) evaluator(key string, selection *indicator.Selection) *evaluator {
	st := s.evaluators[key]
	if st == nil {
		st = newEvaluator(selection, s.need.Interval, s.place.calendar)
		s.evaluators[key] = st
	}
	return st
}

// isTooShort reports whether the window is too short for the values of a stream to be
// right.
func (s *barTracker) isTooShort(st *evaluator) bool {
	return s.bars.Len() < st.history.Len() && !s.reachesStart
}

// dropUnused drops the streams that no alert watches.
func (s *barTracker) dropUnused(l *loop) {
	watched := 0
	for range l.index.Groups(s.need) {
		watched++
	}
	if watched == len(s.evaluators) {
		return
	}
	keep := make(map[string]*evaluator, watched)
	for key := range l.index.Groups(s.need) {
		if st := s.evaluators[key]; st != nil {
			keep[key] = st
		}
	}
	s.evaluators = keep
}

// append adds a closed bar. When the window has grown by a quarter it moves to
// memory of its own, because readers may hold the old.
func (s *barTracker) append(bar market.Bar) {
	s.bars.Append(bar)
	if s.bars.Len() > s.depth+s.depth/4 {
		s.bars = copyOf(s.bars.Tail(s.depth), s.depth/2)
		s.reachesStart = false
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

// publishForming publishes the bar that runs.
func (s *barTracker) publishForming(running market.Bar, now time.Time) {
	if n := s.bars.Len(); n > 0 && running.T <= s.bars.T[n-1] {
		return
	}
	s.publish(running, true, now)
}

// publish lets others see the bars.
func (s *barTracker) publish(running market.Bar, runs bool, now time.Time) {
	s.window.Store(&window{
		closed: s.bars.Slice(0, s.bars.Len()), forming: running, hasForming: runs,
		asOf: now, reachesStart: s.reachesStart, builtFrom: s.builtFrom, listing: s.place,
	})
}

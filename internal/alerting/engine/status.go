package engine

import (
	"slices"
	"time"

	"candela/internal/market/feed"
)

// failingFor is how long after a read that failed a venue counts as failing.
const failingFor = 2 * time.Minute

// Status is what is known of the engine, at most a second old. The counters only
// grow.
type Status struct {
	Running     bool
	Alerts      int           // that this engine evaluates
	Instruments int           // that they depend on
	Prices      int           // instruments whose price is followed
	Series      int           // windows of bars
	Loading     int           // of the two, not loaded yet: their alerts wait
	Uncommitted int           // firings that the store did not take yet
	Failure     string        // why it did not
	Behind      []string      // venues whose bars do not come
	Feeds       []feed.Status // by venue

	Evaluations uint64 // of indicators, each of one bar
	Firings     uint64 // committed
	Late        uint64 // of them, those found afterwards
}

// Ready reports whether alerts fire when they should: the store takes them and no
// feed is behind.
func (s *Status) Ready() bool { return s.Running && s.Failure == "" && len(s.Behind) == 0 }

// Status returns what is known now.
func (e *Engine) Status() Status { return *e.status.Load() }

// look finds out how things are and publishes it.
func (l *loop) look(now time.Time) {
	s := &Status{
		Running: l.ctx.Err() == nil, Alerts: l.book.Active(), Instruments: l.book.ActiveInstruments(), Prices: len(l.prices), Series: len(l.series),
		Feeds: l.cfg.Feed.Status(), Evaluations: l.evaluations, Firings: l.firings, Late: l.late,
	}
	for _, p := range l.prices {
		if !p.ready {
			s.Loading++
		}
	}
	for _, each := range l.series {
		if !each.ready {
			s.Loading++
		}
	}
	if l.failure != nil {
		s.Failure = l.failure.Error()
		s.Uncommitted = len(l.book.Pending(nil))
	}
	for i := range s.Feeds {
		if l.watch(&s.Feeds[i], now) {
			s.Behind = append(s.Behind, s.Feeds[i].Venue)
		}
	}
	slices.Sort(s.Behind)
	l.status.Store(s)
}

// watch is what is remembered of a venue.
type watch struct {
	failed uint64    // reads, when it was looked at last
	since  time.Time // when one failed last
	behind bool      // and reported
}

// watch reports whether the bars of a venue do not come, and raises a notice when
// that begins and when it ends: alerts on its symbols wait meanwhile. A bar that is
// late where nothing fails is one of a symbol that nobody trades.
func (l *loop) watch(s *feed.Status, now time.Time) bool {
	w := l.venues[s.Venue]
	if w == nil {
		w = &watch{failed: s.Failed}
		l.venues[s.Venue] = w
	}
	if s.Failed > w.failed {
		w.failed, w.since = s.Failed, now
	}
	behind := s.Silent > 0 || s.Late > 0 && now.Sub(w.since) < failingFor
	switch {
	case behind && !w.behind:
		l.cfg.Log.WarnContext(l.ctx, "prices do not come; alerts wait", "venue", s.Venue, "silent_streams", s.Silent, "late_series", s.Late, "heard", s.Heard.UTC())
	case !behind && w.behind:
		l.cfg.Log.InfoContext(l.ctx, "prices come again", "venue", s.Venue)
	}
	w.behind = behind
	return behind
}

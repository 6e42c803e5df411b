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
	Running       bool
	Alerts        int           // that this engine evaluates
	Instruments   int           // that they depend on
	Prices        int           // instruments whose price is followed
	Series        int           // windows of bars
	Loading       int           // of the two, not loaded yet: their alerts wait
	Uncommitted   int           // firings that the store did not take yet
	Failure       string        // why it did not
	LaggingVenues []string      // venues whose bars do not come
	Feeds         []feed.Status // by venue

	Evaluations uint64 // of indicators, each of one bar
	Firings     uint64 // committed
	Late        uint64 // of them, those found afterwards
}

// Ready reports whether alerts fire when they should: the store takes them and no
// feed is behind.
func (s *Status) Ready() bool { return s.Running && s.Failure == "" && len(s.LaggingVenues) == 0 }

// Status returns what is known now.
func (e *Engine) Status() Status { return *e.status.Load() }

// publishStatus finds out how things are and publishes it.
func (l *loop) publishStatus(now time.Time) {
	s := &Status{
		Running: l.ctx.Err() == nil, Alerts: l.index.Active(), Instruments: l.index.ActiveInstruments(), Prices: len(l.priceTrackers), Series: len(l.barTrackers),
		Feeds: l.cfg.Feed.Status(), Evaluations: l.evaluations, Firings: l.firings, Late: l.late,
	}
	for _, p := range l.priceTrackers {
		if !p.ready {
			s.Loading++
		}
	}
	for _, each := range l.barTrackers {
		if !each.ready {
			s.Loading++
		}
	}
	if l.commitErr != nil {
		s.Failure = l.commitErr.Error()
		s.Uncommitted = len(l.index.Uncommitted(nil))
	}
	for i := range s.Feeds {
		if l.checkVenue(&s.Feeds[i], now) {
			s.LaggingVenues = append(s.LaggingVenues, s.Feeds[i].Venue)
		}
	}
	slices.Sort(s.LaggingVenues)
	l.status.Store(s)
}

// venueHealth is what is remembered of a venue.
type venueHealth struct {
	failed uint64    // reads, when it was looked at last
	since  time.Time // when one failed last
	behind bool      // and reported
}

// checkVenue reports whether the bars of a venue do not come, and raises a notice when
// that begins and when it ends: alerts on its symbols wait meanwhile. A bar that is
// late where nothing fails is one of a symbol that nobody trades.
func (l *loop) checkVenue(s *feed.Status, now time.Time) bool {
	w := l.health[s.Venue]
	if w == nil {
		w = &venueHealth{failed: s.Failed}
		l.health[s.Venue] = w
	}
	if s.Failed > w.failed {
		w.failed, w.since = s.Failed, now
	}
	behind := s.Silent > 0 || s.Overdue > 0 && now.Sub(w.since) < failingFor
	switch {
	case behind && !w.behind:
		l.cfg.Log.WarnContext(l.ctx, "prices do not come; alerts wait", "venue", s.Venue, "silent_streams", s.Silent, "late_series", s.Overdue, "heard", s.LastEvent.UTC())
	case !behind && w.behind:
		l.cfg.Log.InfoContext(l.ctx, "prices come again", "venue", s.Venue)
	}
	w.behind = behind
	return behind
}

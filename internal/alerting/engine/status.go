package engine

import (
	"slices"
	"time"

	"candela/internal/data/feed"
)

// failingFor is how long a venue counts as failing after a failed read.
const failingFor = 2 * time.Minute

// Status describes the engine; it is at most a second old. The counters only grow.
type Status struct {
	Running       bool
	Alerts        int           // evaluated by this engine
	Instruments   int           // of these alerts
	Prices        int           // tracked prices
	Series        int           // rolling windows
	Loading       int           // prices and windows that are not loaded; their alerts wait
	NotEvaluated  int           // of Alerts, those on venues that are not set up
	Broken        int           // stored alerts that this version cannot evaluate
	SetAside      int           // stored alerts that wait until their owner resumes them
	Uncommitted   int           // firings that the store has not accepted
	Failure       string        // the error of the last commit
	LaggingVenues []string      // venues whose bars are overdue
	Feeds         []feed.Status // by venue

	Evaluations uint64 // indicator values computed, one per bar
	Firings     uint64 // committed
	Late        uint64 // committed late firings

	Evidence map[string]uint64 // claims that were judged, by verdict

	ScriptBars     int    // closed bars that wait for scripts
	Starved        int    // alerts whose script waits for memory
	ScriptsLate    uint64 // evaluations of a script more than a second after its bar closed
	ScriptsSkipped uint64 // bars that were given up because scripts were too slow
}

// Ready reports whether alerts fire in time: the store accepts firings and no venue lags.
func (s *Status) Ready() bool { return s.Running && s.Failure == "" && len(s.LaggingVenues) == 0 }

// Status returns the present status.
func (e *Engine) Status() Status {
	s := *e.status.Load()
	s.Evidence = e.verdicts.counts()
	return s
}

func (l *loop) publishStatus(now time.Time) {
	s := &Status{
		Running: l.ctx.Err() == nil, Alerts: l.index.Active(), Instruments: l.index.ActiveInstruments(), Prices: len(l.priceTrackers), Series: len(l.barTrackers),
		Feeds: l.cfg.Feed.Status(), Evaluations: l.evaluations, Firings: l.firings, Late: l.late,
		ScriptBars: l.pendingScripts(), Starved: l.starved.count(), ScriptsLate: l.scriptsLate, ScriptsSkipped: l.scriptsSkipped,
	}
	for t := range l.trackers() {
		switch {
		case t.noVenue:
			s.NotEvaluated += l.index.ActiveOn(t.dependency)
		case !t.ready:
			s.Loading++
		}
	}
	for _, a := range l.idle {
		if a.IsBroken() {
			s.Broken++
		} else {
			s.SetAside++
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

type venueHealth struct {
	failedReads uint64    // at the last check
	failedAt    time.Time // of the last failed read
	lagging     bool      // and logged
}

// checkVenue reports whether a venue lags, and logs when that begins and ends. An
// overdue bar without a failed read belongs to a symbol without trades.
func (l *loop) checkVenue(s *feed.Status, now time.Time) bool {
	h := l.health[s.Venue]
	if h == nil {
		h = &venueHealth{failedReads: s.Failed}
		l.health[s.Venue] = h
	}
	if s.Failed > h.failedReads {
		h.failedReads, h.failedAt = s.Failed, now
	}
	lagging := s.Silent > 0 || s.Overdue > 0 && now.Sub(h.failedAt) < failingFor
	switch {
	case lagging && !h.lagging:
		l.cfg.Log.WarnContext(l.ctx, "venue prices stalled", "venue", s.Venue, "silent_streams", s.Silent, "late_series", s.Overdue, "last_event", s.LastEvent.UTC())
	case !lagging && h.lagging:
		l.cfg.Log.InfoContext(l.ctx, "venue prices resumed", "venue", s.Venue)
	}
	h.lagging = lagging
	return lagging
}

package engine

import (
	"candela/internal/feed"
)

// Status is what is known of the engine, at most a second old.
type Status struct {
	Running     bool
	Alerts      int           // active
	Prices      int           // instruments whose price is followed
	Series      int           // windows of bars
	Loading     int           // of the two, not loaded yet: their alerts wait
	Uncommitted int           // firings that the store did not take yet
	Failure     string        // why it did not
	Feeds       []feed.Status // by venue
}

// Ready reports whether alerts fire when they should: the store takes them and no
// feed is behind.
func (s *Status) Ready() bool {
	if !s.Running || s.Failure != "" {
		return false
	}
	for i := range s.Feeds {
		if isBehind(&s.Feeds[i]) {
			return false
		}
	}
	return true
}

// isBehind reports whether bars of a venue are overdue or its streams silent.
func isBehind(s *feed.Status) bool { return s.Silent > 0 || s.Late > 0 }

// Status returns what is known now.
func (e *Engine) Status() Status { return *e.status.Load() }

func (l *loop) publishStatus() {
	s := Status{
		Running: l.ctx.Err() == nil, Alerts: l.book.Len(), Prices: len(l.prices), Series: len(l.series),
		Feeds: l.cfg.Feed.Status(),
	}
	for _, p := range l.prices {
		if !p.ready {
			s.Loading++
		}
	}
	for _, s2 := range l.series {
		if !s2.ready {
			s.Loading++
		}
	}
	if l.failure != nil {
		s.Failure = l.failure.Error()
		s.Uncommitted = len(l.book.Pending(nil))
	}
	l.status.Store(&s)
}

// watch raises a notice when a venue falls behind and when it is back: alerts on
// its symbols wait meanwhile.
func (l *loop) watch() {
	for _, s := range l.cfg.Feed.Status() {
		switch late := isBehind(&s); {
		case late && !l.behind[s.Venue]:
			l.behind[s.Venue] = true
			l.cfg.Log.WarnContext(l.ctx, "prices are behind; alerts wait", "venue", s.Venue, "silent_streams", s.Silent, "late_series", s.Late, "heard", s.Heard.UTC())
		case !late && l.behind[s.Venue]:
			delete(l.behind, s.Venue)
			l.cfg.Log.InfoContext(l.ctx, "prices are up to date", "venue", s.Venue)
		}
	}
}

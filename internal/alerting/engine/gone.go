package engine

import (
	"cmp"
	"fmt"

	"candela/internal/alerting/alert"
)

// An alert may be on a venue that was set up in an earlier run only, such as a replay. It stays
// stored and listed, and is evaluated again in a run that has the venue.

// NotEvaluated returns why nothing evaluates an alert, and "" if it is evaluated. It queries no
// venue.
func (e *Engine) NotEvaluated(a *alert.Alert) string {
	if a.Idle != nil {
		return a.Idle.Reason
	}
	return cmp.Or(e.NoVenue(a), e.starved.why(a.ID))
}

// NoVenue returns which venue of an alert is not set up, and "" if it is.
func (e *Engine) NoVenue(a *alert.Alert) string {
	if venue := a.Instrument.Venue; venue == "" || e.cfg.Data.HasVenue(venue) {
		return ""
	}
	return fmt.Sprintf("the venue %s is not set up in this run of candela; the alert waits until candela is started with it", a.Instrument.Venue)
}

// lacksVenue reports whether a tracker has alerts on a venue that is not set up. It logs each
// venue once.
func (l *loop) lacksVenue(t *tracker) bool {
	venue := t.dependency.Instrument.Venue
	if venue == "" || l.cfg.Data.HasVenue(venue) || !l.index.DependsOn(t.dependency) && !l.index.IsRead(t.dependency) {
		return false
	}
	t.noVenue = true
	if l.missingVenues[venue] {
		return true
	}
	l.missingVenues[venue] = true
	alerts := 0
	for other := range l.trackers() {
		if other.dependency.Instrument.Venue == venue {
			alerts += l.index.ActiveOn(other.dependency)
		}
	}
	l.cfg.Log.WarnContext(l.ctx, "alerts not evaluated: venue not set up", "venue", venue, "alerts", alerts)
	return true
}

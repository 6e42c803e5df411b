package engine

import (
	"slices"
	"time"

	"candela/internal/alerting/alert"
)

// brokenPause is the time between attempts to store that alerts have ended.
const brokenPause = 5 * time.Second

// endBroken ends the alerts on a script that has failed, with a notification that says why:
// none of them could fire any more.
func (l *loop) endBroken(d alert.Dependency, key, name string, err error, at time.Time) {
	problem := name + ": " + err.Error()
	l.cfg.Log.WarnContext(l.ctx, "alerts ended: their script failed", "script", name, "symbol", d.Instrument.String(), "interval", d.Interval.String(), "error", err)
	for _, a := range l.index.Where(func(other alert.Dependency) bool { return other == d }) {
		for needed := range alert.NewProbe(l.cfg.Library, &a).Groups() {
			if needed == key && !slices.ContainsFunc(l.broken, func(f alert.Firing) bool { return f.ID == a.ID }) {
				l.broken = append(l.broken, alert.Failed(a, problem, at))
			}
		}
	}
}

// commitBroken stores that alerts have ended and then publishes it, each once: the store
// gives no notification for an alert that it no longer has.
func (l *loop) commitBroken() {
	if len(l.broken) == 0 || l.consecutiveFailures > 0 || l.cfg.Now().Before(l.brokenRetry) {
		return
	}
	for len(l.broken) > 0 {
		batch := l.broken[:min(len(l.broken), commitBatch)]
		entries, err := l.cfg.Store.FireAlerts(l.drainCtx, batch)
		if err != nil {
			l.brokenRetry = l.cfg.Now().Add(brokenPause)
			l.cfg.Log.ErrorContext(l.ctx, "end of alerts not stored", "error", err, "alerts", len(l.broken))
			return
		}
		for i := range batch {
			l.remove(Name{batch[i].Owner, batch[i].ID})
		}
		l.cfg.Publish(entries)
		l.broken = l.broken[len(batch):]
	}
	l.broken = nil
}

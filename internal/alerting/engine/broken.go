package engine

import (
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
)

// endBroken ends the alerts on a script that has failed, with a notification that says why:
// none of them could fire any more.
func (l *loop) endBroken(d alert.Dependency, key, name string, err error, at time.Time) {
	problem := name + ": " + err.Error()
	l.cfg.Log.WarnContext(l.ctx, "alerts ended: their script failed", "script", name, "symbol", d.Instrument.String(), "interval", d.Interval.String(), "error", err)
	for _, a := range l.alertsOn(d, key) {
		if !l.broken.has[a.ID] {
			l.broken.add(alert.Failed(a, problem, at))
		}
	}
}

// alertsOn returns the alerts that depend on a script.
func (l *loop) alertsOn(d alert.Dependency, key string) (all []alert.Alert) {
	for _, a := range l.index.Where(func(other alert.Dependency) bool { return other == d }) {
		for needed := range alert.NewProbe(l.cfg.Library, &a).Groups() {
			if needed.Key == key {
				all = append(all, a)
			}
		}
	}
	return all
}

// commitBroken stores that alerts have ended and then publishes it, each once: the store
// gives no notification for an alert that it no longer has.
func (l *loop) commitBroken() {
	l.commitOutbox(&l.broken, "alerts that end", func(batch []alert.Firing) ([]notify.Entry, error) {
		entries, err := l.cfg.Store.FireAlerts(l.drainCtx, batch)
		if err != nil {
			return nil, err
		}
		for i := range batch {
			l.remove(Name{batch[i].Owner, batch[i].ID})
		}
		return entries, nil
	})
}

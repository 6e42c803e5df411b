package engine

import (
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
)

// storePause is the time between attempts to store what an outbox holds.
const storePause = 5 * time.Second

// outbox holds notifications that the store does not have yet, at most one for each alert.
type outbox struct {
	waiting []alert.Firing
	has     map[string]bool // IDs of alerts
	retry   time.Time       // after a failure
}

func (o *outbox) add(f alert.Firing) {
	if o.has == nil {
		o.has = make(map[string]bool)
	}
	o.has[f.ID] = true
	o.waiting = append(o.waiting, f)
}

// commitOutbox stores what an outbox holds and then publishes it. If storing fails, the rest waits.
func (l *loop) commitOutbox(o *outbox, what string, store func([]alert.Firing) ([]notify.Entry, error)) {
	if len(o.waiting) == 0 || l.consecutiveFailures > 0 || l.cfg.Now().Before(o.retry) {
		return
	}
	for len(o.waiting) > 0 {
		batch := o.waiting[:min(len(o.waiting), commitBatch)]
		entries, err := store(batch)
		if err != nil {
			o.retry = l.cfg.Now().Add(storePause)
			l.cfg.Log.ErrorContext(l.ctx, "notifications not stored", "of", what, "error", err, "alerts", len(o.waiting))
			return
		}
		l.cfg.Publish(entries)
		for i := range batch {
			delete(o.has, batch[i].ID)
		}
		o.waiting = o.waiting[len(batch):]
	}
	o.waiting = nil
}

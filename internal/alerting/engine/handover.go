package engine

import (
	"context"
	"fmt"
	"iter"

	"candela/internal/alerting/alert"
	"candela/internal/market"
	"candela/internal/market/provider"
)

// Several engines may share a store. The book of each lists all alerts, and evaluates
// those that it has adopted. An alert that one engine abandons is adopted by another, as
// an engine adopts the alerts of its own earlier run.

// Handed is a stored alert that this engine is to evaluate.
type Handed struct {
	alert.Alert
	Mark int64 // the newest bar that was evaluated for it; 0 for none
}

// Name identifies an alert in the store.
type Name struct{ Owner, ID string }

// Stored is a store as a single engine reads it when it starts.
type Stored interface {
	Alerts(ctx context.Context) iter.Seq2[alert.Alert, error]
	Marks(ctx context.Context) (map[provider.Sub]int64, error)
}

// Restore adopts all stored alerts, for an engine that shares its store with no other.
// It waits for no venue.
func (e *Engine) Restore(ctx context.Context, from Stored) error {
	var failed error
	err := e.do(ctx, func(l *loop) { failed = l.restore(ctx, from) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("restore alerts: %w", err)
	}
	return nil
}

func (l *loop) restore(ctx context.Context, from Stored) error {
	marks, err := from.Marks(ctx)
	if err != nil {
		return err
	}
	for a, err := range from.Alerts(ctx) {
		if err != nil {
			return err
		}
		l.adopt(&Handed{a, marks[subscriptionFor(a.Dependency())]})
	}
	l.loadAll()
	return nil
}

// Index lists alerts that another engine evaluates. Alerts that the book has stay as
// they are.
func (e *Engine) Index(ctx context.Context, alerts []alert.Alert) error {
	return e.do(ctx, func(l *loop) {
		for i := range alerts {
			if !l.index.Has(alerts[i].ID) {
				l.added(&alerts[i], l.index.AddInactive(alerts[i]))
			}
		}
	})
}

// Select returns the listed alerts on the instruments for which take returns true, in
// no order.
func (e *Engine) Select(ctx context.Context, take func(market.Symbol) bool) (all []alert.Alert, err error) {
	err = e.do(ctx, func(l *loop) { all = l.index.Where(func(n alert.Dependency) bool { return take(n.Instrument) }) })
	return all, err
}

// Adopt evaluates stored alerts from now on, and the bars that each has missed. An alert
// that is evaluated already stays as it is. It returns when they are in the book; bars
// are read later.
func (e *Engine) Adopt(ctx context.Context, handed []Handed) error {
	return e.do(ctx, func(l *loop) {
		needs := make(map[alert.Dependency]bool)
		for i := range handed {
			if l.adopt(&handed[i]) {
				needs[handed[i].Dependency()] = true
			}
		}
		for n := range needs {
			if _, waits := l.retry[n]; !waits {
				l.load(n)
			}
		}
	})
}

// adopt activates an alert and records what must be evaluated for it. Nothing is marked
// until that is done: a mark would claim that it was.
func (l *loop) adopt(h *Handed) bool {
	if l.index.Has(h.ID) {
		if !l.index.Activate(h.ID) {
			return false
		}
	} else if !l.added(&h.Alert, l.index.Add(h.Alert)) {
		return false
	}
	n := h.Dependency()
	delete(l.idle, n)
	delete(l.watermarks, subscriptionFor(n))
	s := l.loadingOf(n)
	s.watermarked = s.watermarked || h.Mark != 0
	if s.inProgress {
		s.queued.include(h.Created, h.Mark)
		return true
	}
	s.ready = false
	s.include(h.Created, h.Mark)
	return true
}

// added reports whether an alert was added, and logs why not: this version may lack its
// indicator. The store keeps it.
func (l *loop) added(a *alert.Alert, err error) bool {
	if err != nil {
		l.cfg.Log.ErrorContext(l.ctx, "alert not evaluated: unsupported definition", "alert_id", a.ID, "owner", a.Owner, "error", err)
	}
	return err == nil
}

// Abandon stops evaluating the alerts on all instruments but those to keep, so that
// another engine can adopt them. It commits firings and saves marks first. A firing that
// cannot be committed is found again by the engine that continues from the marks. Prices
// that Follow asked for are still followed.
func (e *Engine) Abandon(ctx context.Context, keep func(market.Symbol) bool) error {
	return e.do(ctx, func(l *loop) { l.abandon(keep) })
}

func (l *loop) abandon(keep func(market.Symbol) bool) {
	if l.consecutiveFailures > 0 {
		l.retryAt = l.cfg.Now()
	}
	l.commit()
	l.saveWatermarks()
	l.index.Deactivate(func(n alert.Dependency) bool { return !keep(n.Instrument) })
	for symbol, p := range l.priceTrackers {
		if !keep(symbol) {
			l.stopTracking(&p.tracker, p.need)
		}
	}
	for n, s := range l.barTrackers {
		if !keep(n.Instrument) {
			l.stopTracking(&s.tracker, n)
		}
	}
}

// stopTracking stops following the dependency of abandoned alerts. Its mark stays as saved:
// the next engine starts there.
func (l *loop) stopTracking(s *tracker, n alert.Dependency) {
	s.watermarked, s.backfill, s.queued = false, backfill{}, backfill{}
	delete(l.watermarks, subscriptionFor(n))
	delete(l.idle, n)
	l.untrack(n)
}

// Ended removes alerts that were ended in the store by another process.
func (e *Engine) Ended(ctx context.Context, names []Name) error {
	return e.do(ctx, func(l *loop) {
		for _, name := range names {
			if a, there := l.index.Remove(name.Owner, name.ID); there {
				l.markUnused(a.Dependency())
			}
		}
	})
}

package engine

import (
	"context"

	"candela/internal/alerting/alert"
	"candela/internal/market"
)

// Several engines may share a store, each with alerts of its own. What one watches
// no longer, another takes over, as an engine takes over from its own earlier run.

// Handed is an alert that the store has and that was watched before, by an earlier
// run or by another engine.
type Handed struct {
	alert.Alert
	Mark int64 // the newest bar that was evaluated for it; 0 for none
}

// Name is how the store knows an alert.
type Name struct{ Owner, ID string }

// Adopt watches alerts that are in the store, and evaluates what each has missed. One
// that is watched already stays as it is. It returns when they are in the book; bars
// are read from then on.
func (e *Engine) Adopt(ctx context.Context, handed []Handed) error {
	return e.do(ctx, func(l *loop) {
		needs := make(map[alert.Need]bool)
		for i := range handed {
			if l.adopt(&handed[i]) {
				needs[handed[i].Need()] = true
			}
		}
		for n := range needs {
			if _, waits := l.retry[n]; !waits {
				l.load(n)
			}
		}
	})
}

// restore adopts all the alerts there are. It waits for no venue.
func (l *loop) restore() error {
	marks, err := l.cfg.Store.Marks(l.ctx)
	if err != nil {
		return err
	}
	for a, err := range l.cfg.Store.Alerts(l.ctx) {
		if err != nil {
			return err
		}
		l.adopt(&Handed{a, marks[subOf(a.Need())]})
	}
	return nil
}

// adopt puts an alert into the book and notes what must be evaluated for it. Until
// that is done nothing is marked: a mark would say that it was.
func (l *loop) adopt(h *Handed) bool {
	if l.book.Has(h.ID) {
		return false
	}
	if err := l.book.Add(h.Alert); err != nil {
		// Such as an indicator that this version does not have. The store keeps it.
		l.cfg.Log.ErrorContext(l.ctx, "an alert cannot be watched", "alert_id", h.ID, "owner", h.Owner, "error", err)
		return false
	}
	n := h.Need()
	delete(l.idle, n)
	delete(l.marks, subOf(n))
	s := l.loadingOf(n)
	s.marked = s.marked || h.Mark != 0
	if s.busy {
		s.next.since(h.Created, h.Mark)
		return true
	}
	s.ready = false
	s.since(h.Created, h.Mark)
	return true
}

// Abandon stops to watch the alerts on all instruments but those to keep, for another
// engine to adopt them. What was found is committed and how far bars were evaluated is
// written before. What cannot be committed is found again by whoever evaluates from
// the marks that are there. Prices that Follow asked for are still followed.
func (e *Engine) Abandon(ctx context.Context, keep func(market.Symbol) bool) error {
	return e.do(ctx, func(l *loop) { l.abandon(keep) })
}

func (l *loop) abandon(keep func(market.Symbol) bool) {
	if l.fails > 0 {
		l.retryAt = l.cfg.Now()
	}
	l.commit()
	l.saveMarks()
	l.book.Discard(func(n alert.Need) bool { return !keep(n.Instrument) })
	for symbol, p := range l.prices {
		if !keep(symbol) {
			l.disown(&p.loading, p.need)
		}
	}
	for n, s := range l.series {
		if !keep(n.Instrument) {
			l.disown(&s.loading, n)
		}
	}
}

// disown stops to follow what was needed for alerts that are abandoned. Its mark
// stays as it was written: the next engine begins there.
func (l *loop) disown(s *loading, n alert.Need) {
	s.marked, s.want, s.next = false, want{}, want{}
	delete(l.marks, subOf(n))
	delete(l.idle, n)
	l.drop(n)
}

// Ended tells that alerts have ended in the store by the hand of another: they are
// watched no longer.
func (e *Engine) Ended(ctx context.Context, names []Name) error {
	return e.do(ctx, func(l *loop) {
		for _, name := range names {
			if a, there := l.book.Remove(name.Owner, name.ID); there {
				l.release(a.Need())
			}
		}
	})
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/lib/market"
)

// Several engines may share a store. The index of each lists all alerts; an engine
// evaluates those that it has adopted. An alert that one engine abandons is adopted by
// another, as an engine adopts the alerts of its own earlier run.

// Handed is a stored alert that this engine is to evaluate.
type Handed struct {
	alert.Alert
	Mark int64 // the newest bar that was evaluated for it; 0 for none
}

// Name identifies an alert in the store.
type Name struct {
	Owner principal.Owner
	ID    string
}

// Stored is a store as a single engine reads it when it starts. Alerts yields an error with
// the ID of the alert if that alone cannot be read.
type Stored interface {
	Alerts(ctx context.Context) iter.Seq2[alert.Alert, error]
	Marks(ctx context.Context) (map[provider.Sub]int64, error)
}

// Restore adopts all stored alerts, for an engine that shares its store with no other.
// It does not wait for venues.
func (e *Engine) Restore(ctx context.Context, from Stored) error {
	if _, err := ask(ctx, e, func(l *loop) (struct{}, error) { return struct{}{}, l.restore(ctx, from) }); err != nil {
		return fmt.Errorf("restore alerts: %w", err)
	}
	return nil
}

func (l *loop) restore(ctx context.Context, from Stored) error {
	watermarks, err := from.Marks(ctx)
	if err != nil {
		return err
	}
	for a, err := range from.Alerts(ctx) {
		if err != nil && a.ID != "" {
			l.added(&a, err)
			continue
		}
		if err != nil {
			return err
		}
		l.adopt(&Handed{a, watermarks[subscriptionFor(a.Dependency())]})
	}
	for t := range l.trackers() {
		l.load(t)
	}
	l.reportIdle(func(market.Symbol) bool { return true }, anyIdle)
	return nil
}

// Index lists alerts that another engine evaluates. Of alerts that the index has, only the
// state changes.
func (e *Engine) Index(ctx context.Context, alerts []alert.Alert) error {
	return e.do(ctx, func(l *loop) {
		for i := range alerts {
			l.list(&alerts[i])
		}
	})
}

func (l *loop) list(a *alert.Alert) {
	switch {
	case l.keepIdle(a), l.setAsideDied(a):
	case l.index.Has(a.ID):
		l.index.Update(a.ID, a.State)
	default:
		l.added(a, l.index.AddInactive(*a))
	}
}

// errRefused means that an alert of the store is not in the index.
var errRefused = errors.New("the list lacks alerts that nothing evaluates")

// Listed returns some of the listed alerts, and the number to call it with for the next ones, 0
// after the last. It begins with 0. An alert that the store has all the while is among them, also
// one that has expired and is still to be removed there. It is an error if the store has alerts
// that could not be listed.
func (e *Engine) Listed(ctx context.Context, from int) (alerts []alert.Alert, next int, err error) {
	type page struct {
		alerts []alert.Alert
		next   int
	}
	p, err := ask(ctx, e, func(l *loop) (p page, err error) {
		if p.alerts, p.next = l.index.Page(from); len(l.idle) > 0 {
			err = errRefused
		}
		p.alerts = append(p.alerts, l.expired...)
		return p, err
	})
	return p.alerts, p.next, err
}

// adoptStep is about how many listed alerts are adopted at a time. Alerts of one dependency stay
// together, and prices are evaluated between steps.
const adoptStep = 5000

// AdoptListed evaluates the listed alerts on the instruments for which match returns true from now
// on, and the bars that each has missed. mark returns the newest bar that was evaluated for an
// alert, 0 for none. It returns as Adopt does.
func (e *Engine) AdoptListed(ctx context.Context, match func(market.Symbol) bool, mark func(id string, of provider.Sub) int64) error {
	rest, err := ask(ctx, e, func(l *loop) ([]alert.Inactive, error) {
		return l.index.Inactive(func(d alert.Dependency) bool { return match(d.Instrument) }), nil
	})
	if err == nil {
		err = e.do(ctx, func(l *loop) { l.reportIdle(match, anyIdle) })
	}
	for err == nil && len(rest) > 0 {
		n, alerts := 0, 0
		for n < len(rest) && alerts < adoptStep {
			alerts += len(rest[n].Keys)
			n++
		}
		step := rest[:n]
		err = e.do(ctx, func(l *loop) {
			for i := range step {
				l.adoptListed(&step[i], mark)
			}
		})
		rest = rest[n:]
	}
	return err
}

func (l *loop) adoptListed(all *alert.Inactive, mark func(id string, of provider.Sub) int64) {
	sub, adopted := subscriptionFor(all.Dependency), false
	for _, key := range all.Keys {
		owner, listed := l.index.OwnerOf(key)
		if !listed || l.cfg.Suspended != nil && l.cfg.Suspended(owner) {
			continue
		}
		if a, ok := l.index.ActivateKey(key); ok {
			h := Handed{a, mark(a.ID, sub)}
			l.followHanded(&h)
			adopted = true
		}
	}
	if adopted {
		l.load(l.track(all.Dependency))
	}
}

// Adopt evaluates stored alerts from now on, and the bars that each has missed. Alerts
// that are evaluated already are not changed. It returns when they are in the index; bars
// are read later.
func (e *Engine) Adopt(ctx context.Context, handed []Handed) error {
	return e.do(ctx, func(l *loop) {
		added := make(map[alert.Dependency]bool)
		for i := range handed {
			if l.adopt(&handed[i]) {
				added[handed[i].Dependency()] = true
			}
		}
		for d := range added {
			l.load(l.track(d))
		}
		l.reportIdle(func(s market.Symbol) bool {
			return slices.ContainsFunc(handed, func(h Handed) bool { return h.Instrument == s })
		}, anyIdle)
	})
}

// adopt activates an alert and adds the bars it has missed to the backfill of its
// tracker. The unsaved watermark is dropped: it would cover bars that this alert has not
// seen.
func (l *loop) adopt(h *Handed) bool {
	if l.keepIdle(&h.Alert) || l.setAsideDied(&h.Alert) {
		return false
	}
	if l.cfg.Suspended != nil && l.cfg.Suspended(h.Owner) {
		l.list(&h.Alert)
		return false
	}
	if l.index.Has(h.ID) {
		l.index.Update(h.ID, h.State)
		if !l.index.Activate(h.ID) {
			return false
		}
	} else if !l.added(&h.Alert, l.index.Add(h.Alert)) {
		return false
	}
	l.followHanded(h)
	return true
}

// followHanded is follow for a stored alert.
func (l *loop) followHanded(h *Handed) {
	since, mark := h.unseen()
	l.follow(&h.Alert, since, mark)
}

// follow tracks the dependency of an alert that was activated, and has it see the bars since a
// time.
func (l *loop) follow(a *alert.Alert, since time.Time, mark int64) {
	l.index.Resume(a.ID)
	t := l.track(a.Dependency())
	t.unusedSince = time.Time{}
	delete(l.watermarks, subscriptionFor(t.dependency))
	t.watermarked = t.watermarked || mark != 0
	if t.inProgress {
		t.queued.include(since, mark)
	} else {
		t.ready = false
		t.include(since, mark)
	}
	l.trackLonger(a)
}

// unseen returns since when the alert must see bars, and the watermark before which it has
// seen them. A price alert that has fired sees all bars since then: they say whether the
// price was on the other side.
func (h *Handed) unseen() (since time.Time, mark int64) {
	if h.Condition.Type.OnPrice() && h.State.Fires > 0 {
		return h.State.LastFired, 0
	}
	if h.Resumed.After(h.Created) {
		return h.Resumed, h.Mark
	}
	return h.Created, h.Mark
}

// Abandon stops evaluating the alerts on all instruments except those keep selects, so
// that another engine can adopt them. It commits firings and saves watermarks first. A
// firing that cannot be committed is found again by the engine that resumes from the
// watermark. Prices requested by Follow stay tracked.
func (e *Engine) Abandon(ctx context.Context, keep func(market.Symbol) bool) error {
	return e.do(ctx, func(l *loop) { l.abandon(keep) })
}

func (l *loop) abandon(keep func(market.Symbol) bool) {
	if l.consecutiveFailures > 0 {
		l.retryAt = l.cfg.Now()
	}
	l.commit()
	l.saveWatermarks()
	l.index.Deactivate(func(d alert.Dependency) bool { return !keep(d.Instrument) })
	for t := range l.trackers() {
		if !keep(t.dependency.Instrument) {
			l.stopTracking(t)
		}
	}
}

// stopTracking removes a tracker but not its saved watermark: the next engine resumes
// from it.
func (l *loop) stopTracking(t *tracker) {
	t.watermarked, t.backfill, t.queued, t.unusedSince = false, backfill{}, backfill{}, time.Time{}
	delete(l.watermarks, subscriptionFor(t.dependency))
	l.untrack(t)
}

// Ended removes alerts that were ended in the store by another process.
func (e *Engine) Ended(ctx context.Context, names []Name) error {
	return e.do(ctx, func(l *loop) {
		for _, name := range names {
			l.remove(name)
		}
	})
}

// Clear removes all alerts, after the store has lost them.
func (e *Engine) Clear(ctx context.Context) error {
	return e.do(ctx, func(l *loop) {
		l.index.RemoveWhere(func(alert.Dependency) bool { return true })
		clear(l.idle)
		l.newFirings = l.newFirings[:0]
		for t := range l.trackers() {
			l.stopTracking(t)
		}
	})
}

package desk

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// Prices while nothing watched. After a start, a stop that candela holds and whose
// price was passed is sent at once. One that was passed and came back is kept, and so is one
// of which that is not known: the position counts as unprotected until the owner resumes.

// heldName is the stored state that says until when prices were watched.
const heldName = "held"

// watchSaveInterval is how often that is stored. Prices that were watched after it are read
// again at a start, which changes nothing: they reached no trigger.
const watchSaveInterval = 10 * time.Minute

// watchedJSON is the stored form.
type watchedJSON struct {
	Until time.Time `json:"until"`
}

// loadWatched reads until when prices were watched.
func (l *loop) loadWatched() error {
	l.held.startedAt = l.now()
	data, err := l.cfg.Store.State(l.ctx, l.cfg.Owner, heldName)
	if err != nil || data == nil {
		return err
	}
	var w watchedJSON
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("held stops: %w", err)
	}
	l.held.watchedUntil = w.Until
	return nil
}

// saveWatched stores that prices were watched until now, from time to time and at the end.
func (l *loop) saveWatched(now time.Time, last bool) {
	if len(l.held.triggers) == 0 || l.fenced != nil || len(l.held.unchecked) > 0 || !last && now.Sub(l.held.savedAt) < watchSaveInterval {
		return
	}
	l.saveTrails(now, true)
	data, err := json.Marshal(watchedJSON{now})
	if err == nil {
		err = l.cfg.Store.SaveState(l.drainCtx, l.systemCaller(), heldName, data)
	}
	if err != nil && !l.checkFenced(err) {
		l.cfg.Log.WarnContext(l.drainCtx, "state of held stops could not be saved", "error", err)
	}
	l.held.savedAt = now
}

// checkMissed begins to find out whether the price passed an order while nothing watched.
func (l *loop) checkMissed(o order.Order) {
	if !o.Updated.Before(l.held.startedAt) {
		return // it came since the start
	}
	since := o.Updated
	if l.held.watchedUntil.After(since) {
		since = l.held.watchedUntil
	}
	l.held.unchecked[o.ID] = true
	l.reads.add(func(ctx context.Context) func() {
		passed, err := l.passedSince(ctx, o, since)
		return func() { l.noteMissed(o.ID, since, passed, err) }
	})
}

// passedSince reports whether the price reached an order in the bars since a time.
func (l *loop) passedSince(ctx context.Context, o order.Order, since time.Time) (bool, error) {
	if l.cfg.Bars == nil {
		return false, errNoBars
	}
	bars, err := l.cfg.Bars(ctx, o.Symbol, since)
	if err != nil {
		return false, err
	}
	trigger := order.NewTrigger(o)
	for _, b := range bars {
		if trigger.See(b.L, b.H) {
			return true, nil
		}
	}
	return false, nil
}

// noteMissed records what was found. An order that was sent meanwhile was not missed.
func (l *loop) noteMissed(id string, since time.Time, passed bool, err error) {
	delete(l.held.unchecked, id)
	o, ok := l.book.Order(id)
	if !ok || !o.Local() || o.Status != order.Held || !passed && err == nil {
		return
	}
	why := fmt.Sprintf("the price passed the %s of order %s while candela did not watch, since %s, and came back", heldWord(o), id, since.UTC().Format(time.RFC3339))
	if err != nil {
		why = fmt.Sprintf("whether the price passed the %s of order %s while candela did not watch, since %s, is unknown", heldWord(o), id, since.UTC().Format(time.RFC3339))
	}
	l.cfg.Log.WarnContext(l.drainCtx, "held order missed", "order", id, "passed", passed, "error", err)
	l.held.missed[id] = why + "; it is kept. Check the position, then run candela resume"
	l.protector.changed = true
}

func heldWord(o order.Order) string {
	if o.IsStop() {
		return "stop"
	}
	return "target"
}

// missedSymbols returns the symbols with a stop that was missed, and why.
func (l *loop) missedSymbols() map[market.Symbol]string {
	found := make(map[market.Symbol]string)
	for id, why := range l.held.missed {
		if o, ok := l.book.Order(id); ok && o.Local() && o.Status == order.Held {
			found[o.Symbol] = why
		} else {
			delete(l.held.missed, id)
		}
	}
	return found
}

// acceptMissed ends what missed orders restrict, when the owner resumes.
func (l *loop) acceptMissed() {
	var events []order.Event
	for id := range l.held.missed {
		if o, ok := l.book.Order(id); ok && o.Local() && !o.Status.Final() {
			events = append(events, l.event(o, order.KindConfirmed, "")...)
		}
	}
	clear(l.held.missed)
	if err := l.commit(l.systemCaller(), events...); err != nil {
		l.cfg.Log.WarnContext(l.drainCtx, "missed orders could not be saved as accepted", "error", err)
	}
	l.protector.changed = true
}

package desk

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// How far trails have followed the price while nothing watched. It is read from bars after a start, so that
// a trail that is placed again is not wider. What a bar did before the trail began is not known, so in its
// first minute every better price is recorded at once, where the venue does not report it.

// trailBegins is how long that is.
const trailBegins = time.Minute

// followMissed begins to find out how far a trail that was there before the start has followed the price. Where it
// is not known when it began, as after a restore, the price that was recorded stays.
func (l *loop) followMissed(o order.Order) {
	if !o.TrailPercent.IsPositive() || o.Created.IsZero() || !o.Created.Before(l.held.startedAt) || l.cfg.Bars == nil {
		return
	}
	began := o.Seen
	if began.IsZero() {
		began = o.Created
	}
	since := began
	if l.held.watchedUntil.After(since) {
		since = l.held.watchedUntil // by then it was recorded
	}
	l.reads.add(func(ctx context.Context) func() {
		bars, err := l.cfg.Bars(ctx, o.Symbol, since)
		return func() { l.noteFollowed(o.ID, began, bars, err) }
	})
}

// noteFollowed lets a trail go on from the best price of the bars since it began. Of the bar in which it began
// only the close counts.
func (l *loop) noteFollowed(id string, began time.Time, bars []market.Bar, err error) {
	if err != nil {
		l.cfg.Log.WarnContext(l.drainCtx, "prices that a trail has followed are not known", "order", id, "error", err)
		return
	}
	t := l.held.triggers[id]
	if t == nil {
		return
	}
	for _, b := range bars {
		t.Follow(b.C)
		if b.T >= began.Unix() {
			t.Follow(b.L)
			t.Follow(b.H)
		}
	}
	l.saveTrails(l.now(), true)
}

const (
	trailSaveInterval = 10 * time.Second // at least between two records of a trail
	trailSaveStep     = 0.1              // of the distance of a trail: smaller moves are not recorded
)

// saveTrails records how far trails have followed the price, so that a restart goes on from
// there; all of them at the end, else those that have just begun or moved far enough.
func (l *loop) saveTrails(now time.Time, all bool) {
	var events []order.Event
	for id, t := range l.held.triggers {
		far := now.Sub(t.savedAt) >= trailSaveInterval && t.movedFrom(t.saved, trailSaveStep)
		if _, reported := l.levels[id]; t.Best() == t.saved || !all && !far && (reported || now.Sub(t.since) > trailBegins) {
			continue
		}
		if o, ok := l.book.Order(id); ok && (o.Local() && o.Status == order.Held || followed(o)) {
			events = append(events, order.Event{Kind: order.KindTrailed, OrderID: id, At: now, Price: decimal.NewFromFloat(t.Best())})
			t.saved, t.savedAt = t.Best(), now
		}
	}
	if err := l.commit(l.systemCaller(), events...); err != nil {
		l.cfg.Log.WarnContext(l.drainCtx, "trail save failed", "error", err)
	}
}

package engine

import (
	"context"
	"iter"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/data/provider"
)

// tracker is the common part of a priceTracker and a barTracker: the dependency it
// tracks, the past bars it must still evaluate and the state of loading them.
type tracker struct {
	dependency alert.Dependency
	listing    *listing // nil before the first load

	backfill
	queued      backfill  // for alerts that were added while a load was in progress
	ready       bool      // loaded, and evaluated for all its alerts
	inProgress  bool      // a load runs
	attempts              // to load
	notFound    bool      // the venue does not have it
	noVenue     bool      // its alerts are on a venue that is not set up
	unusedSince time.Time // when the last alert was removed; zero while it is needed
	watermarked bool      // the store has a watermark that this engine may clear
}

// backfill describes the past bars that must be evaluated for alerts that have not seen
// them.
type backfill struct {
	resumeSince time.Time // creation of the oldest alert evaluated up to watermark; zero for none
	watermark   int64
	newSince    time.Time // creation of the oldest alert that was never evaluated; zero for none
}

// include extends the backfill to an alert evaluated up to watermark, or never if that
// is 0.
func (b *backfill) include(created time.Time, watermark int64) {
	if watermark == 0 {
		b.newSince = earlier(b.newSince, created)
		return
	}
	if b.resumeSince.IsZero() || watermark < b.watermark {
		b.watermark = watermark
	}
	b.resumeSince = earlier(b.resumeSince, created)
}

// merge extends the backfill to all of o.
func (b *backfill) merge(o backfill) {
	if !o.resumeSince.IsZero() {
		b.include(o.resumeSince, o.watermark)
	}
	if !o.newSince.IsZero() {
		b.include(o.newSince, 0)
	}
}

func (b *backfill) isZero() bool { return b.resumeSince.IsZero() && b.newSince.IsZero() }

// earlier returns the earlier time; a may be zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// subscriptionFor returns the key of a dependency in the feed, and of its watermark. The
// watermark of a price has no interval.
func subscriptionFor(d alert.Dependency) provider.Sub {
	return provider.Sub{Symbol: d.Instrument, Interval: d.Interval}
}

// trackers yields the common part of all trackers, prices first: they load fastest.
func (l *loop) trackers() iter.Seq[*tracker] {
	return func(yield func(*tracker) bool) {
		for _, p := range l.priceTrackers {
			if !yield(&p.tracker) {
				return
			}
		}
		for _, b := range l.barTrackers {
			if !yield(&b.tracker) {
				return
			}
		}
	}
}

// tracker returns the tracker of a dependency, nil if it is not tracked.
func (l *loop) tracker(d alert.Dependency) *tracker {
	if d.Interval == 0 {
		if p := l.priceTrackers[d.Instrument]; p != nil {
			return &p.tracker
		}
	} else if b := l.barTrackers[d]; b != nil {
		return &b.tracker
	}
	return nil
}

// track returns the tracker of a dependency and creates it if it is missing.
func (l *loop) track(d alert.Dependency) *tracker {
	if t := l.tracker(d); t != nil {
		return t
	}
	if d.Interval == 0 {
		p := &priceTracker{tracker: tracker{dependency: d}}
		l.priceTrackers[d.Instrument] = p
		return &p.tracker
	}
	b := &barTracker{tracker: tracker{dependency: d}, evaluators: make(map[string]*evaluate.Evaluator), scripts: make(map[string]*script)}
	l.barTrackers[d] = b
	if sub := l.subscriptions[subscriptionFor(d)]; sub != nil {
		sub.bars = b
	}
	return &b.tracker
}

// needed reports whether an alert or Follow needs d.
func (l *loop) needed(d alert.Dependency) bool {
	return l.index.DependsOn(d) || l.index.IsRead(d) || d.Interval == 0 && l.extraSymbols[d.Instrument]
}

// mayStillFire reports whether bars may still arrive in which an alert came true.
func (l *loop) mayStillFire(d alert.Dependency) bool {
	t := l.track(d)
	if b := l.barTrackers[d]; b != nil && len(b.asked) > 0 {
		return true
	}
	return !t.ready && !t.notFound || slices.Contains(l.status.Load().LaggingVenues, d.Instrument.Venue)
}

// markAllUnused starts the idle time of what an alert needed and nothing needs any more.
func (l *loop) markAllUnused(a *alert.Alert) {
	for _, d := range a.Dependencies() {
		l.markUnused(d)
	}
}

// markUnused starts the idle time of a dependency that nothing needs any more.
func (l *loop) markUnused(d alert.Dependency) {
	if t := l.tracker(d); t != nil && !l.needed(d) {
		t.unusedSince = l.cfg.Now()
	}
}

// untrack removes a tracker that nothing needs.
func (l *loop) untrack(t *tracker) {
	d := t.dependency
	if l.needed(d) {
		return
	}
	l.clearWatermark(t)
	if d.Interval == 0 {
		p := l.priceTrackers[d.Instrument]
		delete(l.priceTrackers, d.Instrument)
		l.prices.remove(d.Instrument)
		if sub := l.subscriptions[p.sub]; sub != nil && sub.prices == p {
			sub.prices = nil
			l.unsubscribeIfUnused(sub)
		}
		return
	}
	b := l.barTrackers[d]
	delete(l.barTrackers, d)
	for _, s := range b.scripts {
		b.endScript(l, s)
	}
	l.windows.remove(subscriptionFor(d))
	if sub := l.subscriptions[subscriptionFor(d)]; sub != nil && sub.bars == b {
		sub.bars = nil
		l.unsubscribeIfUnused(sub)
	}
}

// setWatermark records that bars up to t have been evaluated. Without alerts it records
// nothing: another engine may watch the dependency and keep the watermark.
func (l *loop) setWatermark(t *tracker, at int64) {
	if l.index.DependsOn(t.dependency) {
		l.watermarks[subscriptionFor(t.dependency)] = at
		t.watermarked = true
	}
}

// clearWatermark removes a watermark that this engine has set.
func (l *loop) clearWatermark(t *tracker) {
	delete(l.watermarks, subscriptionFor(t.dependency))
	if t.watermarked {
		l.watermarks[subscriptionFor(t.dependency)] = 0
	}
}

// feedSubscription is a subscription to the feed and the trackers that use it. A price
// and the bars of the shortest interval share one.
type feedSubscription struct {
	sub        provider.Sub
	prices     *priceTracker
	bars       *barTracker
	followers  []*follower
	closed     int64 // the newest closed bar
	subscribed bool
	attempts   // to subscribe
}

// ensureSubscription returns the subscription to sub. A new one delivers the bars after
// the one that opened at since.
func (l *loop) ensureSubscription(sub provider.Sub, since int64) *feedSubscription {
	if s := l.subscriptions[sub]; s != nil {
		return s
	}
	s := &feedSubscription{sub: sub, closed: since, bars: l.barTrackers[alert.Dependency{Instrument: sub.Symbol, Interval: sub.Interval}]}
	s.followers = l.followersOf(sub, since)
	l.subscriptions[sub] = s
	l.subscribe(s)
	return s
}

func (l *loop) unsubscribeIfUnused(s *feedSubscription) {
	if s.prices != nil || s.bars != nil || len(s.followers) > 0 {
		return
	}
	delete(l.subscriptions, s.sub)
	if s.subscribed {
		l.cfg.Feed.Unsubscribe(s.sub)
	}
}

// subscribe subscribes to the feed, and schedules a retry if that fails.
func (l *loop) subscribe(s *feedSubscription) {
	since := s.closed
	l.async(func(ctx context.Context) func() {
		_, err := l.cfg.Feed.Subscribe(ctx, s.sub, since)
		return func() {
			switch current := l.subscriptions[s.sub]; {
			case err == nil && current == nil:
				l.cfg.Feed.Unsubscribe(s.sub) // removed meanwhile
			case err == nil && current == s:
				s.subscribed = true
			case current == s && !isShutdown(err):
				wait := l.failed(&s.attempts, maxRetry, err)
				l.cfg.Log.WarnContext(l.ctx, "feed subscription failed", "symbol", s.sub.Symbol.String(), "interval", s.sub.Interval.String(), "error", err, "retry_in", wait)
			}
		}
	})
}

// resubscribe retries the subscriptions that are due.
func (l *loop) resubscribe(now time.Time) {
	for _, s := range l.subscriptions {
		if s.due(now) {
			l.subscribe(s)
		}
	}
}

package engine

import (
	"context"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/market/provider"
)

// tracker is how far something that is followed has come.
type tracker struct {
	backfill
	ready               bool     // it was loaded, and evaluated for all its alerts
	inProgress          bool     // it is being loaded
	consecutiveFailures int      // attempts in a row that failed
	notFound            bool     // the venue says that there is no such thing
	watermarked         bool     // the store has a mark of it that is ours to clear
	queued              backfill // of alerts that came while it was being loaded
}

// backfill is what must be evaluated of the past, for alerts that it was not yet
// evaluated for.
type backfill struct {
	resumeSince time.Time // of those that were watched before, up to the mark; zero for none
	watermark   int64
	newSince    time.Time // the oldest of those that nobody has watched; zero for none
}

// include widens what must be evaluated to an alert that was watched up to mark, or
// by nobody where that is 0.
func (w *backfill) include(created time.Time, mark int64) {
	if mark == 0 {
		w.newSince = earlier(w.newSince, created)
		return
	}
	if w.resumeSince.IsZero() || mark < w.watermark {
		w.watermark = mark
	}
	w.resumeSince = earlier(w.resumeSince, created)
}

// merge adds what another one has.
func (w *backfill) merge(o backfill) {
	if !o.resumeSince.IsZero() {
		w.include(o.resumeSince, o.watermark)
	}
	if !o.newSince.IsZero() {
		w.include(o.newSince, 0)
	}
}

func (w *backfill) isZero() bool { return w.resumeSince.IsZero() && w.newSince.IsZero() }

// earlier returns the earlier of two times, of which a may be zero for none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// feedSubscription is a subscription to the feed, and who takes its events.
type feedSubscription struct {
	sub                 provider.Sub
	prices              *priceTracker
	bars                *barTracker
	closed              int64 // the newest bar that closed
	subscribed          bool
	consecutiveFailures int       // attempts in a row to subscribe that failed
	retryAt             time.Time // when to try again; zero for not
}

// subscriptionFor returns a need as bars are subscribed to. Of a price it has no interval;
// so is what has been evaluated of it marked.
func subscriptionFor(n alert.Dependency) provider.Sub {
	return provider.Sub{Symbol: n.Instrument, Interval: n.Interval}
}

// needed reports whether anything depends on n.
func (l *loop) needed(n alert.Dependency) bool {
	return l.index.DependsOn(n) || n.Interval == 0 && l.extraSymbols[n.Instrument]
}

// loadingOf returns how far a need has come, and makes it if it is new.
func (l *loop) loadingOf(n alert.Dependency) *tracker {
	if n.Interval == 0 {
		p := l.priceTrackers[n.Instrument]
		if p == nil {
			p = &priceTracker{need: n}
			l.priceTrackers[n.Instrument] = p
		}
		return &p.tracker
	}
	s := l.barTrackers[n]
	if s == nil {
		s = &barTracker{need: n, evaluators: make(map[string]*evaluator)}
		l.barTrackers[n] = s
		if line := l.subscriptions[subscriptionFor(n)]; line != nil {
			line.bars = s
		}
	}
	return &s.tracker
}

// mayStillFire reports whether bars may still come in which an alert came true.
func (l *loop) mayStillFire(n alert.Dependency) bool {
	s := l.loadingOf(n)
	return !s.ready && !s.notFound || slices.Contains(l.status.Load().LaggingVenues, n.Instrument.Venue)
}

// markUnused notes that an alert is gone.
func (l *loop) markUnused(n alert.Dependency) {
	if !l.needed(n) {
		l.idle[n] = l.cfg.Now()
	}
}

// untrack stops following what nothing needs.
func (l *loop) untrack(n alert.Dependency) {
	if l.needed(n) {
		return
	}
	delete(l.retry, n)
	if n.Interval == 0 {
		if p := l.priceTrackers[n.Instrument]; p != nil {
			l.clearWatermark(&p.tracker, n)
			delete(l.priceTrackers, n.Instrument)
			l.prices.remove(n.Instrument)
			if line := l.subscriptions[p.sub]; line != nil && line.prices == p {
				line.prices = nil
				l.unsubscribeIfUnused(line)
			}
		}
		return
	}
	if s := l.barTrackers[n]; s != nil {
		l.clearWatermark(&s.tracker, n)
		delete(l.barTrackers, n)
		l.windows.remove(subscriptionFor(n))
		if line := l.subscriptions[subscriptionFor(n)]; line != nil && line.bars == s {
			line.bars = nil
			l.unsubscribeIfUnused(line)
		}
	}
}

// unsubscribeIfUnused ends a subscription whose events nobody takes.
func (l *loop) unsubscribeIfUnused(line *feedSubscription) {
	if line.prices != nil || line.bars != nil {
		return
	}
	delete(l.subscriptions, line.sub)
	if line.subscribed {
		l.cfg.Feed.Unsubscribe(line.sub)
	}
}

// ensureSubscription returns the line of a subscription, which begins after the bar that opened
// at since if it is new.
func (l *loop) ensureSubscription(sub provider.Sub, since int64) *feedSubscription {
	if line := l.subscriptions[sub]; line != nil {
		return line
	}
	line := &feedSubscription{sub: sub, closed: since, bars: l.barTrackers[alert.Dependency{Instrument: sub.Symbol, Interval: sub.Interval}]}
	l.subscriptions[sub] = line
	l.subscribe(line)
	return line
}

// subscribe asks the feed for a line, again later if it must.
func (l *loop) subscribe(line *feedSubscription) {
	since := line.closed
	l.async(func(ctx context.Context) func() {
		_, err := l.cfg.Feed.Subscribe(ctx, line.sub, since)
		return func() {
			switch now := l.subscriptions[line.sub]; {
			case err == nil && now == nil:
				l.cfg.Feed.Unsubscribe(line.sub) // nobody wants it any more
			case err == nil && now == line:
				line.subscribed = true
			case now == line && !isShutdown(err):
				line.consecutiveFailures++
				wait := l.backoff(line.consecutiveFailures, maxRetry, err)
				line.retryAt = l.cfg.Now().Add(wait)
				l.cfg.Log.WarnContext(l.ctx, "feed not subscribed; alerts wait", "symbol", line.sub.Symbol.String(), "interval", line.sub.Interval.String(), "error", err, "retry_in", wait)
			}
		}
	})
}

// resubscribe asks again for the lines that the feed has refused.
func (l *loop) resubscribe(now time.Time) {
	for _, line := range l.subscriptions {
		if !line.retryAt.IsZero() && !now.Before(line.retryAt) {
			line.retryAt = time.Time{}
			l.subscribe(line)
		}
	}
}

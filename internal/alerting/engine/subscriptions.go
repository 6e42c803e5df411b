package engine

import (
	"context"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/market/provider"
)

// feedSubscription is a subscription to the feed and the trackers that use it. A price
// and the bars of the shortest interval share one.
type feedSubscription struct {
	sub                 provider.Sub
	prices              *priceTracker
	bars                *barTracker
	closed              int64 // the newest closed bar
	subscribed          bool
	consecutiveFailures int
	retryAt             time.Time // zero for no retry
}

// ensureSubscription returns the subscription to sub. A new one delivers the bars after
// the one that opened at since.
func (l *loop) ensureSubscription(sub provider.Sub, since int64) *feedSubscription {
	if s := l.subscriptions[sub]; s != nil {
		return s
	}
	s := &feedSubscription{sub: sub, closed: since, bars: l.barTrackers[alert.Dependency{Instrument: sub.Symbol, Interval: sub.Interval}]}
	l.subscriptions[sub] = s
	l.subscribe(s)
	return s
}

func (l *loop) unsubscribeIfUnused(s *feedSubscription) {
	if s.prices != nil || s.bars != nil {
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
				s.consecutiveFailures++
				wait := l.backoff(s.consecutiveFailures, maxRetry, err)
				s.retryAt = l.cfg.Now().Add(wait)
				l.cfg.Log.WarnContext(l.ctx, "feed subscription failed", "symbol", s.sub.Symbol.String(), "interval", s.sub.Interval.String(), "error", err, "retry_in", wait)
			}
		}
	})
}

// resubscribe retries the subscriptions that are due.
func (l *loop) resubscribe(now time.Time) {
	for _, s := range l.subscriptions {
		if !s.retryAt.IsZero() && !now.Before(s.retryAt) {
			s.retryAt = time.Time{}
			l.subscribe(s)
		}
	}
}

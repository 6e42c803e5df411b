package notify

import (
	"context"
	"slices"
	"time"

	"candela/internal/alerting/notify/records"
	"candela/internal/kit/fault"
)

// tidyShared forgets the subscriptions whose token was not seen for OrphanTTL, for
// all replicas.
func (l *Log) tidyShared(ctx context.Context) {
	now := l.cfg.Now()
	var gone []string
	l.mu.Lock()
	for key, s := range l.subscribers {
		s.mu.Lock()
		if l.idle(s) && now.Sub(s.seen) >= UnseenTTL {
			gone = append(gone, key)
		}
		s.mu.Unlock()
	}
	l.mu.Unlock()
	if err := l.forget(ctx, gone); err != nil {
		l.cfg.Log.WarnContext(ctx, "subscriptions of tokens that are long gone stay a while", "error", err)
	}
}

// idle reports whether a subscriber has no stream anywhere.
func (l *Log) idle(s *subscriber) bool {
	return s.stream == nil && (!s.seat.open || !l.shared.Members.Live(s.seat.at))
}

// forget removes what is kept of tokens.
func (l *Log) forget(ctx context.Context, keys []string) error {
	for some := range slices.Chunk(keys, records.MaxRecords/2) {
		batch := make([]records.Record, 0, 2*len(some))
		for _, key := range some {
			batch = append(batch, records.Record{Kind: records.SubscriptionKind, Name: key}, records.Record{Kind: records.AttachmentKind, Name: key})
		}
		if err := l.write(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// makeRoomShared forgets who was away for too long, and when there are too many all
// the same, who was away the longest.
func (l *Log) makeRoomShared(ctx context.Context) error {
	full := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.subscribers) >= l.shared.MaxSubscriptions
	}
	if !full() {
		return nil
	}
	if l.tidyShared(ctx); !full() {
		return nil
	}
	oldest, at := "", time.Time{}
	l.mu.Lock()
	for key, s := range l.subscribers {
		s.mu.Lock()
		if l.idle(s) && (oldest == "" || s.seen.Before(at)) {
			oldest, at = key, s.seen
		}
		s.mu.Unlock()
	}
	l.mu.Unlock()
	if oldest == "" {
		return tooMany()
	}
	if err := l.forget(ctx, []string{oldest}); err != nil {
		return unavailable(err)
	}
	return nil
}

func tooMany() error {
	return &fault.Error{Kind: fault.Unavailable, Code: "too_many_subscriptions", Retryable: true, Message: "there are too many subscriptions; try again when a client has left"}
}

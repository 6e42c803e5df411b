package replicated

import (
	"context"
	"slices"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/records"
)

// expireSubscriptions removes, for all replicas, the subscriptions whose token was not seen
// for notify.UnseenTTL. It returns the one that was not seen for the longest time, nil if
// every client is connected.
func (b *Inbox) expireSubscriptions(ctx context.Context) (oldest *subscriber) {
	b.mu.Lock()
	expired, oldest, _ := b.subs.Unseen(b.cfg.Now(), b.connected)
	b.mu.Unlock()
	if err := b.removeTokens(ctx, expired...); err != nil {
		b.cfg.Log.WarnContext(ctx, "removing expired subscriptions failed; retrying later", "error", err)
	}
	return oldest
}

func (b *Inbox) removeTokens(ctx context.Context, subs ...*subscriber) error {
	for some := range slices.Chunk(subs, records.MaxRecords/2) {
		list := make([]records.Record, 0, 2*len(some))
		for _, s := range some {
			list = append(list, records.Record{Kind: records.SubscriptionKind, Name: s.Key}, records.Record{Kind: records.AttachmentKind, Name: s.Key})
		}
		if err := b.write(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom removes expired subscriptions if there are too many, and if that does not
// suffice, the oldest.
func (b *Inbox) makeRoom(ctx context.Context) error {
	full := func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.subs.ByKey) >= b.cfg.MaxSubscriptions
	}
	if !full() {
		return nil
	}
	oldest := b.expireSubscriptions(ctx)
	switch {
	case !full():
		return nil
	case oldest == nil:
		return notify.ErrTooManySubscriptions()
	}
	if err := b.removeTokens(ctx, oldest); err != nil {
		return unavailable(err)
	}
	return nil
}

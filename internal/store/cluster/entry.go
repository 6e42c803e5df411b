package cluster

import (
	"context"
	"iter"
	"time"

	"candela/internal/alerting/notify"
)

// Entries yields the notifications of all owners after a number, ascending.
func (s *Store) Entries(ctx context.Context, after uint64) iter.Seq2[notify.Entry, error] {
	return yieldAll(func() ([]notify.Entry, error) {
		return snapshot(ctx, s.alerts, "read the notifications", s.alerts.subject(alertKind, ">"), after, func(m message) (notify.Entry, bool, error) {
			r, err := decodeRecord(m.data)
			return r.entry(m.seq), r.State == fired, err
		})
	})
}

// LastEntry returns a number that is not below any that was given to a notification,
// and below all that will be.
func (s *Store) LastEntry(ctx context.Context) (uint64, error) {
	info, err := s.alerts.stream.Info(ctx)
	if err != nil {
		return 0, failure("read the last number", err)
	}
	return info.State.LastSeq, nil
}

// PruneEntries removes at most limit notifications: those from before a time, and
// of each owner the oldest over keep.
func (s *Store) PruneEntries(ctx context.Context, before time.Time, keep, limit int) (int, error) {
	const doing = "prune the notifications"
	all, err := snapshot(ctx, s.alerts, doing, s.alerts.subject(alertKind, ">"), 0, lenient(ctx, s.alerts, doing, func(m message) (dated, bool, error) {
		r, err := decodeRecord(m.data)
		return dated{m.subject, r.Alert.Owner, r.End.At}, r.State == fired, err
	}))
	if err != nil {
		return 0, err
	}
	held := make(map[string]int)
	for i := range all {
		held[all[i].owner]++
	}
	var gone []change
	for i := range all {
		if e := &all[i]; len(gone) < limit && (e.at.Before(before) || held[e.owner] > keep) {
			gone = append(gone, change{subject: e.subject, ttl: endedTTL})
			held[e.owner]--
		}
	}
	return len(gone), s.alerts.put(ctx, doing, gone)
}

// dated is what pruning needs to know of a notification.
type dated struct {
	subject, owner string
	at             time.Time
}

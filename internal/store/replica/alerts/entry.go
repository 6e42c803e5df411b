package alerts

import (
	"context"
	"iter"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// Entries yields the notifications of all owners after a sequence number, ascending.
func (s *Store) Entries(ctx context.Context, after uint64) iter.Seq2[notify.Entry, error] {
	return yieldAll(func() ([]notify.Entry, error) {
		return table.ReadAll(ctx, s.alerts, "read notifications", s.alerts.Subject(alertKind, ">"), after, func(m conn.Message) (notify.Entry, bool, error) {
			r, err := decodeRecord(m.Data)
			return r.entry(m.Seq), r.State == fired, err
		})
	})
}

// LastEntry returns a sequence number that is at least that of every notification so far and
// below that of every later one.
func (s *Store) LastEntry(ctx context.Context) (uint64, error) {
	last, err := s.alerts.Head(ctx)
	return last, conn.Unavailable("read stream head", err)
}

// PruneEntries removes at most limit notifications: those before a time, and each owner's oldest
// beyond keep.
func (s *Store) PruneEntries(ctx context.Context, before time.Time, keep, limit int) (int, error) {
	const op = "prune notifications"
	all, err := table.ReadAll(ctx, s.alerts, op, s.alerts.Subject(alertKind, ">"), 0, table.SkipCorrupt(ctx, s.alerts, op, func(m conn.Message) (prunable, bool, error) {
		r, err := decodeRecord(m.Data)
		return prunable{m.Subject, r.Alert.Owner, r.End.At}, r.State == fired, err
	}))
	if err != nil {
		return 0, err
	}
	held := make(map[string]int)
	for i := range all {
		held[all[i].owner]++
	}
	var gone []conn.Change
	for i := range all {
		if e := &all[i]; len(gone) < limit && (e.at.Before(before) || held[e.owner] > keep) {
			gone = append(gone, conn.Change{Subject: e.subject, TTL: table.TombstoneTTL})
			held[e.owner]--
		}
	}
	return len(gone), s.alerts.WriteAll(ctx, op, gone)
}

// prunable is the part of a notification that pruning needs.
type prunable struct {
	subject, owner string
	at             time.Time
}

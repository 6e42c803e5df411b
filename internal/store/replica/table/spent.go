package table

import (
	"context"
	"time"

	"candela/internal/store/replica/conn"
)

const (
	spentAtOnce = 200
	spentTTL    = time.Minute
)

// Spent removes rows that nobody needs any more, many at once. Those that it did not come to expire by themselves, so it is for rows with
// a TTL. It is used by one goroutine.
type Spent struct {
	Table *Table

	changes []conn.Change
}

// Add removes a row, now or later. A failure is logged.
func (s *Spent) Add(ctx context.Context, subject string) {
	if s.changes = append(s.changes, conn.Change{Subject: subject, TTL: spentTTL}); len(s.changes) < spentAtOnce {
		return
	}
	if err := s.Table.WriteAll(ctx, "remove rows", s.changes); err != nil {
		s.Table.Log.WarnContext(ctx, "rows not removed; they expire", "stream", s.Table.Name, "rows", len(s.changes), "error", err)
	}
	s.changes = s.changes[:0]
}

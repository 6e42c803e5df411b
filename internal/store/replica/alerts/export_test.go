package alerts

import (
	"context"
	"strconv"
	"testing"

	"candela/internal/data/provider"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// Covers adds alerts with the sequence numbers 1 to sets, which are also their IDs, and returns
// whether a watermark covers one, and how many are remembered.
func Covers(sets int, id string, knownThrough uint64) (holds bool, kept int) {
	var r recentAlerts
	for seq := range uint64(sets) {
		r.add(seq+1, strconv.FormatUint(seq+1, 10))
	}
	return r.coverage()(id, watermark{at: 1, knownThrough: knownThrough}), len(r.sets)
}

// SaveMarksFor saves watermarks that cover the alerts up to a sequence number.
func (s *Store) SaveMarksFor(ctx context.Context, marks map[provider.Sub]int64, knownThrough uint64) error {
	return s.saveMarks(ctx, s.states.RetryFor, marks, knownThrough)
}

// Records returns the stored records of alerts.
func (s *Store) Records(tb testing.TB) [][]byte {
	tb.Helper()
	all, err := table.ReadAll(tb.Context(), s.alerts, "read records", s.alerts.Subject(alertKind, ">"), 0, func(m conn.Message) ([]byte, bool, error) { return m.Data, true, nil })
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

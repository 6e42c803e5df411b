package alerts

import (
	"context"
	"strconv"

	"candela/internal/market/provider"
)

// Covers makes alerts known that were set with the numbers 1 to sets, named by them,
// and returns whether a mark holds for one, and how many are remembered.
func Covers(sets int, id string, told uint64) (holds bool, kept int) {
	var r recentAlerts
	for seq := range uint64(sets) {
		r.add(seq+1, strconv.FormatUint(seq+1, 10))
	}
	return r.coverage()(id, watermark{at: 1, knownThrough: told}), len(r.sets)
}

// SaveMarksFor saves marks that hold for the alerts with a number up to told.
func (s *Store) SaveMarksFor(ctx context.Context, marks map[provider.Sub]int64, told uint64) error {
	return s.saveMarks(ctx, s.states.RetryFor, marks, told)
}

package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/store/replica/conn"
)

// AddEntries stores notifications that another store had, in their order and in steps
// of maxBatch, and returns them with the numbers that they have here. Their alerts are
// not active any more. Nobody else may write meanwhile.
func (s *Store) AddEntries(ctx context.Context, entries []notify.Entry) ([]notify.Entry, error) {
	added := slices.Clone(entries)
	for step := range slices.Chunk(added, conn.MaxBatch) {
		changes := make([]conn.Change, len(step))
		for i := range step {
			var err error
			if changes[i], err = s.importChange(&step[i]); err != nil {
				return nil, err
			}
		}
		// A step whose answer got lost is written again, and what was there is replaced.
		err := s.alerts.RetryWrite(ctx, "add notifications", func(ctx context.Context) error {
			first, err := s.alerts.Write(ctx, changes...)
			for i := range step {
				step[i].Seq = first + uint64(i)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return added, nil
}

// importChange is the message of an alert that has fired elsewhere.
func (s *Store) importChange(e *notify.Entry) (conn.Change, error) {
	var told struct {
		ID string `json:"alert_id"`
	}
	if err := json.Unmarshal(e.Data, &told); err != nil || !conn.IsSubjectToken(told.ID) {
		return conn.Change{}, fmt.Errorf("notification %d has the alert %q: %w", e.Seq, told.ID, err)
	}
	r := alertRecord{
		State: fired, Data: e.Data, End: conn.ChangeInfo{ID: "import", At: conn.StoredTime(e.At)},
		Alert: alertData{ID: told.ID, Owner: e.Owner, Symbol: e.Symbol, Instrument: e.Symbol, Type: e.Type},
	}
	data, err := r.encode()
	left := max(time.Minute, firedTTL-s.now().Sub(e.At)).Round(time.Second)
	return conn.Change{Subject: s.alerts.Subject(alertKind, conn.EncodeToken(e.Symbol.String()), told.ID), Data: data, TTL: left}, err
}

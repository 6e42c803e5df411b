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

// AddEntries imports notifications of another store in order, in batches of conn.MaxBatch, and
// returns them with their new sequence numbers. Their alerts have ended. No other replica may
// write meanwhile.
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
		// An unacknowledged batch is written again and replaces the first attempt.
		err := s.alerts.RetryWrite(ctx, "import notifications", func(ctx context.Context) error {
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

// importChange returns the message of an alert that fired elsewhere.
func (s *Store) importChange(e *notify.Entry) (conn.Change, error) {
	var fields struct {
		ID string `json:"alert_id"`
	}
	if err := json.Unmarshal(e.Data, &fields); err != nil || !conn.IsSubjectToken(fields.ID) {
		return conn.Change{}, fmt.Errorf("notification %d: invalid alert ID %q: %w", e.Seq, fields.ID, err)
	}
	r := alertRecord{
		State: fired, Data: e.Data, End: conn.ChangeInfo{ID: "import", At: conn.StoredTime(e.At)},
		Alert: alertData{ID: fields.ID, Owner: e.Owner, Symbol: e.Symbol, Instrument: e.Symbol, Type: e.Type},
	}
	data, err := r.encode()
	left := max(time.Minute, firedTTL-s.now().Sub(e.At)).Round(time.Second)
	return conn.Change{Subject: s.alerts.Subject(alertKind, conn.EncodeToken(e.Symbol.String()), fields.ID), Data: data, TTL: left}, err
}

package alerts

import (
	"context"
	"crypto/rand"
	"strings"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// endRequest asks for the end of an alert and holds the result.
type endRequest struct {
	subject string // the instrument may be a wildcard
	owner   string // whose alert it must be
	state   string // fired, cancelled or expired
	by      principal.Caller
	data    []byte // the notification of one that fires

	// Results.
	ended  bool        // this call ended it
	record alertRecord // as it was written
	seq    uint64      // its sequence number

	pending bool   // it is active at revision after
	after   uint64 // valid while pending
}

// endAlerts ends those alerts that are active, in atomic batches of conn.MaxBatch, and returns
// the requests with their results.
func (s *Store) endAlerts(ctx context.Context, op string, endings []endRequest) ([]endRequest, error) {
	for rest := endings; len(rest) > 0; {
		n := min(len(rest), conn.MaxBatch)
		changeID := rand.Text()
		err := s.alerts.RetryWrite(ctx, op, func(ctx context.Context) error { return s.tryEndAlerts(ctx, changeID, rest[:n]) })
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return endings, nil
}

// tryEndAlerts reads the alerts and ends the active ones. A retry finds the result of an earlier
// attempt by the change ID.
func (s *Store) tryEndAlerts(ctx context.Context, changeID string, endings []endRequest) error {
	if err := conn.ForEach(len(endings), func(i int) error { return s.loadAlert(ctx, changeID, &endings[i]) }); err != nil {
		return err
	}
	var changes []conn.Change
	var changed []*endRequest
	for i := range endings {
		e := &endings[i]
		if !e.pending {
			continue
		}
		e.record.State, e.record.End, e.record.Data = e.state, conn.NewChangeInfo(changeID, s.now(), e.by), e.data
		data, err := e.record.encode()
		if err != nil {
			return err
		}
		ttl := table.TombstoneTTL
		if e.state == fired {
			ttl = firedTTL
		}
		changes = append(changes, conn.Change{Subject: e.subject, Data: data, CompareAndSet: true, Revision: e.after, TTL: ttl})
		changed = append(changed, e)
	}
	if len(changes) == 0 {
		return nil
	}
	first, err := s.alerts.Write(ctx, changes...)
	if err != nil {
		return err
	}
	for i, e := range changed {
		e.ended, e.pending, e.seq = true, false, first+uint64(i)
	}
	return nil
}

// loadAlert reads an alert from the leader and records whether it can be ended, or was ended by
// an earlier attempt with the same change ID.
func (s *Store) loadAlert(ctx context.Context, changeID string, e *endRequest) error {
	m, ok, err := s.alerts.Latest(ctx, e.subject)
	if err != nil {
		return err
	}
	e.pending, e.ended = false, false
	if !ok {
		return s.confirmMissing(ctx, e.subject)
	}
	if len(m.Data) == 0 {
		return nil // a tombstone
	}
	r, err := decodeRecord(m.Data)
	if err != nil {
		return conn.Corrupted("read alert", err)
	}
	if r.Alert.Owner != e.owner {
		return nil
	}
	e.record, e.subject, e.after, e.seq = r, m.Subject, m.Seq, m.Seq
	e.ended = r.End.ID == changeID
	e.pending = r.State == active
	return nil
}

// confirmMissing returns nil if a subject certainly has no alert, and conn.ErrConflict if it has
// one after all. Callers drop an alert that is missing.
func (s *Store) confirmMissing(ctx context.Context, subject string) error {
	if !strings.Contains(subject, "*") {
		gone, err := s.alerts.ConfirmAbsent(ctx, subject)
		if err == nil && !gone {
			return conn.ErrConflict
		}
		return err
	}
	for m, err := range s.alerts.ReadToBarrier(ctx, 0, subject) {
		if err != nil {
			return err
		}
		if len(m.Data) > 0 {
			return conn.ErrConflict
		}
	}
	return nil
}

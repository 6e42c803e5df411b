package alerts

import (
	"context"
	"crypto/rand"
	"strings"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// endRequest asks for the end of an alert and tells what came of it.
type endRequest struct {
	subject string // a star may stand for the instrument
	owner   string // whose alert it must be
	state   string // fired, cancelled or expired
	by      principal.Caller
	data    []byte // the notification of one that fires

	// What came of it.
	ended  bool        // this call ended it
	record alertRecord // as it was written
	seq    uint64      // under which number

	pending bool   // it is active, and the last message has the number after
	after   uint64 // valid while pending
}

// endAlerts ends alerts that are active, in steps of maxBatch, each step whole or not at
// all. It returns the endings with what came of each.
func (s *Store) endAlerts(ctx context.Context, doing string, endings []endRequest) ([]endRequest, error) {
	for rest := endings; len(rest) > 0; {
		n := min(len(rest), conn.MaxBatch)
		name := rand.Text()
		err := s.alerts.RetryWrite(ctx, doing, func(ctx context.Context) error { return s.tryEndAlerts(ctx, name, rest[:n]) })
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return endings, nil
}

// tryEndAlerts reads what is there and ends what is active, once. Called again after an
// error it finds what an earlier attempt has done by the name of the step.
func (s *Store) tryEndAlerts(ctx context.Context, name string, endings []endRequest) error {
	if err := conn.ForEach(len(endings), func(i int) error { return s.loadAlert(ctx, name, &endings[i]) }); err != nil {
		return err
	}
	var changes []conn.Change
	var changed []*endRequest
	for i := range endings {
		e := &endings[i]
		if !e.pending {
			continue
		}
		e.record.State, e.record.End, e.record.Data = e.state, conn.NewChangeInfo(name, s.now(), e.by), e.data
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

// loadAlert reads an alert from the leader and notes whether it can be ended, or has
// been by an earlier attempt of the same step.
func (s *Store) loadAlert(ctx context.Context, name string, e *endRequest) error {
	m, ok, err := s.alerts.Latest(ctx, e.subject)
	if err != nil {
		return err
	}
	e.pending, e.ended = false, false
	if !ok {
		return s.confirmMissing(ctx, e.subject)
	}
	if len(m.Data) == 0 {
		return nil // it has long ended
	}
	r, err := decodeRecord(m.Data)
	if err != nil {
		return conn.Corrupted("read an alert", err)
	}
	if r.Alert.Owner != e.owner {
		return nil
	}
	e.record, e.subject, e.after, e.seq = r, m.Subject, m.Seq, m.Seq
	e.ended = r.End.ID == name
	e.pending = r.State == active
	return nil
}

// confirmMissing returns nil when there is no alert at a subject for certain, and errMoved
// when there is one after all: whoever would end an alert lets it go when it is gone.
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

package alerts

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// endRequest asks for the end of an alert and holds the result.
type endRequest struct {
	subject string          // the instrument may be a wildcard
	owner   principal.Owner // whose alert it must be
	state   string          // fired, cancelled or expired
	by      principal.Caller
	data    []byte // the notification of one that fires
	firing  *alert.Firing

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
		n := batchLen(rest)
		changeID := rand.Text()
		err := s.alerts.RetryWrite(ctx, op, func(ctx context.Context) error { return s.tryEndAlerts(ctx, changeID, rest[:n]) })
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return endings, nil
}

// batchLen returns how many of the requests fit into one batch.
func batchLen(requests []endRequest) int {
	size, of := 0, make(map[principal.Owner]bool)
	for i := range requests {
		if size++; requests[i].stays() {
			size++
		}
		if owner := requests[i].owner; !of[owner] { // whose notes are a message
			of[owner] = true
			size++
		}
		if size > conn.MaxBatch-notesOfBatch {
			return i
		}
	}
	return len(requests)
}

// stays reports whether the alert can fire again afterwards.
func (e *endRequest) stays() bool {
	return e.firing != nil && e.firing.Repeat.Repeats() && !e.firing.Last()
}

// tryEndAlerts reads the alerts and ends the active ones. A retry finds the result of an earlier
// attempt by the change ID.
func (s *Store) tryEndAlerts(ctx context.Context, changeID string, endings []endRequest) error {
	if err := conn.ForEach(len(endings), func(i int) error { return s.loadAlert(ctx, changeID, &endings[i]) }); err != nil {
		return err
	}
	var changes []conn.Change
	var changed []*endRequest
	var places []int // of the notification or the end among the changes
	var notes []note
	for i := range endings {
		e := &endings[i]
		if !e.pending {
			continue
		}
		changed, places = append(changed, e), append(places, len(changes))
		if e.stays() {
			both, err := s.fireAgain(changeID, e)
			if err != nil {
				return err
			}
			changes, notes = append(changes, both...), append(notes, noteOf(e))
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
		notes = append(notes, noteOf(e))
	}
	if len(changes) == 0 {
		return nil
	}
	changes, err := s.noteChanges(notes, places, changes)
	if err != nil {
		return err
	}
	if by := changed[0].by; by.Key != "" {
		if changes[0].By, err = s.alerts.Confirm(ctx, by); err != nil {
			return err
		}
	}
	first, err := s.alerts.Write(ctx, changes...)
	if err != nil {
		return err
	}
	for i, e := range changed {
		e.ended, e.pending, e.seq = true, false, first+uint64(places[i]) //nolint:gosec // G115: at most MaxBatch
	}
	return nil
}

// fireAgain returns the changes of a firing after which the alert stays: the notification and
// the new state. The record of the request becomes the notification's.
func (s *Store) fireAgain(changeID string, e *endRequest) ([]conn.Change, error) {
	info := conn.NewChangeInfo(changeID, s.now(), e.by)
	kept := e.record
	kept.Fire = info
	kept.Alert.setState(e.firing.State)
	state, err := kept.encode()
	if err != nil {
		return nil, err
	}
	e.record = notificationOf(e, info)
	data, err := e.record.encode()
	if err != nil {
		return nil, err
	}
	return []conn.Change{
		{Subject: s.notificationSubject(e), Data: data, TTL: firedTTL},
		{Subject: e.subject, Data: state, CompareAndSet: true, Revision: e.after},
	}, nil
}

// notificationOf returns the record of one firing of an alert that stays. Its ID is no alert's.
func notificationOf(e *endRequest, info conn.ChangeInfo) alertRecord {
	r := alertRecord{State: fired, Alert: e.record.Alert, Set: e.record.Set, End: info, Data: e.data}
	r.Alert.ID = firingID(e.firing.ID, e.firing.State.Fires)
	return r
}

// firingID names a firing of an alert that repeats.
func firingID(id string, n int) string { return id + "-" + strconv.Itoa(n) }

func (s *Store) notificationSubject(e *endRequest) string {
	return s.alerts.OwnerSubject(e.firing.Owner, alertKind, conn.EncodeToken(e.firing.Instrument.String()), firingID(e.firing.ID, e.firing.State.Fires))
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
	e.pending = r.isActive() || e.state == cancelled && !r.hasEnded()
	if f := e.firing; f != nil && f.Repeat.Repeats() && e.pending {
		e.pending = r.Alert.Fires == f.State.Fires-1
		if r.Fire.ID == changeID {
			return s.loadNotification(ctx, e)
		}
	}
	return nil
}

// loadNotification reads the notification that an earlier attempt wrote.
func (s *Store) loadNotification(ctx context.Context, e *endRequest) error {
	m, ok, err := s.alerts.Latest(ctx, s.notificationSubject(e))
	if err != nil {
		return err
	}
	if !ok || len(m.Data) == 0 {
		return conn.ErrConflict // a server that lags behind
	}
	if e.record, err = decodeRecord(m.Data); err != nil {
		return conn.Corrupted("read notification", err)
	}
	e.ended, e.pending, e.seq = true, false, m.Seq
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

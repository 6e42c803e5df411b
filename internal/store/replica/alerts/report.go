package alerts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// reportID names the notification which says that nothing evaluates an alert, one for each reason.
func reportID(id, reason string) string {
	sum := sha256.Sum256([]byte(reason))
	return id + "-" + hex.EncodeToString(sum[:4])
}

// ReportAlerts stores a notification about each alert that nothing evaluates, once for each
// reason. The alerts stay as they are. A record of what was reported outlives the notification.
func (s *Store) ReportAlerts(ctx context.Context, reports []alert.Firing) ([]notify.Entry, error) {
	var entries []notify.Entry
	for i := range reports {
		entry, isNew, err := s.report(ctx, &reports[i])
		if err != nil {
			return nil, err
		}
		if isNew {
			entries = append(entries, entry)
		}
	}
	return entries, nil
}

func (s *Store) report(ctx context.Context, f *alert.Firing) (entry notify.Entry, isNew bool, err error) {
	reason := f.Error
	if f.IsSetAside() {
		reason += f.Idle.At.String() // each time is reported
	}
	id := reportID(f.ID, reason)
	known := s.states.Subject(table.StateKind, conn.EncodeToken(string(f.Owner)), conn.EncodeToken(id))
	if _, ok, err := s.states.Latest(ctx, known); err != nil || ok {
		return entry, false, err
	}
	if there, err := s.isThere(ctx, f); err != nil || !there {
		return entry, false, err
	}
	if f.IsSetAside() {
		if err := s.setAside(ctx, f); err != nil {
			return entry, false, err
		}
	}
	stored, err := newAlertData(f.Alert)
	if err != nil {
		return entry, false, err
	}
	if stored.ID = id; f.Condition.Type == 0 {
		stored.Type, stored.Kind = alert.PriceAbove.String(), f.Idle.Kind // as newAlertData does for a type that others may not know
	}
	r := alertRecord{State: fired, Alert: stored, End: conn.NewChangeInfo(rand.Text(), s.now(), principal.Caller{}), Data: f.AppendJSON(nil)}
	data, err := r.encode()
	if err != nil {
		return entry, false, err
	}
	noted, err := s.noteChange(newNote(noteOfReport, f.Owner, f.ID, r.End, r.Data))
	if err != nil {
		return entry, false, err
	}
	subject := s.alerts.OwnerSubject(f.Owner, alertKind, conn.EncodeToken(f.Instrument.String()), id)
	var seq uint64
	err = s.alerts.RetryWrite(ctx, "report alert", func(ctx context.Context) (err error) {
		seq, err = s.alerts.Write(ctx, conn.Change{Subject: subject, Data: data, CompareAndSet: true, TTL: firedTTL}, noted)
		if errors.Is(err, conn.ErrConflict) {
			return nil // another replica, or an earlier attempt
		}
		return err
	})
	if err == nil {
		err = s.states.WriteAll(ctx, "report alert", []conn.Change{{Subject: known, Data: []byte("{}")}})
	}
	return r.entry(seq), err == nil && seq > 0, err
}

// isThere reports whether the alert of a report has not ended.
func (s *Store) isThere(ctx context.Context, f *alert.Firing) (bool, error) {
	m, ok, err := s.alerts.Latest(ctx, s.alertSubject(&f.Alert))
	if err != nil || !ok || len(m.Data) == 0 {
		return false, err
	}
	r, err := decodeRecord(m.Data)
	if err != nil {
		return false, conn.Corrupted("read alert", err)
	}
	return !r.hasEnded(), nil
}

// setAside stores that no replica evaluates an alert until it is resumed.
func (s *Store) setAside(ctx context.Context, f *alert.Firing) error {
	return s.changeAlert(ctx, "set alert aside", s.alertSubject(&f.Alert), f.Owner, nil, func(r *alertRecord) bool {
		if !r.isActive() {
			return false
		}
		r.State, r.Alert.Aside, r.Alert.Why = aside, conn.StoredTime(f.Idle.At), f.Error
		return true
	})
}

// ResumeAlert stores that an alert of the caller's subject is no longer set aside. Every replica
// follows the change.
func (s *Store) ResumeAlert(ctx context.Context, by principal.Caller, id string) error {
	if !conn.IsSubjectToken(id) {
		return alert.NotSetAside(id)
	}
	found := false
	back := newNote(noteOfResumed, by.Subject, id, conn.NewChangeInfo("", s.now(), by), nil)
	err := s.changeAlert(ctx, "resume alert", s.alerts.OwnerSubject(by.Subject, alertKind, "*", id), by.Subject, &back, func(r *alertRecord) bool {
		if found = r.State == aside; !found {
			return false
		}
		r.State, r.Alert.Aside, r.Alert.Why, r.Alert.Resumed = active, time.Time{}, "", conn.StoredTime(s.now())
		if len(r.Alert.Rule) > 0 {
			r.State = activeRule
		}
		return true
	})
	if err == nil && !found {
		err = alert.NotSetAside(id)
	}
	return err
}

// changeAlert writes an alert of an owner as change leaves it, unless that returns false or there is
// no such alert, with a note about it, nil for none. A retry finds what an earlier attempt wrote and changes nothing more.
func (s *Store) changeAlert(ctx context.Context, op, subject string, owner principal.Owner, noted *note, change func(*alertRecord) bool) error {
	return s.alerts.RetryWrite(ctx, op, func(ctx context.Context) error {
		m, ok, err := s.alerts.Latest(ctx, subject)
		if err != nil || !ok || len(m.Data) == 0 {
			return err
		}
		r, err := decodeRecord(m.Data)
		if err != nil {
			return conn.Corrupted("read alert", err)
		}
		if r.Alert.Owner != owner || !change(&r) {
			return nil
		}
		data, err := r.encode()
		if err != nil {
			return err
		}
		changes := []conn.Change{{Subject: m.Subject, Data: data, CompareAndSet: true, Revision: m.Seq}}
		if noted != nil {
			c, err := s.noteChange(*noted)
			if err != nil {
				return err
			}
			changes = append(changes, c)
		}
		_, err = s.alerts.Write(ctx, changes...)
		return err
	})
}

package alerts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"

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
	id := reportID(f.ID, f.Error)
	known := s.states.Subject(table.StateKind, conn.EncodeToken(string(f.Owner)), conn.EncodeToken(id))
	if _, ok, err := s.states.Latest(ctx, known); err != nil || ok {
		return entry, false, err
	}
	if there, err := s.isThere(ctx, f); err != nil || !there {
		return entry, false, err
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
	subject := s.alerts.OwnerSubject(f.Owner, alertKind, conn.EncodeToken(f.Instrument.String()), id)
	var seq uint64
	err = s.alerts.RetryWrite(ctx, "report alert", func(ctx context.Context) (err error) {
		seq, err = s.alerts.Write(ctx, conn.Change{Subject: subject, Data: data, CompareAndSet: true, TTL: firedTTL})
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

// Package alerts stores alerts, notifications, cursors and watermarks for all replicas, and
// hands each instrument's alerts to the engine of its shard owner.
package alerts

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
	"candela/lib/fault"
)

// firedTTL is how long the servers keep a notification that is not pruned.
const (
	firedTTL = notify.PollTTL + 24*time.Hour
)

const alertKind = "alert" // alert.<instrument>.<id>; with many owners alert.<part>.<owner>.<instrument>.<id>

// Store stores alerts, notifications, cursors, watermarks and states. It is safe for concurrent
// use by any number of replicas.
//
// An alert is one subject, and its last message is its whole state. The first message requires an
// empty subject. The message that ends it (fired, cancelled or expired) requires the first to be
// the latest, so the servers accept only one end. The sequence number of the message that fires
// an alert is that of its notification. Sequence numbers ascend, with gaps.
//
// A firing after which the alert stays is two messages in one atomic batch: its notification,
// on a subject of its own, and the alert with its new state, which requires the state before.
type Store struct {
	alerts *table.Table
	states *table.Table
	now    func() time.Time
}

var _ engine.Store = (*Store)(nil)

// Open opens the store and creates its streams if they do not exist.
func Open(ctx context.Context, c *conn.Conn, now func() time.Time) (*Store, error) {
	alerts, err := table.Open(ctx, c, "ALERTS", jetstream.FileStorage, alertKind)
	if err != nil {
		return nil, err
	}
	states, err := table.OpenStates(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Store{alerts: alerts, states: states, now: now}, nil
}

func (s *Store) alertSubject(a *alert.Alert) string {
	return s.alerts.OwnerSubject(a.Owner, alertKind, conn.EncodeToken(a.Instrument.String()), a.ID)
}

// PutAlert stores an active alert of the caller's subject.
func (s *Store) PutAlert(ctx context.Context, by principal.Caller, a alert.Alert) error {
	if a.Owner == "" || a.Owner != by.Subject {
		return fault.Field("owner", string(a.Owner), "the caller's subject, "+string(by.Subject))
	}
	if !conn.IsSubjectToken(a.ID) {
		return fault.Field("alert_id", a.ID, "1 to 64 letters, digits, - and _")
	}
	stored, err := newAlertData(a)
	if err != nil {
		return err
	}
	r := alertRecord{State: active, Alert: stored, Set: conn.NewChangeInfo(rand.Text(), s.now(), by)}
	if len(stored.Rule) > 0 {
		r.State = activeRule
	}
	if a.IsSetAside() {
		r.State, r.Alert.Aside, r.Alert.Why = aside, conn.StoredTime(a.Idle.At), a.Idle.Reason
	}
	data, err := r.encode()
	if err != nil {
		return err
	}
	body, err := setBody(stored)
	if err != nil {
		return err
	}
	noted, err := s.noteChange(newNote(noteOfSet, a.Owner, a.ID, r.Set, body))
	if err != nil {
		return err
	}
	subject := s.alertSubject(&a)
	return s.alerts.RetryWrite(ctx, "create alert", func(ctx context.Context) error {
		until, err := s.alerts.Confirm(ctx, by)
		if err != nil {
			return err
		}
		_, err = s.alerts.Write(ctx, conn.Change{Subject: subject, Data: data, CompareAndSet: true, By: until}, noted)
		if !errors.Is(err, conn.ErrConflict) {
			return err
		}
		m, ok, err := s.alerts.Latest(ctx, subject)
		if err != nil || !ok {
			return errors.Join(conn.ErrConflict, err)
		}
		found, err := decodeRecord(m.Data)
		if err == nil && found.Set.ID == r.Set.ID {
			return nil // an earlier attempt that was not acknowledged
		}
		return &fault.Error{Kind: fault.Conflict, Code: "alert_exists", Message: "Alert " + a.ID + " already exists.", Field: "alert_id", Value: a.ID, Cause: err}
	})
}

// CancelAlert removes an active alert of the caller's subject.
func (s *Store) CancelAlert(ctx context.Context, by principal.Caller, id string) error {
	missing := &fault.Error{
		Kind: fault.NotFound, Code: "alert_not_found", Field: "alert_id", Value: id,
		Message: "No active alert with this ID: it fired, expired, was cancelled or never existed. Use list_alerts to list active alerts.",
	}
	if !conn.IsSubjectToken(id) {
		return missing
	}
	ended, err := s.endAlerts(ctx, "cancel alert", []endRequest{{
		subject: s.alerts.OwnerSubject(by.Subject, alertKind, "*", id), owner: by.Subject, state: cancelled, by: by,
	}})
	if err == nil && !ended[0].ended {
		return missing
	}
	return err
}

// ExpireAlerts ends the given alerts that are still active.
func (s *Store) ExpireAlerts(ctx context.Context, all []alert.Alert) error {
	endings := make([]endRequest, len(all))
	for i := range all {
		endings[i] = endRequest{subject: s.alertSubject(&all[i]), owner: all[i].Owner, state: expired}
	}
	_, err := s.endAlerts(ctx, "expire alerts", endings)
	return err
}

// FireAlerts ends the given alerts that are still active and returns their notifications. More
// than conn.MaxBatch are committed in several batches.
func (s *Store) FireAlerts(ctx context.Context, firings []alert.Firing) ([]notify.Entry, error) {
	entries := make([]notify.Entry, 0, len(firings))
	for len(firings) > 0 {
		var round []endRequest
		round, firings = s.firingRound(firings)
		ended, err := s.endAlerts(ctx, "fire alerts", round)
		if err != nil {
			return nil, err
		}
		for i := range ended {
			if e := &ended[i]; e.ended {
				entries = append(entries, e.record.entry(e.seq))
			}
		}
	}
	return entries, nil
}

// firingRound returns requests for the first firing of each alert, and the later firings of
// alerts that repeat.
func (s *Store) firingRound(firings []alert.Firing) (round []endRequest, rest []alert.Firing) {
	known := make(map[string]bool, len(firings))
	for i := range firings {
		f := &firings[i]
		subject := s.alertSubject(&f.Alert)
		if !known[subject] {
			round = append(round, endRequest{subject: subject, owner: f.Owner, state: fired, data: f.AppendJSON(nil), firing: f})
		} else if f.Repeat.Repeats() {
			rest = append(rest, *f)
		}
		known[subject] = true
	}
	return round, rest
}

// Alerts yields every active alert of all owners.
func (s *Store) Alerts(ctx context.Context) iter.Seq2[alert.Alert, error] {
	return yieldAll(func() ([]alert.Alert, error) {
		return table.ReadAll(ctx, s.alerts, "read alerts", s.alerts.Subject(alertKind, ">"), 0, func(m conn.Message) (alert.Alert, bool, error) {
			r, err := decodeRecord(m.Data)
			if err != nil || r.hasEnded() {
				return alert.Alert{}, false, err
			}
			return r.listed(), true, nil
		})
	})
}

// yieldAll yields the result of read, or its error.
func yieldAll[T any](read func() ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		all, err := read()
		if err != nil {
			yield(*new(T), err)
			return
		}
		for _, one := range all {
			if !yield(one, nil) {
				return
			}
		}
	}
}

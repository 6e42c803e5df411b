package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
)

// How long the servers keep what has ended without being asked to prune it. An end
// outlives every change that was begun before it.
const (
	firedTTL = notify.PollTTL + 24*time.Hour
	endedTTL = 24 * time.Hour
)

// The kinds of subject.
const (
	alertKind  = "alert"  // alert.<instrument>.<id>
	cursorKind = "cursor" // cursor.<owner>.<reader>
	seriesKind = "series" // series.<instrument>.<interval>
	stateKind  = "state"  // state.<owner>.<name>
)

// Store keeps alerts, notifications, cursors, marks and states. It is safe for
// concurrent use, by any number of replicas.
//
// An alert is one subject, and its last message is all that is known of it. It
// begins with a message that demands an empty subject, and it ends, fired,
// cancelled or expired, with one that demands that the beginning is still the last:
// of all who would end it the servers let one. The number of the message with which
// it fires is the number of its notification. Numbers ascend, with gaps, because
// other messages have numbers too.
type Store struct {
	alerts *table
	states *table
	now    func() time.Time
}

var _ engine.Store = (*Store)(nil)

// OpenStore opens the store, made if it is not there.
func (c *Conn) OpenStore(ctx context.Context, now func() time.Time) (*Store, error) {
	alerts, err := c.openTable(ctx, "ALERTS", jetstream.FileStorage, alertKind)
	if err != nil {
		return nil, err
	}
	states, err := c.openStates(ctx)
	if err != nil {
		return nil, err
	}
	return &Store{alerts: alerts, states: states, now: now}, nil
}

// openStates opens the table of all that is remembered of readers, series and desks.
func (c *Conn) openStates(ctx context.Context) (*table, error) {
	return c.openTable(ctx, "STATE", jetstream.FileStorage, cursorKind, seriesKind, stateKind,
		string(records.SubscriptionKind), string(records.AttachmentKind), string(records.QueueKind), string(records.CursorKind))
}

func (s *Store) alertSubject(a *alert.Alert) string {
	return s.alerts.subject(alertKind, encode(a.Instrument.String()), a.ID)
}

// PutAlert stores an active alert of the caller's subject.
func (s *Store) PutAlert(ctx context.Context, by principal.Caller, a alert.Alert) error {
	if a.Owner == "" || a.Owner != by.Subject {
		return fault.Field("owner", a.Owner, "the caller's own subject, "+by.Subject)
	}
	if !isToken(a.ID) {
		return fault.Field("alert_id", a.ID, "1 to 64 letters, digits, - and _")
	}
	r := record{State: active, Alert: formOf(a), Set: stepOf(rand.Text(), s.now(), by)}
	data, err := r.encode()
	if err != nil {
		return err
	}
	subject := s.alertSubject(&a)
	return s.alerts.write(ctx, "put an alert", func(ctx context.Context) error {
		_, err := s.alerts.publish(ctx, s.alerts.name, change{subject: subject, data: data, guarded: true})
		if !errors.Is(err, errMoved) {
			return err
		}
		m, ok, err := s.alerts.last(ctx, subject)
		if err != nil || !ok {
			return errors.Join(errMoved, err)
		}
		found, err := decodeRecord(m.data)
		if err == nil && found.Set.Name == r.Set.Name {
			return nil // an earlier attempt, whose answer got lost
		}
		return &fault.Error{Kind: fault.Conflict, Code: "alert_exists", Message: "an alert of that id exists already", Field: "alert_id", Value: a.ID, Cause: err}
	})
}

// CancelAlert removes an active alert of the caller's subject.
func (s *Store) CancelAlert(ctx context.Context, by principal.Caller, id string) error {
	missing := &fault.Error{
		Kind: fault.NotFound, Code: "alert_not_found", Field: "alert_id", Value: id,
		Message: "no alert of that id is active; list_alerts shows those that are",
	}
	if !isToken(id) {
		return missing
	}
	ended, err := s.end(ctx, "cancel an alert", []ending{{
		subject: s.alerts.subject(alertKind, "*", id), owner: by.Subject, state: cancelled, by: by,
	}})
	if err == nil && !ended[0].done {
		return missing
	}
	return err
}

// ExpireAlerts removes those of the alerts that are still active.
func (s *Store) ExpireAlerts(ctx context.Context, gone []alert.Alert) error {
	endings := make([]ending, len(gone))
	for i := range gone {
		endings[i] = ending{subject: s.alertSubject(&gone[i]), owner: gone[i].Owner, state: expired}
	}
	_, err := s.end(ctx, "expire alerts", endings)
	return err
}

// FireAlerts turns alerts into notifications, those that were still active. Over
// maxBatch they are committed in steps.
func (s *Store) FireAlerts(ctx context.Context, firings []alert.Firing) ([]notify.Entry, error) {
	endings := make([]ending, 0, len(firings))
	known := make(map[string]bool, len(firings))
	for i := range firings {
		f := &firings[i]
		subject := s.alertSubject(&f.Alert)
		if !known[subject] {
			endings = append(endings, ending{subject: subject, owner: f.Owner, state: fired, data: f.AppendJSON(nil)})
		}
		known[subject] = true
	}
	ended, err := s.end(ctx, "fire alerts", endings)
	if err != nil {
		return nil, err
	}
	entries := make([]notify.Entry, 0, len(ended))
	for i := range ended {
		if e := &ended[i]; e.done {
			entries = append(entries, e.record.entry(e.seq))
		}
	}
	return entries, nil
}

// Alerts yields every active alert of all owners.
func (s *Store) Alerts(ctx context.Context) iter.Seq2[alert.Alert, error] {
	return yieldAll(func() ([]alert.Alert, error) {
		return snapshot(ctx, s.alerts, "read the alerts", s.alerts.subject(alertKind, ">"), 0, func(m message) (alert.Alert, bool, error) {
			r, err := decodeRecord(m.data)
			if err != nil || r.State != active {
				return alert.Alert{}, false, err
			}
			a, err := r.Alert.alert()
			return a, true, err
		})
	})
}

// yieldAll yields what read returns, or its error.
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

// damaged marks what cannot be read as Unavailable: it was not written by us.
func damaged(doing string, err error) error {
	if err == nil || fault.Of(err) != nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &fault.Error{
		Kind: fault.Unavailable, Code: "store_damaged", Message: "the shared store holds something that is not ours",
		Cause: fmt.Errorf("%s: %w", doing, err),
	}
}

// Close does nothing: the connection belongs to who opened it.
func (s *Store) Close() error { return nil }

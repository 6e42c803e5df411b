package alerts

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/replica/auditlog"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// Events about alerts are written with the changes, as notes for the audit log: in a message of its own that nothing replaces. A version that does
// not know notes takes it for an alert that has ended.

const (
	notesToken = "notes" // takes the place of the instrument, none of which is encoded so

	maxNotes      = 64 // in a message
	notesOfBatch  = (conn.MaxBatch + maxNotes - 1) / maxNotes
	noteOfSet     = "alert_set"
	noteOfCancel  = "alert_canceled"
	noteOfExpiry  = "alert_expired"
	noteOfFiring  = "alert_fired"
	noteOfReport  = "alert_reported"
	noteOfResumed = "alert_resumed"
)

// note is a note about an alert.
type note struct {
	auditlog.Note

	Back uint64 `json:"back,omitempty"` // how many messages before that of the notes its notification is; 0 for none
}

func newNote(kind string, owner principal.Owner, id string, info conn.ChangeInfo, body []byte) note {
	return note{Note: auditlog.Note{Owner: owner, Kind: kind, Subject: id, At: info.At, Actor: info.Actor, Client: info.Client, Body: body}}
}

// noteChange returns the message of notes of one owner.
func (s *Store) noteChange(notes ...note) (conn.Change, error) {
	id := rand.Text()
	r := alertRecord{State: cancelled, Alert: alertData{ID: id, Type: alert.PriceAbove.String()}, Notes: notes}
	data, err := r.encode()
	return conn.Change{Subject: s.alerts.OwnerSubject(notes[0].Owner, alertKind, notesToken, id), Data: data, TTL: firedTTL}, err
}

// noteChanges returns a write with changes, and notes after them. The notification of each note is at its place among the changes.
func (s *Store) noteChanges(notes []note, places []int, changes []conn.Change) ([]conn.Change, error) {
	byOwner := make(map[principal.Owner][]int)
	for i := range notes {
		byOwner[notes[i].Owner] = append(byOwner[notes[i].Owner], i)
	}
	for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
		for some := range slices.Chunk(byOwner[owner], maxNotes) {
			together := make([]note, len(some))
			for n, i := range some {
				if together[n] = notes[i]; notes[i].Kind == noteOfFiring {
					together[n].Back = uint64(len(changes) - places[i]) //nolint:gosec // G115: it comes before
				}
			}
			c, err := s.noteChange(together...)
			if err != nil {
				return nil, err
			}
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// noteOf returns the note of an end, or of a firing after which the alert stays.
func noteOf(e *endRequest) note {
	kinds := map[string]string{fired: noteOfFiring, cancelled: noteOfCancel, expired: noteOfExpiry}
	id := e.record.Alert.ID
	if e.firing != nil {
		id = e.firing.ID
	}
	return newNote(kinds[e.state], e.owner, id, e.record.End, e.data)
}

// isNotes reports whether a message has notes.
func (s *Store) isNotes(m conn.Message) bool {
	before, _, ok := cutLast(m.Subject)
	return ok && strings.HasSuffix(before, "."+notesToken)
}

func (s *Store) notesFilter() string {
	if s.alerts.ManyOwners() {
		return s.alerts.Subject(alertKind, "*", "*", notesToken, "*")
	}
	return s.alerts.Subject(alertKind, notesToken, "*")
}

// NotesName implements auditlog.Source. Another stream of that name has other numbers.
func (s *Store) NotesName() string { return "alerts " + s.alerts.StreamID() }

// FollowNotes implements auditlog.Source.
func (s *Store) FollowNotes(ctx context.Context, after uint64, log *slog.Logger, apply func(context.Context, uint64, []chain.Event)) {
	f := &table.Follower{Table: s.alerts, Filters: []string{s.notesFilter()}, Name: "notes about alerts", Log: log}
	done := table.Spent{Table: s.alerts}
	f.Apply = func(ctx context.Context, m conn.Message) {
		if !s.isNotes(m) || len(m.Data) == 0 {
			return
		}
		r, err := decodeRecord(m.Data)
		if err != nil {
			log.ErrorContext(ctx, "notes skipped: cannot decode", "subject", m.Subject, "seq", m.Seq, "error", err)
			return
		}
		events := make([]chain.Event, len(r.Notes))
		for i, n := range r.Notes {
			events[i] = n.event(m.Seq)
		}
		apply(ctx, m.Seq, events)
		done.Add(ctx, m.Subject)
	}
	f.Run(ctx, after)
}

// event returns the event that a note in a message is.
func (n *note) event(seq uint64) chain.Event {
	e := n.Event()
	switch {
	case n.Back > 0:
		e.Body = fmt.Appendf(nil, `{"notification":%d,"record":%s}`, seq-n.Back, n.Body)
	case n.Kind == noteOfReport:
		e.Body = fmt.Appendf(nil, `{"record":%s}`, n.Body)
	}
	return e
}

// setBody is what the event of a new alert says.
func setBody(a alertData) ([]byte, error) {
	if a.Kind != "" {
		a.Type, a.Kind = a.Kind, ""
	}
	a.Owner, a.ID = "", ""
	return json.Marshal(a)
}

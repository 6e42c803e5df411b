package auditlog

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/store/chain"
	"candela/internal/store/replica/conn"
)

// Note is an event that was committed in the same write as what it is about, in the stream of that, and is moved to the log later.
type Note struct {
	Owner   principal.Owner `json:"owner,omitempty"`
	Kind    string          `json:"kind"`
	Subject string          `json:"subject"`
	At      time.Time       `json:"at"`
	Actor   string          `json:"actor,omitempty"`
	Client  string          `json:"client,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"` // {} if there is none
}

// Event returns the event that a note is.
func (n Note) Event() chain.Event {
	e := chain.Event{Owner: n.Owner, Kind: n.Kind, Subject: n.Subject, At: n.At, Actor: n.Actor, Client: n.Client, Body: n.Body}
	if len(e.Body) == 0 {
		e.Body = []byte("{}")
	}
	return e
}

// Source is a store that commits notes.
type Source interface {
	NotesName() string // under which the log keeps up to where notes were moved
	// FollowNotes calls apply with the notes of each message after one, in their order, until ctx ends. A message is not passed
	// over before apply returns.
	FollowNotes(ctx context.Context, after uint64, log *slog.Logger, apply func(ctx context.Context, seq uint64, events []chain.Event))
}

// Mover moves the notes of a source to the log. One replica at a time should run it; if two do, a note is moved once.
type Mover struct {
	To     *Log
	From   Source
	Logger *slog.Logger
	// Gone reports whether an owner was erased, of whom nothing is kept; nil for never.
	Gone func(ctx context.Context, owner principal.Owner) (bool, error)
}

// Run moves notes until ctx ends.
func (m Mover) Run(ctx context.Context) error {
	after, err := m.mark(ctx)
	if err != nil {
		return err
	}
	m.From.FollowNotes(ctx, after, m.Logger, m.move)
	return ctx.Err()
}

// mark returns up to where the notes were moved.
func (m Mover) mark(ctx context.Context) (mark uint64, err error) {
	m.To.mu.Lock()
	defer m.To.mu.Unlock()
	err = m.To.RetryRead(ctx, func(ctx context.Context) error {
		m.To.known = false
		err := m.To.know(ctx)
		mark = m.To.marks[m.From.NotesName()]
		return err
	})
	return mark, conn.Unavailable("read the audit log", err)
}

// move moves the events of a message, and repeats what fails.
func (m Mover) move(ctx context.Context, seq uint64, events []chain.Event) {
	for failures := 1; ctx.Err() == nil; failures++ {
		err := m.To.Move(ctx, m.From.NotesName(), seq, events)
		if err == nil {
			err = m.eraseGone(ctx, events)
		}
		if err == nil {
			return
		}
		if failures == 1 && ctx.Err() == nil {
			m.Logger.ErrorContext(ctx, "events not written to the audit log; repeating", "source", m.From.NotesName(), "message", seq, "error", err)
		}
		_ = retry.Sleep(ctx, conn.Backoff().Delay(failures, nil))
	}
}

// eraseGone removes what was moved after its owner was erased. An erasure first writes that it has begun, and then removes events.
func (m Mover) eraseGone(ctx context.Context, events []chain.Event) error {
	if m.Gone == nil {
		return nil
	}
	asked := make(map[principal.Owner]bool)
	for _, e := range events {
		if e.Owner == "" || asked[e.Owner] {
			continue
		}
		asked[e.Owner] = true
		gone, err := m.Gone(ctx, e.Owner)
		if err == nil && gone {
			_, err = m.To.Erase(ctx, e.Owner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// headsEvery is how often chains are noted.
const headsEvery = time.Minute

// KeepHeads notes the chains of owners until ctx ends. One replica at a time should run it.
func (l *Log) KeepHeads(ctx context.Context, log *slog.Logger) error {
	for {
		if err := l.NoteHeads(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "chains of owners not noted; repeating", "error", err)
		}
		if err := retry.Sleep(ctx, headsEvery); err != nil {
			return err
		}
	}
}

package owners

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/replica/auditlog"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// Events about owners are written with the changes, as notes for the audit log: in a message of its own that nothing replaces. The event is of no
// owner, so that it outlives an erasure.

const (
	notesToken = "notes" // identity.notes.<random>; the hash of an identity is longer

	// noteTTL is how long the servers keep a note that was moved to the log, and one that was not.
	noteTTL = 30 * 24 * time.Hour

	noteOfBeginning  = "owner_began"
	noteOfSuspension = "owner_suspended"
	noteOfResumption = "owner_resumed"
	noteOfPlan       = "owner_plan_set"
	noteOfLink       = "owner_linked"
	noteOfErasure    = "owner_erased"
)

// note returns the message of a note about an owner.
func (s *Store) note(kind string, id principal.Owner, body any) (conn.Change, error) {
	n := auditlog.Note{Kind: kind, Subject: string(id), At: conn.StoredTime(s.now())}
	var err error
	if body != nil {
		if n.Body, err = json.Marshal(body); err != nil {
			return conn.Change{}, conn.Final(err)
		}
	}
	data, err := json.Marshal(n)
	if err != nil {
		return conn.Change{}, conn.Final(err)
	}
	return conn.Change{Subject: s.table.Subject(identityKind, notesToken, rand.Text()), Data: data, TTL: noteTTL}, nil
}

func (s *Store) notesFilter() string { return s.table.Subject(identityKind, notesToken, ">") }

// NotesName implements auditlog.Source. Another stream of that name has other numbers.
func (s *Store) NotesName() string { return "owners " + s.table.StreamID() }

// FollowNotes implements auditlog.Source.
func (s *Store) FollowNotes(ctx context.Context, after uint64, log *slog.Logger, apply func(context.Context, uint64, []chain.Event)) {
	f := &table.Follower{Table: s.table, Filters: []string{s.notesFilter()}, Name: "notes about owners", Log: log}
	done := table.Spent{Table: s.table}
	f.Apply = func(ctx context.Context, m conn.Message) {
		if !strings.HasPrefix(m.Subject, s.table.Subject(identityKind, notesToken, "")) || len(m.Data) == 0 {
			return
		}
		var n auditlog.Note
		if err := json.Unmarshal(m.Data, &n); err != nil {
			log.ErrorContext(ctx, "note skipped: cannot decode", "subject", m.Subject, "seq", m.Seq, "error", err)
			return
		}
		apply(ctx, m.Seq, []chain.Event{n.Event()})
		done.Add(ctx, m.Subject)
	}
	f.Run(ctx, after)
}

// Gone reports whether an erasure of an owner has begun.
func (s *Store) Gone(ctx context.Context, owner principal.Owner) (bool, error) {
	r, _, err := s.load(ctx, owner)
	return r.gone(), err
}

// Package owners stores the records of owners for all replicas. Each replica knows who is
// suspended or erased.
package owners

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
	"candela/lib/fault"
)

// The kinds of subject in the stream OWNERS.
const (
	ownerKind    = "owner"    // owner.<part>.<owner>: the record
	standingKind = "standing" // standing.<part>.<owner>: state and plan where they are not the usual
	identityKind = "identity" // identity.<hash of issuer and subject>: the owner it is linked to
)

// Part is a store with something of every owner.
type Part interface {
	// EraseOwner removes what it has of an owner, and counts it by table.
	EraseOwner(ctx context.Context, owner principal.Owner) (map[string]int64, error)
	// ExportOwner yields what it has of an owner.
	ExportOwner(ctx context.Context, owner principal.Owner) iter.Seq2[owners.ExportedRow, error]
}

// Audit is the store with the audit events of owners and what follows from them.
type Audit interface {
	// ChainOf returns how many events an owner has, and the hash of the last.
	ChainOf(ctx context.Context, owner principal.Owner) (chain.Chain, error)
	// EraseOwner removes the events of an owner, and returns how many there were and the hash of the last.
	EraseOwner(ctx context.Context, owner principal.Owner) (chain.Chain, error)
	ExportOwner(ctx context.Context, owner principal.Owner) iter.Seq2[owners.ExportedRow, error]
}

// Store keeps the records. It is safe for concurrent use by any number of replicas. A record is
// one subject; a change demands the revision that it read.
//
// Most owners are active and on the default plan, and a replica need not know them all. The others
// have a second subject each, which every replica follows.
type Store struct {
	Audit Audit // nil for none; set it before the first call

	table *table.Table
	parts []Part
	now   func() time.Time
	stop  context.CancelFunc // nil before Follow
	wg    sync.WaitGroup

	// OnPlans is called with the plans of all replicas when they change; set it before Follow, nil for nothing.
	OnPlans func(owners.SharedPlans)

	mu        sync.Mutex
	standings map[principal.Owner]owners.Standing
}

var _ owners.Records = (*Store)(nil)

// Open opens the store and creates its stream if there is none. Close must be called.
func Open(ctx context.Context, c *conn.Conn, now func() time.Time, parts ...Part) (*Store, error) {
	t, err := table.Open(ctx, c, "OWNERS", jetstream.FileStorage, ownerKind, standingKind, identityKind)
	if err != nil {
		return nil, err
	}
	s := &Store{table: t, parts: parts, now: now, standings: make(map[principal.Owner]owners.Standing)}
	c.AddCheck(s.confirm)
	return s, nil
}

// Close stops Follow.
func (s *Store) Close() {
	if s.stop != nil {
		s.stop()
	}
	s.wg.Wait()
}

// Follow learns the standings of owners, and calls changed with each owner whose state changes
// later, here or at another replica. It must be called once.
func (s *Store) Follow(ctx context.Context, log *slog.Logger, changed func(owner principal.Owner, state owners.State)) error {
	loading := true
	f := &table.Follower{Table: s.table, Name: "owners", Log: log, Filters: []string{s.table.Subject(standingKind, ">")}}
	f.Apply = func(ctx context.Context, m conn.Message) {
		if s.table.IsBarrier(m) {
			return
		}
		if m.Subject == s.plansSubject() {
			s.learnPlans(ctx, log, m)
			return
		}
		of, err := conn.DecodeToken(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
		if err != nil {
			log.ErrorContext(ctx, "state of an owner skipped: invalid subject", "subject", m.Subject, "error", err)
			return
		}
		now := owners.Standing{State: owners.Active}
		if len(m.Data) > 0 {
			if err := json.Unmarshal(m.Data, &now); err != nil {
				log.ErrorContext(ctx, "standing of an owner skipped: cannot decode", "subject", m.Subject, "error", err)
				return
			}
		}
		if owner := principal.Owner(of); s.learn(owner, now) && !loading {
			changed(owner, now.State)
		}
	}
	last, err := f.Load(ctx, "read the states of owners")
	if err != nil {
		return err
	}
	loading = false
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.wg.Go(func() { f.Run(following, last) })
	return nil
}

// learn records a standing and reports whether the state is another one.
func (s *Store) learn(owner principal.Owner, now owners.Standing) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.standing(owner)
	if now.Usual() {
		delete(s.standings, owner)
	} else {
		s.standings[owner] = now
	}
	return before.State != now.State
}

func (s *Store) standing(owner principal.Owner) owners.Standing {
	if known, ok := s.standings[owner]; ok {
		return known
	}
	return owners.Standing{State: owners.Active}
}

// Standing returns the standing of an owner, as far as this replica knows.
func (s *Store) Standing(owner principal.Owner) owners.Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standing(owner)
}

// MadeFor implements owners.Records. Streams say for whom they were made.
func (s *Store) MadeFor(context.Context, principal.Owner) (many, one bool, err error) {
	return true, false, nil
}

// Standings implements owners.Records, as far as this replica knows.
func (s *Store) Standings(context.Context) (map[principal.Owner]owners.Standing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.standings), nil
}

// record is the data of an owner's subject.
type record struct {
	owners.Owner
	Identities []owners.Identity `json:"identities,omitempty"` // linked
	Erasing    bool              `json:"erasing,omitempty"`    // an erasure has begun: nothing more is stored for the owner
	Erasure    *owners.Erasure   `json:"erasure,omitempty"`
	Change     string            `json:"change"` // a random ID, by which a write is found after a lost acknowledgement
}

// gone reports whether an erasure has begun.
func (r *record) gone() bool {
	return r.State == owners.Erased || r.State == owners.Suspended && r.Erasing
}

func (s *Store) subject(owner principal.Owner) string { return s.table.OwnerSubject(owner, ownerKind) }

// identitySubject has a hash: issuers and subjects are of any length, and say who somebody is.
func (s *Store) identitySubject(i owners.Identity) string {
	sum := sha256.Sum256([]byte(i.Issuer + "\x00" + i.Subject))
	return s.table.Subject(identityKind, hex.EncodeToString(sum[:]))
}

func (s *Store) load(ctx context.Context, id principal.Owner) (r record, rev uint64, err error) {
	m, ok, err := s.table.Latest(ctx, s.subject(id))
	if err != nil || !ok || len(m.Data) == 0 {
		return r, m.Seq, err
	}
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return r, m.Seq, conn.Corrupted("read an owner", err)
	}
	return r, m.Seq, nil
}

// change changes a record. next gets the latest, without an ID if there is none, and returns
// further changes that are written with it; it is called again after a conflict.
func (s *Store) change(ctx context.Context, id principal.Owner, next func(*record) ([]conn.Change, error)) (record, error) {
	var r record
	name := rand.Text()
	err := s.table.RetryWrite(ctx, "write an owner", func(ctx context.Context) error {
		latest, rev, err := s.load(ctx, id)
		if err != nil {
			return err
		}
		if r = latest; r.Change == name {
			return nil // an earlier attempt that was not acknowledged
		}
		more, err := next(&r)
		if err != nil {
			return err
		}
		r.Change = name
		data, err := json.Marshal(r)
		if err != nil {
			return conn.Final(err)
		}
		_, err = s.table.Write(ctx, append([]conn.Change{{Subject: s.subject(id), Data: data, CompareAndSet: true, Revision: rev}}, more...)...)
		return err
	})
	return r, err
}

// changeKnown changes the record of an owner that was not erased.
func (s *Store) changeKnown(ctx context.Context, id principal.Owner, next func(*record) ([]conn.Change, error)) (owners.Owner, error) {
	r, err := s.change(ctx, id, func(r *record) ([]conn.Change, error) {
		switch {
		case r.ID == "":
			return nil, owners.NotFound(id)
		case r.State == owners.Erased:
			return nil, owners.WasErased(r.Owner)
		}
		return next(r)
	})
	return r.Owner, err
}

// SeeOwner implements owners.Records.
func (s *Store) SeeOwner(ctx context.Context, o owners.Owner) (owners.Owner, error) {
	at := conn.StoredTime(s.now())
	known, _, err := s.load(ctx, o.ID)
	if err == nil && known.State == owners.Erased {
		return known.Owner, nil
	}
	r, err := s.change(ctx, o.ID, func(r *record) (changes []conn.Change, err error) {
		if r.ID == "" {
			r.Owner = o
			r.State, r.Since, r.First = owners.Active, at, at
			began, err := s.note(noteOfBeginning, o.ID, nil)
			if err != nil {
				return nil, err
			}
			changes = append(changes, began)
		}
		if r.State != owners.Erased {
			r.Email, r.Name, r.Last = o.Email, o.Name, at
		}
		if plan := cmp.Or(o.Plan, r.Plan); plan != r.Plan && r.State != owners.Erased {
			r.Plan = plan
			noted, err := s.note(noteOfPlan, o.ID, owners.Note{Plan: &plan})
			return append(changes, s.standingOf(o.ID, r), noted), err
		}
		return changes, nil
	})
	return r.Owner, err
}

// Owner implements owners.Records.
func (s *Store) Owner(ctx context.Context, id principal.Owner) (owners.Owner, error) {
	var r record
	err := s.table.RetryRead(ctx, func(ctx context.Context) (err error) {
		r, _, err = s.load(ctx, id)
		return err
	})
	if err == nil && r.ID == "" {
		err = owners.NotFound(id)
	}
	return r.Owner, conn.Unavailable("read an owner", err)
}

// Owners implements owners.Records.
func (s *Store) Owners(ctx context.Context, after principal.Owner) iter.Seq2[owners.Owner, error] {
	return func(yield func(owners.Owner, error) bool) {
		all, err := table.ReadAll(ctx, s.table, "read the owners", s.table.Subject(ownerKind, ">"), 0, func(m conn.Message) (owners.Owner, bool, error) {
			var r record
			err := json.Unmarshal(m.Data, &r)
			return r.Owner, r.ID > after, err
		})
		if err != nil {
			yield(owners.Owner{}, err)
			return
		}
		slices.SortFunc(all, func(a, b owners.Owner) int { return cmp.Compare(a.ID, b.ID) })
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Identities implements owners.Records.
func (s *Store) Identities(ctx context.Context, id principal.Owner) ([]owners.Identity, error) {
	r, _, err := s.load(ctx, id)
	return r.Identities, conn.Unavailable("read an owner", err)
}

// ImportOwner implements owners.Records.
func (s *Store) ImportOwner(ctx context.Context, o owners.Owner, linked []owners.Identity) (added bool, err error) {
	if known, _, err := s.load(ctx, o.ID); err != nil || known.ID != "" {
		return false, conn.Unavailable("read an owner", err)
	}
	_, err = s.change(ctx, o.ID, func(r *record) ([]conn.Change, error) {
		*r = record{Owner: o, Identities: linked}
		changes := []conn.Change{s.standingOf(o.ID, r)}
		for _, i := range linked {
			changes = append(changes, conn.Change{Subject: s.identitySubject(i), Data: []byte(o.ID)})
		}
		return changes, nil
	})
	return err == nil, err
}

// OwnerOf implements owners.Records.
func (s *Store) OwnerOf(ctx context.Context, issuer, subject string) (id principal.Owner, err error) {
	err = s.table.RetryRead(ctx, func(ctx context.Context) error {
		m, _, err := s.table.Latest(ctx, s.identitySubject(owners.Identity{Issuer: issuer, Subject: subject}))
		id = principal.Owner(m.Data)
		return err
	})
	return id, conn.Unavailable("read an identity", err)
}

// SetOwnerState implements owners.Records. All replicas learn of it. When a suspension returns, no replica
// changes anything more for the owner.
func (s *Store) SetOwnerState(ctx context.Context, id principal.Owner, state owners.State) (owners.Owner, error) {
	o, err := s.changeKnown(ctx, id, func(r *record) ([]conn.Change, error) {
		r.State, r.Since, r.Erasing = state, conn.StoredTime(s.now()), false
		kind := noteOfSuspension
		if state == owners.Active {
			kind = noteOfResumption
		}
		noted, err := s.note(kind, id, owners.Note{By: owners.Actor(ctx)})
		return []conn.Change{s.standingOf(id, r), noted}, err
	})
	if err == nil && state != owners.Active {
		s.table.OutliveConfirmations(ctx)
	}
	return o, err
}

// standingOf returns the change by which all replicas learn of a standing.
func (s *Store) standingOf(id principal.Owner, r *record) conn.Change {
	ch := conn.Change{Subject: s.table.OwnerSubject(id, standingKind)}
	now := owners.Standing{State: r.State, Plan: r.Plan}
	if now.Usual() {
		ch.TTL = table.TombstoneTTL
		return ch
	}
	ch.Data, _ = json.Marshal(now) // two texts
	return ch
}

// SetOwnerPlan implements owners.Records.
func (s *Store) SetOwnerPlan(ctx context.Context, id principal.Owner, plan string) (owners.Owner, error) {
	return s.changeKnown(ctx, id, func(r *record) ([]conn.Change, error) {
		r.Plan = plan
		noted, err := s.note(noteOfPlan, id, owners.Note{Plan: &plan, By: owners.Actor(ctx)})
		return []conn.Change{s.standingOf(id, r), noted}, err
	})
}

// LinkOwner implements owners.Records.
func (s *Store) LinkOwner(ctx context.Context, id principal.Owner, issuer, subject string) (owners.Owner, error) {
	who := owners.Identity{Issuer: issuer, Subject: subject}
	return s.changeKnown(ctx, id, func(r *record) ([]conn.Change, error) {
		m, _, err := s.table.Latest(ctx, s.identitySubject(who))
		if err != nil {
			return nil, err
		}
		if len(m.Data) > 0 {
			return nil, &fault.Error{Kind: fault.Conflict, Code: "identity_linked", Field: "subject", Value: subject, Message: "That identity is linked to an owner already."}
		}
		r.Identities = append(slices.Clone(r.Identities), who)
		noted, err := s.note(noteOfLink, id, owners.Note{By: owners.Actor(ctx)})
		return []conn.Change{{Subject: s.identitySubject(who), Data: []byte(id), CompareAndSet: true, Revision: m.Seq}, noted}, err
	})
}

// EraseOwner implements owners.Records. Every replica forgets the owner when it learns of the state.
// An erasure that failed can be repeated: the record says erased when all else is gone.
func (s *Store) EraseOwner(ctx context.Context, id principal.Owner) (owners.Erasure, error) {
	o, err := s.Owner(ctx, id)
	switch {
	case err != nil:
		return owners.Erasure{}, err
	case o.State == owners.Erased:
		return owners.Erasure{}, owners.WasErased(o)
	case o.State != owners.Suspended:
		return owners.Erasure{}, owners.StillActive(id)
	}
	had, err := s.chainOf(ctx, id)
	if err != nil {
		return owners.Erasure{}, err
	}
	if err := s.beginErasure(ctx, id); err != nil {
		return owners.Erasure{}, err
	}
	proof := owners.Erasure{Owner: id, At: conn.StoredTime(s.now()), Rows: make(map[string]int64), By: owners.Actor(ctx)}
	for _, p := range s.parts {
		rows, err := p.EraseOwner(ctx, id)
		if err != nil {
			return proof, err
		}
		for name, n := range rows {
			if n > 0 {
				proof.Rows[name] += n
			}
		}
	}
	if s.Audit != nil {
		was, err := s.Audit.EraseOwner(ctx, id)
		if err != nil {
			return proof, err
		}
		if was.Events < had.Events { // a replica that moved an event of this owner has removed them
			was = had
		}
		if proof.Events = int64(was.Events); was.Events > 0 { //nolint:gosec // G115: there are fewer
			proof.LastHash = was.Hash.String()
		}
	}
	_, err = s.changeKnown(ctx, id, func(r *record) ([]conn.Change, error) {
		var changes []conn.Change
		for _, i := range r.Identities {
			changes = append(changes, conn.Change{Subject: s.identitySubject(i), TTL: table.TombstoneTTL})
		}
		if len(r.Identities) > 0 {
			proof.Rows["identities"] = int64(len(r.Identities))
		}
		*r = record{Owner: owners.Owner{ID: id, State: owners.Erased, Since: proof.At, First: r.First, Last: r.Last}, Erasure: &proof}
		noted, err := s.note(noteOfErasure, id, proof)
		return append(changes, s.standingOf(id, r), noted), err
	})
	return proof, err
}

// chainOf returns the chain of an owner's audit events.
func (s *Store) chainOf(ctx context.Context, id principal.Owner) (chain.Chain, error) {
	if s.Audit == nil {
		return chain.Chain{}, nil
	}
	return s.Audit.ChainOf(ctx, id)
}

// ExportOwner implements owners.Records.
func (s *Store) ExportOwner(ctx context.Context, id principal.Owner) iter.Seq2[owners.ExportedRow, error] {
	return func(yield func(owners.ExportedRow, error) bool) {
		r, _, err := s.load(ctx, id)
		data, failed := json.Marshal(r)
		if err = errors.Join(err, failed); err != nil || !yield(owners.ExportedRow{Table: "owners", JSON: data}, nil) {
			if err != nil {
				yield(owners.ExportedRow{}, conn.Unavailable("read an owner", err))
			}
			return
		}
		exports := make([]func(context.Context, principal.Owner) iter.Seq2[owners.ExportedRow, error], 0, len(s.parts)+1)
		for _, p := range s.parts {
			exports = append(exports, p.ExportOwner)
		}
		if s.Audit != nil {
			exports = append(exports, s.Audit.ExportOwner)
		}
		for _, rows := range exports {
			for row, err := range rows(ctx, id) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// Adopt implements owners.Records. A state directory is adopted before it is copied to the servers.
func (s *Store) Adopt(context.Context, principal.Owner, owners.Owner) (map[string]int64, error) {
	return nil, fault.New(fault.Unsupported, "adopt_first", "adopt the state directory first, then run candela migrate")
}

// Package desktest provides a store in memory that outlives the desk, and a market whose
// prices a test sets.
package desktest

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Store keeps accounts in memory as the ledger does on disk. It is safe for concurrent
// use.
type Store struct {
	mu      sync.Mutex
	owners  map[principal.Owner]*account
	failure error
	amnesia bool // SaveSnapshot fails
	replays int  // how often all events were read
	commits int
	audit   []Entry
	notices []order.Notice
}

// Entry is one entry of the audit log.
type Entry struct {
	By    principal.Caller
	Event order.Event // zero for a state
	Batch int         // that it was stored with, by Commits
	State string      // its name
}

type account struct {
	events   []order.Event
	snapshot []byte
	snapped  int // events in the snapshot
	book     *order.Book
	states   map[string][]byte
}

// NewStore returns an empty store.
func NewStore() *Store { return &Store{owners: make(map[principal.Owner]*account)} }

func (s *Store) of(owner principal.Owner) *account {
	if s.owners[owner] == nil {
		s.owners[owner] = &account{book: order.NewBook(owner), states: make(map[string][]byte)}
	}
	return s.owners[owner]
}

// Fail makes every write fail with err, until it is nil.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
}

// Audit returns the entries so far.
func (s *Store) Audit() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.audit)
}

// Notices returns the notices that were stored, of all owners.
func (s *Store) Notices() []order.Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notices)
}

// Commits returns how many batches of events were stored.
func (s *Store) Commits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits
}

// AppendEvents stores events, all or none.
func (s *Store) AppendEvents(ctx context.Context, by principal.Caller, events []order.Event, notices ...order.Notice) ([]order.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.failure, ctx.Err()); err != nil {
		return nil, err
	}
	a := s.of(by.Subject)
	var kept []order.Event
	for _, e := range events {
		before, _ := a.book.Order(e.OrderID)
		if err := s.apply(a, by.Subject, e); err != nil {
			book := a.book
			a.book = replay(by.Subject, a.events)
			return nil, refusal(err, e, book)
		}
		if after, _ := a.book.Order(e.OrderID); e.Kind == order.KindFill && len(after.Fills) == len(before.Fills) {
			continue
		}
		kept = append(kept, e)
	}
	a.events = append(a.events, kept...)
	s.notices = append(s.notices, notices...)
	s.commits++
	for _, e := range kept {
		s.audit = append(s.audit, Entry{By: by, Event: e, Batch: s.commits})
	}
	return kept, nil
}

// apply applies an event to a book, unless another owner has the order's ID.
func (s *Store) apply(a *account, owner principal.Owner, e order.Event) error {
	if e.Kind == order.KindCreated && e.Origin != nil && e.Origin.Owner != owner {
		return fault.Field("owner", string(e.Origin.Owner), string(owner))
	}
	for _, other := range s.owners {
		if _, taken := other.book.Order(e.OrderID); taken && other != a && e.Kind == order.KindCreated {
			return order.ErrDuplicate
		}
	}
	return a.book.Apply(e)
}

func refusal(err error, e order.Event, b *order.Book) error {
	f := &fault.Error{Kind: fault.Conflict, Code: "order_event_refused", Message: "the event is refused", Cause: err}
	switch {
	case fault.Of(err) != nil:
		return err
	case errors.Is(err, order.ErrUnknownOrder):
		f.Kind, f.Code = fault.NotFound, "order_not_found"
	case errors.Is(err, order.ErrDuplicate):
		f.Code, f.Value = "order_exists", e.OrderID
		if o, ok := b.ByKey(e.Origin.Key); ok && e.Origin.Key != "" && o.ID != e.OrderID {
			if _, taken := b.Order(e.OrderID); !taken {
				f.Code, f.Value = "idempotency_key_used", o.ID
			}
		}
	}
	return f
}

// OrderEvents yields the events stored before the call.
func (s *Store) OrderEvents(_ context.Context, owner principal.Owner) iter.Seq2[order.Event, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replays++
	return each(slices.Clone(s.of(owner).events))
}

// SaveSnapshot saves the caller's book.
func (s *Store) SaveSnapshot(ctx context.Context, by principal.Caller, b *order.Book) error {
	data, err := b.Snapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(err, s.failure, ctx.Err()); err != nil {
		return err
	}
	if s.amnesia {
		return errors.New("no snapshot is kept")
	}
	a := s.of(by.Subject)
	a.snapshot, a.snapped = data, len(a.events)
	return nil
}

// Snapshot returns the last snapshot and the events after it.
func (s *Store) Snapshot(_ context.Context, owner principal.Owner) ([]byte, iter.Seq2[order.Event, error], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(owner)
	if a.snapshot == nil {
		return nil, each(slices.Clone(a.events)), nil
	}
	return a.snapshot, each(slices.Clone(a.events[a.snapped:])), nil
}

// Replays returns how often all events of an owner were read.
func (s *Store) Replays() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replays
}

// Rewrite replaces the events of an owner and forgets the snapshot. change returns false for an event
// that was never stored.
func (s *Store) Rewrite(owner principal.Owner, change func(*order.Event) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(owner)
	var kept []order.Event
	for _, e := range a.events {
		if change(&e) {
			kept = append(kept, e)
		}
	}
	a.events, a.snapshot, a.snapped, a.book = kept, nil, 0, replay(owner, kept)
}

// Copy returns a store with what this one has now, as a backup does.
func (s *Store) Copy() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := NewStore()
	for owner, a := range s.owners {
		c.owners[owner] = &account{events: slices.Clone(a.events), snapshot: a.snapshot, snapped: a.snapped, book: replay(owner, a.events), states: maps.Clone(a.states)}
	}
	return c
}

// FailSnapshots makes SaveSnapshot fail.
func (s *Store) FailSnapshots(fail bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.amnesia = fail
}

// SetSnapshot replaces the snapshot of an owner.
func (s *Store) SetSnapshot(owner principal.Owner, snapshot []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(owner).snapshot = snapshot
}

func each(events []order.Event) iter.Seq2[order.Event, error] {
	return func(yield func(order.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// OrderOwners lists the owners with events.
func (s *Store) OrderOwners(context.Context) ([]principal.Owner, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []principal.Owner
	for owner, a := range s.owners {
		if len(a.events) > 0 {
			all = append(all, owner)
		}
	}
	slices.Sort(all)
	return all, nil
}

// OwnersWith returns the owners whose value of a name contains a text.
func (s *Store) OwnersWith(_ context.Context, name, text string) ([]principal.Owner, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []principal.Owner
	for owner, a := range s.owners {
		if strings.Contains(string(a.states[name]), text) {
			all = append(all, owner)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Order returns an order of an owner.
func (s *Store) Order(_ context.Context, owner principal.Owner, id string) (order.Order, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.of(owner).book.Order(id)
	return found(o, ok)
}

// OrderByKey returns the order of an idempotency key.
func (s *Store) OrderByKey(_ context.Context, owner principal.Owner, key string) (order.Order, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.of(owner).book.ByKey(key)
	return found(o, ok && key != "")
}

// ListOrders returns orders after a mark, newest first, and how many come after them.
func (s *Store) ListOrders(_ context.Context, owner principal.Owner, after order.Mark, most int) ([]order.Order, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	orders, left := s.of(owner).book.List(after, most)
	return orders, left, nil
}

func found(o order.Order, ok bool) (order.Order, error) {
	if !ok {
		return order.Order{}, &fault.Error{Kind: fault.NotFound, Code: "order_not_found", Message: "no such order"}
	}
	return o, nil
}

// Book returns the book that an owner's events make.
func (s *Store) Book(owner principal.Owner) *order.Book {
	s.mu.Lock()
	defer s.mu.Unlock()
	return replay(owner, s.of(owner).events)
}

// replay returns the book of events that were valid when they were stored.
func replay(owner principal.Owner, events []order.Event) *order.Book {
	b := order.NewBook(owner)
	for _, e := range events {
		if err := b.Apply(e); err != nil {
			panic(err)
		}
	}
	return b
}

// SaveState sets a value.
func (s *Store) SaveState(ctx context.Context, by principal.Caller, name string, value []byte, notices ...order.Notice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.failure, ctx.Err()); err != nil {
		return err
	}
	s.of(by.Subject).states[name] = slices.Clone(value)
	s.audit = append(s.audit, Entry{By: by, State: name})
	s.notices = append(s.notices, notices...)
	return nil
}

// State returns a value, nil if it was never set.
func (s *Store) State(_ context.Context, owner principal.Owner, name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.of(owner).states[name]), nil
}

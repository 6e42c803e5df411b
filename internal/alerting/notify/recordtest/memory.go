// Package recordtest holds the contract suites of records.Store and notify.Inbox, and an
// in-memory store with delays and failures.
package recordtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"candela/internal/alerting/notify/records"
)

// Memory holds the records that the stores of one test share. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	rev     uint64
	last    map[name]records.Record
	written []records.Record // all of them
	grown   chan struct{}    // closed when there is more
	writes  int
}

type name struct {
	kind records.Kind
	name string
}

// NewMemory returns an empty memory.
func NewMemory() *Memory { return &Memory{last: map[name]records.Record{}, grown: make(chan struct{})} }

// Writes returns how often something was written.
func (m *Memory) Writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// Store returns the store of one replica. Records of other replicas arrive up to lag
// later; replaced ones are often skipped.
func (m *Memory) Store(seed uint64, lag time.Duration) *Store {
	ctx, stop := context.WithCancel(context.Background())
	return &Store{memory: m, rng: rand.New(rand.NewPCG(seed, 17)), lag: lag, ctx: ctx, stop: stop} //nolint:gosec // G404: a test
}

// Store is a records.Store over a Memory.
type Store struct {
	memory *Memory
	rng    *rand.Rand // of the follower alone
	lag    time.Duration
	ctx    context.Context //nolint:containedctx // of the goroutine that Close ends
	stop   context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex
	fail func() error // asked before each write, and again after it
	// failed is set after a failed write: the next lookup fails too.
	failed bool
}

// Fail sets a function that may fail a write. It is called before the write and after it.
func (k *Store) Fail(fail func() error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fail = fail
}

func (k *Store) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail == nil {
		return nil
	}
	err := k.fail()
	k.failed = k.failed || err != nil
	return err
}

// lookup fails once for a polling queue after a failed write, so that the caller continues
// with what it knew.
func (k *Store) lookup(kind records.Kind) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed = k.failed && k.fail != nil; !k.failed || kind != records.QueueKind {
		return nil
	}
	k.failed = false
	return errors.New("simulated lookup failure")
}

// Close closes the store. Later calls fail.
func (k *Store) Close() {
	k.stop()
	k.wg.Wait()
}

var errClosed = errors.New("record store closed")

// Watch implements records.Store.
func (k *Store) Watch(_ context.Context, apply func(records.Record)) error {
	m := k.memory
	m.mu.Lock()
	at := len(m.written)
	for i, r := range m.written {
		if m.last[name{r.Kind, r.Name}].Rev == r.Rev {
			apply(m.written[i])
		}
	}
	m.mu.Unlock()
	k.wg.Go(func() {
		for k.ctx.Err() == nil {
			m.mu.Lock()
			more := m.written[at:]
			grown := m.grown
			m.mu.Unlock()
			for _, r := range more {
				k.deliver(r, apply)
			}
			if at += len(more); len(more) > 0 {
				continue
			}
			select {
			case <-k.ctx.Done():
			case <-grown:
			}
		}
	})
	return nil
}

// deliver applies a record after a delay.
func (k *Store) deliver(r records.Record, apply func(records.Record)) {
	if k.lag > 0 && k.rng.IntN(3) == 0 {
		timer := time.NewTimer(time.Duration(k.rng.Int64N(int64(k.lag))))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-k.ctx.Done():
			return
		}
	}
	k.memory.mu.Lock()
	replaced := k.memory.last[name{r.Kind, r.Name}].Rev != r.Rev
	k.memory.mu.Unlock()
	if replaced && k.rng.IntN(2) == 0 || k.ctx.Err() != nil {
		return
	}
	apply(r)
}

// Write implements records.Store.
func (k *Store) Write(ctx context.Context, batch []records.Record) (uint64, error) {
	if err := errors.Join(ctx.Err(), k.failure()); err != nil {
		return 0, err
	}
	if k.ctx.Err() != nil {
		return 0, errClosed
	}
	first, err := k.memory.write(batch)
	return first, errors.Join(err, k.failure())
}

func (m *Memory) write(batch []records.Record) (first uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range batch {
		if r.CompareAndSet && m.last[name{r.Kind, r.Name}].Rev != r.Rev {
			return 0, records.ErrConflict
		}
	}
	m.writes++
	first = m.rev + 1
	for _, r := range batch {
		m.rev++
		kept := records.Record{Kind: r.Kind, Name: r.Name, Rev: m.rev, Data: slices.Clone(r.Data)}
		m.last[name{r.Kind, r.Name}] = kept
		m.written = append(m.written, kept)
	}
	close(m.grown)
	m.grown = make(chan struct{})
	return first, nil
}

// Latest implements records.Store.
func (k *Store) Latest(ctx context.Context, kind records.Kind, of string) (records.Record, error) {
	if err := errors.Join(ctx.Err(), k.lookup(kind)); err != nil {
		return records.Record{}, err
	}
	if k.ctx.Err() != nil {
		return records.Record{}, errClosed
	}
	k.memory.mu.Lock()
	defer k.memory.mu.Unlock()
	r := k.memory.last[name{kind, of}]
	r.Kind, r.Name = kind, of
	return r, nil
}

// Members is the set of live replicas of a test. It is safe for concurrent use.
type Members struct {
	mu   sync.Mutex
	live map[string]bool
}

// NewMembers returns an empty set.
func NewMembers() *Members { return &Members{live: map[string]bool{}} }

// Join adds a replica.
func (m *Members) Join(id string) *Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live[id] = true
	return &Member{m, id}
}

// A Member is one replica.
type Member struct {
	all *Members
	id  string
}

// Self implements replicated.Replicas.
func (m *Member) Self() string { return m.id }

// Live implements replicated.Replicas.
func (m *Member) Live(id string) bool {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	return m.all.live[id]
}

// Die removes the replica.
func (m *Member) Die() {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	delete(m.all.live, m.id)
}

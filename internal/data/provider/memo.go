package provider

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Cache caches facts of a symbol that rarely change, and asks for
// one symbol once at a time however many want it. Failures are not kept. Keep
// and Most must be set; it is safe for concurrent use and not copied.
type Cache[T any] struct {
	Keep time.Duration
	Most int // when full, everything kept is forgotten: the bound matters, not the order

	mu   sync.Mutex
	kept map[string]*memory[T]
}

// memory is one answer. Value and err are set when done is closed.
type memory[T any] struct {
	done  chan struct{}
	value T
	err   error
	until time.Time
}

var errUnfinished = errors.New("the caller that asked did not come back")

// Get returns what is kept under key, or what load returns. While one caller
// loads, others wait for it, each as long as its own ctx lasts; when the
// loading caller's ctx ends, one of them loads instead.
func (m *Cache[T]) Get(ctx context.Context, now time.Time, key string, load func(context.Context) (T, error)) (T, error) {
	for {
		entry, mine := m.enter(now, key)
		if mine {
			m.fill(ctx, now, key, entry, load)
			return entry.value, entry.err
		}
		select {
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		case <-entry.done:
		}
		if errors.Is(entry.err, context.Canceled) || errors.Is(entry.err, context.DeadlineExceeded) {
			continue // not ours: the caller that loaded went away
		}
		return entry.value, entry.err
	}
}

// Kept returns what is kept under key, without loading or waiting.
func (m *Cache[T]) Kept(now time.Time, key string) (value T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry := m.kept[key]
	if entry == nil || entry.until.IsZero() || !now.Before(entry.until) || entry.err != nil {
		return value, false
	}
	return entry.value, true
}

// enter returns the entry of a key, and whether the caller has to fill it.
func (m *Cache[T]) enter(now time.Time, key string) (*memory[T], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if entry, ok := m.kept[key]; ok && (entry.until.IsZero() || now.Before(entry.until)) {
		return entry, false
	}
	if m.kept == nil || len(m.kept) >= m.Most {
		m.kept = make(map[string]*memory[T])
	}
	entry := &memory[T]{done: make(chan struct{})}
	m.kept[key] = entry
	return entry, true
}

func (m *Cache[T]) fill(ctx context.Context, now time.Time, key string, entry *memory[T], load func(context.Context) (T, error)) {
	// Deferred, so that a load that panics leaves nobody waiting.
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		entry.until = now.Add(m.Keep)
		if entry.err != nil && m.kept[key] == entry {
			delete(m.kept, key)
		}
		close(entry.done)
	}()
	entry.err = errUnfinished
	entry.value, entry.err = load(ctx)
}

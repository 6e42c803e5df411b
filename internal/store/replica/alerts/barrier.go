package alerts

import (
	"context"
	"errors"
	"sync"

	"candela/internal/store/replica/conn"
)

// errClosed is what those get who wait for a tail that has ended.
var errClosed = errors.New("the tail is closed")

// syncs is who waits for the tail to come by a mark. One mark serves all who asked
// before it was written.
type syncs struct {
	mu    sync.Mutex
	round *syncRound // the next one; nil when nobody waits for it
	turn  sync.Mutex // one mark at a time
}

type syncRound struct {
	done chan struct{} // closed when err is known
	err  error
}

// Sync returns when the tail has come by everything that was acknowledged, on any
// replica, before the call.
func (t *Tail) Sync(ctx context.Context) error {
	t.syncs.mu.Lock()
	r := t.syncs.round
	if r == nil {
		r = &syncRound{done: make(chan struct{})}
		t.syncs.round = r
		go t.runSync(context.WithoutCancel(ctx), r)
	}
	t.syncs.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runSync writes a mark and waits for it.
func (t *Tail) runSync(ctx context.Context, r *syncRound) {
	defer close(r.done)
	t.syncs.turn.Lock()
	defer t.syncs.turn.Unlock()
	t.syncs.mu.Lock()
	t.syncs.round = nil // who comes now needs a later mark
	t.syncs.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, t.store.alerts.RetryFor)
	defer cancel()
	seq, err := t.store.alerts.WriteBarrier(ctx)
	if err == nil {
		err = t.await(ctx, seq)
	}
	r.err = conn.Unavailable("wait for what other replicas have written", err)
}

// await returns when the tail has come by a number.
func (t *Tail) await(ctx context.Context, seq uint64) error {
	for {
		t.mu.Lock()
		if t.last >= seq {
			t.mu.Unlock()
			return nil
		}
		if t.moved == nil {
			t.moved = make(chan struct{})
		}
		moved := t.moved
		t.mu.Unlock()
		select {
		case <-moved:
		case <-t.done:
			return errClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

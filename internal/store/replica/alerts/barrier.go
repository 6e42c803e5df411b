package alerts

import (
	"context"
	"errors"
	"sync"

	"candela/internal/store/replica/conn"
)

// errClosed is what those get who wait for a tail that has ended.
var errClosed = errors.New("the tail is closed")

// barrierWaits is who waits for the tail to come by a mark. One mark serves all who asked
// before it was written.
type barrierWaits struct {
	mu   sync.Mutex
	next *barrierWait // the next one; nil when nobody waits for it
	turn sync.Mutex   // one mark at a time
}

type barrierWait struct {
	done chan struct{} // closed when err is known
	err  error
}

// CatchUp returns when the tail has come by everything that was acknowledged, on any
// replica, before the call.
func (t *ChangeFeed) CatchUp(ctx context.Context) error {
	t.barrierWaits.mu.Lock()
	r := t.barrierWaits.next
	if r == nil {
		r = &barrierWait{done: make(chan struct{})}
		t.barrierWaits.next = r
		go t.runBarrier(context.WithoutCancel(ctx), r)
	}
	t.barrierWaits.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runBarrier writes a mark and waits for it.
func (t *ChangeFeed) runBarrier(ctx context.Context, r *barrierWait) {
	defer close(r.done)
	t.barrierWaits.turn.Lock()
	defer t.barrierWaits.turn.Unlock()
	t.barrierWaits.mu.Lock()
	t.barrierWaits.next = nil // who comes now needs a later mark
	t.barrierWaits.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, t.store.alerts.RetryFor)
	defer cancel()
	seq, err := t.store.alerts.WriteBarrier(ctx)
	if err == nil {
		err = t.waitFor(ctx, seq)
	}
	r.err = conn.Unavailable("wait for what other replicas have written", err)
}

// waitFor returns when the tail has come by a number.
func (t *ChangeFeed) waitFor(ctx context.Context, seq uint64) error {
	for {
		t.mu.Lock()
		if t.last >= seq {
			t.mu.Unlock()
			return nil
		}
		if t.advanced == nil {
			t.advanced = make(chan struct{})
		}
		moved := t.advanced
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

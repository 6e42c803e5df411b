package alerts

import (
	"context"
	"errors"
	"sync"

	"candela/internal/store/replica/conn"
)

var errClosed = errors.New("change feed closed")

// barrierWaits holds the callers that wait for the feed to reach a barrier. One barrier
// serves all that asked before it was written.
type barrierWaits struct {
	mu   sync.Mutex
	next *barrierWait // the next one; nil without waiters
	turn sync.Mutex   // one barrier at a time
}

type barrierWait struct {
	done chan struct{} // closed when err is known
	err  error
}

// CatchUp returns when the feed has applied everything that any replica had acknowledged
// before the call.
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
		return conn.Unavailable("wait for barrier", ctx.Err())
	}
}

// runBarrier writes a barrier and waits for it.
func (t *ChangeFeed) runBarrier(ctx context.Context, r *barrierWait) {
	defer close(r.done)
	t.barrierWaits.turn.Lock()
	defer t.barrierWaits.turn.Unlock()
	t.barrierWaits.mu.Lock()
	t.barrierWaits.next = nil // later callers need a later barrier
	t.barrierWaits.mu.Unlock()
	err := t.store.alerts.Await(ctx, func(ctx context.Context) error {
		seq, err := t.store.alerts.WriteBarrier(ctx)
		if err == nil {
			err = t.waitFor(ctx, func() bool { return t.last >= seq })
		}
		return err
	})
	r.err = conn.Unavailable("wait for barrier", err)
}

// awaitDelivered returns when the engine has all changes that the feed has read.
func (t *ChangeFeed) awaitDelivered(ctx context.Context) error {
	seq := t.Stats().Last
	ctx, cancel := context.WithTimeout(ctx, t.store.alerts.RetryFor)
	defer cancel()
	return conn.Unavailable("wait for the engine", t.waitFor(ctx, func() bool { return t.known() >= seq }))
}

// waitFor returns when reached, called with the lock held, returns true.
func (t *ChangeFeed) waitFor(ctx context.Context, reached func() bool) error {
	for {
		t.mu.Lock()
		if reached() {
			t.mu.Unlock()
			return nil
		}
		if t.advanced == nil {
			t.advanced = make(chan struct{})
		}
		advanced := t.advanced
		t.mu.Unlock()
		select {
		case <-advanced:
		case <-t.done:
			return errClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

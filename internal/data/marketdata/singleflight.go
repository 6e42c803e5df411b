package marketdata

import (
	"context"
	"sync"
)

// singleflight runs one call per key at a time; concurrent callers with the same key share
// its result. The call is cancelled when its last waiter leaves. It is safe for concurrent
// use.
type singleflight[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]*call[V]
	// spawn runs a call in a goroutine with a context of the owner. It returns false after
	// the owner has stopped.
	spawn func(run func(context.Context)) bool
}

type call[V any] struct {
	cancel    context.CancelFunc
	waiters   int
	abandoned bool // the last waiter has left
	done      chan struct{}
	value     V
	err       error
}

// do returns the result of run, from a running call (joined) or a new one.
func (g *singleflight[K, V]) do(ctx context.Context, key K, run func(context.Context) (V, error)) (value V, joined bool, err error) {
	for {
		c, joined, ok := g.join(key, run)
		if !ok {
			return value, false, errStopping
		}
		if c.abandoned { // cancelled: it must end before the next call begins
			select {
			case <-c.done:
				continue
			case <-ctx.Done():
				return value, joined, ctx.Err()
			}
		}
		select {
		case <-c.done:
			return c.value, joined, c.err
		case <-ctx.Done():
			g.leave(c)
			return value, joined, ctx.Err()
		}
	}
}

// join returns the call for key and adds a waiter.
func (g *singleflight[K, V]) join(key K, run func(context.Context) (V, error)) (c *call[V], joined, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.calls[key]; c != nil {
		if c.abandoned {
			return &call[V]{abandoned: true, done: c.done}, true, true
		}
		c.waiters++
		return c, true, true
	}
	c = &call[V]{waiters: 1, done: make(chan struct{})}
	started := g.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		g.mu.Lock()
		c.cancel = cancel
		if c.abandoned {
			cancel()
		}
		g.mu.Unlock()
		c.value, c.err = run(ctx)
		g.mu.Lock()
		delete(g.calls, key)
		g.mu.Unlock()
		close(c.done)
	})
	if !started {
		return nil, false, false
	}
	if g.calls == nil {
		g.calls = make(map[K]*call[V])
	}
	g.calls[key] = c
	return c, false, true
}

func (g *singleflight[K, V]) leave(c *call[V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.waiters--
	if c.waiters == 0 {
		c.abandoned = true
		if c.cancel != nil {
			c.cancel()
		}
	}
}

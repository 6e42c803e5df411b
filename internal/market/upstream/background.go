package upstream

import (
	"context"
	"sync/atomic"
	"time"

	"candela/internal/kit/retry"
)

// Background is the state of requests that can wait: they leave half of every limit to
// others, let them go first, and wait as long as their context lasts. The zero value is
// ready to use, by any number of goroutines.
type Background struct{ hurry atomic.Bool }

// Hurry makes the requests as urgent as any other, because somebody else now waits for them.
func (b *Background) Hurry() { b.hurry.Store(true) }

type backgroundKey struct{}

// Context returns a context for requests that can wait.
func (b *Background) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, b)
}

// canWait reports whether a request is in the background now.
func canWait(ctx context.Context) bool {
	b, ok := ctx.Value(backgroundKey{}).(*Background)
	return ok && !b.hurry.Load()
}

// half returns what requests in the background may use of a limit.
func (l Limit) half() Limit {
	if l.Weight > 1 {
		l.Weight /= 2
	}
	l.behind = l.Spacing
	return l
}

// lookAgain bounds the sleep of a request in the background, which may become urgent.
const lookAgain = 200 * time.Millisecond

// acquireInBackground waits for a permit until the request becomes urgent, which it reports
// by returning neither a permit nor an error.
func (g *limiter) acquireInBackground(ctx context.Context, weight int, limit Limit) (*permit, error) {
	for canWait(ctx) {
		p, b := g.tryAcquire(weight, limit.half(), time.Now())
		if p != nil {
			return p, nil
		}
		if err := retry.Sleep(ctx, min(b.wait, lookAgain)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

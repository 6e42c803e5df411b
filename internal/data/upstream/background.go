package upstream

import (
	"context"
	"sync"
	"time"

	"candela/internal/kit/retry"
)

// Background is the state of requests that can wait: they leave half of every limit to
// others, let them go first, and wait as long as their context lasts. The zero value is
// ready to use, by any number of goroutines.
type Background struct {
	mu     sync.Mutex
	urgent chan struct{} // closed by Hurry; nil until somebody needs it
}

// Hurry makes the requests as urgent as any other, because somebody else now waits for them.
func (b *Background) Hurry() {
	urgent := b.hurried()
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-urgent:
	default:
		close(urgent)
	}
}

// hurried returns a channel that is closed when the requests are urgent.
func (b *Background) hurried() chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.urgent == nil {
		b.urgent = make(chan struct{})
	}
	return b.urgent
}

type backgroundKey struct{}

// Context returns a context for requests that can wait.
func (b *Background) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, b)
}

// canWait reports whether a request is in the background now.
func canWait(ctx context.Context) bool { return waiting(ctx) != nil }

// waiting returns the state of a request that is in the background now, nil for others.
func waiting(ctx context.Context) *Background {
	b, ok := ctx.Value(backgroundKey{}).(*Background)
	if !ok {
		return nil
	}
	select {
	case <-b.hurried():
		return nil
	default:
		return b
	}
}

// half returns what requests in the background may use of a limit.
func (l Limit) half() Limit {
	if l.Weight > 1 {
		l.Weight /= 2
	}
	l.behind = l.Spacing
	return l
}

// backgroundSpacing is the least time between a request and one in the background, where the
// program has something more urgent: answers that come at the same moment, or one after the other
// without a break, leave no processor to it.
const backgroundSpacing = 7 * time.Millisecond

// parseApart parses the body of a response in the background: one at a time, and where the
// program has something more urgent on a thread of low priority. If the request becomes urgent
// meanwhile, it does not wait for that.
func parseApart[T any](h *host, b *Background, body []byte, parse func(body []byte) (T, error)) (T, error) {
	type parsed struct {
		value T
		err   error
	}
	done := make(chan parsed, 1)
	h.parsers.Go(func() {
		h.parsing.Lock()
		defer h.parsing.Unlock()
		select {
		case <-b.hurried(): // it is parsed already
		default:
			var p parsed
			p.err = h.apart(func() (err error) {
				p.value, err = parse(body)
				return err
			})
			done <- p
		}
	})
	select {
	case p := <-done:
		return p.value, p.err
	case <-b.hurried():
		return parse(body)
	}
}

// lookAgain bounds the sleep of a request in the background, which may become urgent.
const lookAgain = 200 * time.Millisecond

// acquireInBackground waits for a permit until the request becomes urgent, which it reports
// by returning neither a permit nor an error.
func (g *limiter) acquireInBackground(ctx context.Context, weight int, limit Limit) (*permit, error) {
	for canWait(ctx) {
		half := limit.half()
		half.behind = max(half.behind, g.spacing)
		p, b := g.tryAcquire(weight, half, time.Now())
		if p != nil {
			return p, nil
		}
		if err := retry.Sleep(ctx, min(b.wait, lookAgain)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/fault"
)

const (
	// writeTime is the patience of a connection: it bounds a write with all its
	// attempts. A new leader takes 4 to 8 s.
	writeTime = 20 * time.Second
	// openTime bounds one attempt to have the servers make a stream or a consumer,
	// which they must agree on.
	openTime = 5 * time.Second

	firstWait, maxWait = 5 * time.Millisecond, 250 * time.Millisecond
)

// write calls try until it returns nil or a fault, which is an answer; anything
// else is tried again with the patience of the connection. A context that has ended
// before begins nothing; one that ends later does not stop what has begun.
func (c *Conn) write(ctx context.Context, doing string, try func(context.Context) error) error {
	return writeFor(ctx, c.patience, doing, try)
}

// writeFor is write with another patience.
func writeFor(ctx context.Context, patience time.Duration, doing string, try func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return failure(doing, again(ctx, final, try))
}

// open has the servers make something, and tries again, with the patience of the
// connection, while they cannot agree: between leaders, or while one of them still
// starts.
func (c *Conn) open(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	return again(ctx, func(err error) bool { return final(err) || hopeless(err) }, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, openTime)
		defer cancel()
		return try(ctx)
	})
}

// reread is open for what is only read.
func (c *Conn) reread(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	return again(ctx, final, try)
}

// again calls try until it returns nil or an error that is final, or ctx ends. It
// returns what try did last.
func again(ctx context.Context, final func(error) bool, try func(context.Context) error) error {
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		err := try(ctx)
		if err == nil || final(err) {
			return err
		}
		timer := time.NewTimer(wait/2 + rand.N(wait)) //nolint:gosec // G404: it spreads retries and guards nothing
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// final reports whether an error is an answer, or our own connection was closed for
// good.
func final(err error) bool {
	return fault.Of(err) != nil || errors.Is(err, nats.ErrConnectionClosed)
}

// noPeers is what the servers' leader says while it does not know enough of them yet.
// By its status it would be the fault of who asks.
const noPeers jetstream.ErrorCode = 10005

// hopeless reports whether the servers will never make what they were asked for.
func hopeless(err error) bool {
	var answer *jetstream.APIError
	if !errors.As(err, &answer) || answer.ErrorCode == noPeers {
		return false
	}
	return answer.Code == http.StatusBadRequest || answer.Code == http.StatusUnauthorized || answer.Code == http.StatusForbidden
}

// failure marks an error of the servers as Unavailable. The end of the caller's own
// context passes unchanged.
func failure(doing string, err error) error {
	if err == nil || fault.Of(err) != nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fault.Unreachable(fmt.Errorf("%s: %w", doing, err), 0, "the shared store does not answer; try again in a moment")
}

package conn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/fault"
	"candela/internal/kit/retry"
)

const (
	// writeTimeout is the patience of a connection: it bounds a write with all its
	// attempts. A new leader takes 4 to 8 s.
	writeTimeout = 20 * time.Second
	// CreateTimeout bounds one attempt to have the servers make a stream or a consumer,
	// which they must agree on.
	CreateTimeout = 5 * time.Second
)

// RetryWrite calls try until it returns nil or a fault, which is an answer; anything
// else is tried again with the patience of the connection. A context that has ended
// before begins nothing; one that ends later does not stop what has begun.
func (c *Conn) RetryWrite(ctx context.Context, doing string, try func(context.Context) error) error {
	return RetryWriteFor(ctx, c.RetryFor, doing, try)
}

// RetryWriteFor is write with another patience.
func RetryWriteFor(ctx context.Context, patience time.Duration, doing string, try func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return Unavailable(doing, retryUntil(ctx, isFinal, try))
}

// retryCreate has the servers make something, and tries again, with the patience of the
// connection, while they cannot agree: between leaders, or while one of them still
// starts.
func (c *Conn) retryCreate(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.RetryFor)
	defer cancel()
	return retryUntil(ctx, func(err error) bool { return isFinal(err) || isPermanent(err) }, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, CreateTimeout)
		defer cancel()
		return try(ctx)
	})
}

// RetryRead is open for what is only read.
func (c *Conn) RetryRead(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.RetryFor)
	defer cancel()
	return retryUntil(ctx, isFinal, try)
}

// backoff returns short delays: a new leader serves the next attempt at once.
func backoff() retry.Backoff {
	return retry.Backoff{First: 5 * time.Millisecond, Max: 250 * time.Millisecond}
}

// retryUntil calls try until it returns nil or an error that is final, or ctx ends. It
// returns what try did last.
func retryUntil(ctx context.Context, final func(error) bool, try func(context.Context) error) error {
	for failures := 1; ; failures++ {
		err := try(ctx)
		if err == nil || final(err) || retry.Sleep(ctx, backoff().Delay(failures, nil)) != nil {
			return err
		}
	}
}

// isFinal reports whether an error is an answer, or our own connection was closed for
// good.
func isFinal(err error) bool {
	return fault.Of(err) != nil || errors.Is(err, nats.ErrConnectionClosed)
}

// noPeers is what the servers' leader says while it does not know enough of them yet.
// By its status it would be the fault of who asks.
const noPeers jetstream.ErrorCode = 10005

// isPermanent reports whether the servers will never make what they were asked for.
func isPermanent(err error) bool {
	var answer *jetstream.APIError
	if !errors.As(err, &answer) || answer.ErrorCode == noPeers {
		return false
	}
	return answer.Code == http.StatusBadRequest || answer.Code == http.StatusUnauthorized || answer.Code == http.StatusForbidden
}

// Unavailable marks an error of the servers as Unavailable. The end of the caller's own
// context passes unchanged.
func Unavailable(doing string, err error) error {
	if err == nil || fault.Of(err) != nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fault.Unreachable(fmt.Errorf("%s: %w", doing, err), 0, "the shared store does not answer; try again in a moment")
}

// Corrupted marks what cannot be read as Unavailable: it was not written by us.
func Corrupted(doing string, err error) error {
	if err == nil || fault.Of(err) != nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &fault.Error{
		Kind: fault.Unavailable, Code: "store_damaged", Message: "the shared store holds something that is not ours",
		Cause: fmt.Errorf("%s: %w", doing, err),
	}
}

package conn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/retry"
	"candela/lib/fault"
)

const (
	// writeTimeout bounds a write with all its attempts. Electing a leader takes 4 to 8 s.
	writeTimeout = 20 * time.Second
	// CreateTimeout bounds one attempt to create a stream or a consumer.
	CreateTimeout = 5 * time.Second
)

// RetryWrite calls try until it succeeds, returns a fault, RetryFor has passed or the servers are gone. It starts
// nothing if ctx has ended; a context that ends later does not stop it.
func (c *Conn) RetryWrite(ctx context.Context, op string, try func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := c.whileThere(context.WithoutCancel(ctx), c.RetryFor)
	defer cancel()
	return Unavailable(op, whyGone(ctx, retryUntil(ctx, isFinal, try)))
}

// RetryWriteFor is RetryWrite with another time limit, also while the servers are gone.
func RetryWriteFor(ctx context.Context, limit time.Duration, op string, try func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return Unavailable(op, retryUntil(ctx, isFinal, try))
}

// retryCreate retries a request to create something while the servers cannot agree: between
// leaders, or while one of them starts.
func (c *Conn) retryCreate(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.RetryFor)
	defer cancel()
	return retryUntil(ctx, func(err error) bool { return isFinal(err) || isPermanent(err) }, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, CreateTimeout)
		defer cancel()
		return try(ctx)
	})
}

// RetryRead calls try until it succeeds, returns a fault, RetryFor has passed or the servers are gone.
func (c *Conn) RetryRead(ctx context.Context, try func(context.Context) error) error {
	return c.Await(ctx, func(ctx context.Context) error { return retryUntil(ctx, isFinal, try) })
}

// Await calls wait once, with a context that ends when RetryFor has passed or the servers are gone.
func (c *Conn) Await(ctx context.Context, wait func(context.Context) error) error {
	ctx, cancel := c.whileThere(ctx, c.RetryFor)
	defer cancel()
	return whyGone(ctx, wait(ctx))
}

// Backoff returns short delays: a new leader serves the next attempt at once.
func Backoff() retry.Backoff {
	return retry.Backoff{First: 5 * time.Millisecond, Max: 250 * time.Millisecond}
}

// retryUntil calls try until it returns nil or a final error, or ctx ends. It returns the last
// error of try.
func retryUntil(ctx context.Context, final func(error) bool, try func(context.Context) error) error {
	for failures := 1; ; failures++ {
		err := try(ctx)
		if err == nil || final(err) || retry.Sleep(ctx, Backoff().Delay(failures, nil)) != nil {
			return err
		}
	}
}

// finalError is the result of Final.
type finalError struct{ error }

// Final returns an error that ends the retries. The caller of those receives err itself.
func Final(err error) error { return finalError{err} }

func (e finalError) Unwrap() error { return e.error }

// isFinal reports whether an error is final or a fault, or the connection was closed.
func isFinal(err error) bool {
	_, final := errors.AsType[finalError](err)
	return final || fault.Of(err) != nil || errors.Is(err, nats.ErrConnectionClosed)
}

// noPeers is the error of a leader that does not know enough servers yet. Its status looks like
// a client error.
const noPeers jetstream.ErrorCode = 10005

// isPermanent reports whether the servers will never accept a request.
func isPermanent(err error) bool {
	var answer *jetstream.APIError
	if !errors.As(err, &answer) || answer.ErrorCode == noPeers {
		return false
	}
	return answer.Code == http.StatusBadRequest || answer.Code == http.StatusUnauthorized || answer.Code == http.StatusForbidden
}

// Unavailable turns an error of the servers into a fault. A cancelled context is returned
// unchanged.
func Unavailable(op string, err error) error {
	if final, ok := errors.AsType[finalError](err); ok {
		return final.error
	}
	if err == nil || fault.Of(err) != nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fault.Unreachable(fmt.Errorf("%s: %w", op, err), 0, "The shared store is unavailable. Retry in a moment.")
}

// Corrupted turns a decoding error of stored data into a fault.
func Corrupted(op string, err error) error {
	if err == nil || fault.Of(err) != nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &fault.Error{
		Kind: fault.Unavailable, Code: "store_damaged", Message: "The shared store contains data candela cannot read. The log has details.",
		Cause: fmt.Errorf("%s: %w", op, err),
	}
}

package mcp

import (
	"context"
	"errors"

	"candela/internal/rpc"
)

// ErrTokenEnded is the cause of a context that ended because the token it acts for
// was revoked or has expired. A transport that knows tokens receives bodies with such
// a context: every call of a batch is then made with the authority of that moment.
var ErrTokenEnded = errors.New("token ended")

type tokenKey struct{}

// WithToken returns a context for what is done with the token that a key stands for.
func WithToken(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, tokenKey{}, key)
}

// TokenOf returns the key of the token that a context acts for, "" for none.
func TokenOf(ctx context.Context) string {
	key, _ := ctx.Value(tokenKey{}).(string)
	return key
}

func tokenEnded(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrTokenEnded)
}

// The answers to calls whose token has ended.
var (
	errNotBegun = &rpc.Error{Code: rpc.CodeUnauthorized, Message: "unauthorized: the bearer token has ended; this call was not carried out"}
	errCutOff   = &rpc.Error{Code: rpc.CodeUnauthorized, Message: "unauthorized: the bearer token ended during this call; it may have been carried out"}
)

// TokenEnded reports whether the token of the job has ended, and with it what was not
// done by then.
func (j *Job) TokenEnded() bool { return tokenEnded(j.ctx) }

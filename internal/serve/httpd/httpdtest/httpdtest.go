// Package httpdtest has an Authorizer for tests, until and beside the real one.
package httpdtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// Tokens is a fixed set of good tokens and who they stand for. The token "down"
// stands for an authorizer that cannot answer.
type Tokens map[string]principal.Caller

// Authorize looks the token up.
func (t Tokens) Authorize(_ context.Context, token string) (principal.Caller, error) {
	if caller, ok := t[token]; ok {
		return caller, nil
	}
	if token == "down" {
		return principal.Caller{}, errors.New("store is down")
	}
	return principal.Caller{}, &fault.Error{Kind: fault.Unauthorized, Code: "invalid_token", Message: "unknown token"}
}

// Hold returns a context that ends when the caller's token expires. No token of these is
// revoked.
func (t Tokens) Hold(ctx context.Context, caller principal.Caller) (held context.Context, release func(), err error) {
	held, cancel := context.WithCancelCause(ctx)
	if caller.Expires.IsZero() {
		return held, func() { cancel(nil) }, nil
	}
	expiry := time.AfterFunc(time.Until(caller.Expires), func() { cancel(principal.ErrTokenEnded) })
	return held, func() { expiry.Stop(); cancel(nil) }, nil
}

// Revocable are Tokens that can be revoked.
type Revocable struct {
	mu     sync.Mutex
	tokens Tokens
	held   map[string][]context.CancelCauseFunc // by the caller's key
}

// NewRevocable returns a set of tokens.
func NewRevocable(tokens Tokens) *Revocable {
	return &Revocable{tokens: tokens, held: map[string][]context.CancelCauseFunc{}}
}

// Authorize looks the token up.
func (r *Revocable) Authorize(ctx context.Context, token string) (principal.Caller, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tokens.Authorize(ctx, token)
}

// Hold returns a context that ends when the caller's token is revoked.
func (r *Revocable) Hold(ctx context.Context, caller principal.Caller) (held context.Context, release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	held, cancel := context.WithCancelCause(ctx)
	r.held[caller.Key] = append(r.held[caller.Key], cancel)
	return held, func() { cancel(nil) }, nil
}

// Revoke ends a token and all that is done with it.
func (r *Revocable) Revoke(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := r.tokens[token].Key
	delete(r.tokens, token)
	for _, cancel := range r.held[key] {
		cancel(principal.ErrTokenEnded)
	}
}

// One returns Tokens with one good token "good" of the subject "owner".
func One() Tokens {
	return Tokens{"good": {Subject: "owner", Key: "key-of-good", Scope: principal.Trade}}
}

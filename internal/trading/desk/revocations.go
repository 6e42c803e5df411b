package desk

import (
	"sync"
	"time"

	"candela/internal/kit/principal"
)

// revocations remembers which tokens have ended, for as long as an order may wait to be
// sent. It is safe for concurrent use.
type revocations struct {
	mu     sync.Mutex
	tokens map[string]time.Time // by key
	all    time.Time            // when all ended at once
}

// RevokeTokens has no order sent any more that waits to be and was placed with one of
// the tokens that the keys stand for; with no key, with any token. A token cannot
// place orders any more when this is called.
func (d *Desk) RevokeTokens(keys ...string) {
	now := d.cfg.Now()
	e := &d.revocations
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(keys) == 0 {
		e.all = now
	}
	for key, at := range e.tokens {
		if now.Sub(at) > 2*maxSubmitDelay {
			delete(e.tokens, key)
		}
	}
	for _, key := range keys {
		if e.tokens == nil {
			e.tokens = make(map[string]time.Time)
		}
		e.tokens[key] = now
	}
}

// revoked reports whether the token with which an order was asked for has ended since.
func (e *revocations) revoked(caller principal.Caller, requestedAt, now time.Time) bool {
	if !caller.Expires.IsZero() && !now.Before(caller.Expires) {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, gone := e.tokens[caller.Key]
	return gone || !caller.Expires.IsZero() && !e.all.Before(requestedAt)
}

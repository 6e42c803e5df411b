package desk

import (
	"sync"
	"time"

	"candela/internal/kit/principal"
)

// revocations records revoked tokens for as long as an order may wait to be sent. It is
// safe for concurrent use.
type revocations struct {
	mu     sync.Mutex
	tokens map[string]time.Time // revocation time by token key
	all    time.Time            // when all tokens were revoked
}

// RevokeTokens stops the submission of queued orders that were placed with these tokens,
// or with any token if no key is given. Call it after the tokens can no longer place
// orders.
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

// revoked reports whether the caller's token expired or was revoked since the order was
// requested.
func (e *revocations) revoked(caller principal.Caller, requestedAt, now time.Time) bool {
	if !caller.Expires.IsZero() && !now.Before(caller.Expires) {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, gone := e.tokens[caller.Key]
	return gone || !caller.Expires.IsZero() && !e.all.Before(requestedAt)
}

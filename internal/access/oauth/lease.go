package oauth

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"candela/internal/kit/principal"
)

// Leases ends contexts when the tokens that they act for end. It is safe for
// concurrent use, and holds no more than there are calls and streams under way.
type Leases struct {
	store Store
	mu    sync.Mutex
	held  map[Hash][]*lease
}

// lease is one context that ends with its token.
type lease struct {
	generation string
	end        context.CancelCauseFunc
}

// NewLeases returns leases on the tokens of a store.
func NewLeases(store Store) *Leases {
	l := &Leases{store: store, held: make(map[Hash][]*lease)}
	store.OnRevoke(l.end)
	return l
}

// Hold returns a context for what is done with the token that a key stands for. It
// ends with ctx, when release is called, and with the token, then with the cause
// principal.ErrTokenEnded; principal.TokenOf knows the key. A method of the store that ends a
// token returns after these contexts have ended. The error is of the kind
// fault.Unauthorized for a token that is not live.
func (l *Leases) Hold(ctx context.Context, key string) (held context.Context, release func(), err error) {
	raw, err := hex.DecodeString(key)
	if err != nil || len(raw) != len(Hash{}) {
		return nil, nil, unauthorized(ErrNotFound)
	}
	held, release, err = l.hold(principal.WithToken(ctx, key), Hash(raw))
	if err != nil {
		return nil, nil, unauthorized(err)
	}
	return held, release, nil
}

func (l *Leases) hold(ctx context.Context, token Hash) (_ context.Context, release func(), err error) {
	t, err := l.store.Token(ctx, token, time.Now())
	if err == nil && t.Grant.Login {
		err = ErrNotFound
	}
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	one := &lease{t.Generation, cancel}
	expiry := time.AfterFunc(time.Until(t.Expires), func() { cancel(principal.ErrTokenEnded) })
	release = func() {
		expiry.Stop()
		l.remove(token, one)
		cancel(nil)
	}
	l.add(token, one)
	// The token may have ended before the lease was there to end with it.
	if _, err := l.store.Token(ctx, token, time.Now()); errors.Is(err, ErrNotFound) {
		release()
		return nil, nil, err
	}
	return ctx, release, nil
}

func (l *Leases) add(token Hash, one *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[token] = append(l.held[token], one)
}

func (l *Leases) remove(token Hash, one *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := slices.DeleteFunc(l.held[token], func(other *lease) bool { return other == one })
	if len(rest) == 0 {
		delete(l.held, token)
		return
	}
	l.held[token] = rest
}

// end ends the Leases of tokens that have ended: of those named, or of every era but
// the present one when none is named.
func (l *Leases) end(tokens ...Hash) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(tokens) > 0 {
		for _, token := range tokens {
			for _, one := range l.held[token] {
				one.end(principal.ErrTokenEnded)
			}
		}
		return
	}
	generation := l.store.Seal().Generation()
	for _, all := range l.held {
		for _, one := range all {
			if one.generation != generation {
				one.end(principal.ErrTokenEnded)
			}
		}
	}
}

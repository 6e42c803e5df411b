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

// Leases ends contexts when their tokens end. It is safe for concurrent use.
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

// Hold returns a context for work done with the token that key identifies. It ends with
// ctx, with release, or with the token; then its cause is principal.ErrTokenEnded. A
// store method that revokes a token returns after these contexts have ended. The error
// is of kind fault.Unauthorized if the token is not live.
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
	// The token may have ended before the lease was added.
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

// end ends the leases of the tokens or, without any, of all earlier generations.
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

// Listeners holds the functions that a Store calls when tokens end, for concurrent use.
type Listeners struct {
	mu  sync.Mutex
	all []func(...Hash)
}

// Add adds a function.
func (l *Listeners) Add(ended func(tokens ...Hash)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(slices.Clip(l.all), ended)
}

// Notify calls all functions.
func (l *Listeners) Notify(tokens ...Hash) {
	l.mu.Lock()
	all := l.all
	l.mu.Unlock()
	for _, ended := range all {
		ended(tokens...)
	}
}

package oauth

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is the in-memory Store of one process. It is safe for concurrent use. A token
// lookup takes a read lock and allocates nothing; expired entries are dropped on lookup
// and on insertion.
type Memory struct {
	mu        sync.RWMutex
	codes     map[Hash]keptCode
	redeemed  map[Hash]redemption // redeemed codes, until their tokens expire
	tokens    map[Hash]Token
	maxTokens int // tokens
	seal      SealKey
	clients   SealKey // seals client ids
	ended     Listeners
}

// keptCode is a code that is remembered until its form expires.
type keptCode struct {
	Code
	dropped bool
}

func (c keptCode) live(now time.Time) bool { return !c.dropped && now.Before(c.Expires) }

// redemption is the token of a redeemed code.
type redemption struct {
	token   Hash
	expires time.Time
}

// NewMemory returns an empty store that holds at most this many tokens.
func NewMemory(tokens int) *Memory {
	return &Memory{codes: map[Hash]keptCode{}, redeemed: map[Hash]redemption{}, tokens: map[Hash]Token{}, maxTokens: tokens, seal: NewSealKey(), clients: NewSealKey()}
}

// Seal returns the current key.
func (m *Memory) Seal() SealKey {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.seal
}

// ClientKey returns the current key of client ids.
func (m *Memory) ClientKey() SealKey {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.clients
}

// OnRevoke registers a function that is called when tokens end before they expire.
func (m *Memory) OnRevoke(ended func(...Hash)) { m.ended.Add(ended) }

// RevokeAll revokes every code and token and changes the keys.
func (m *Memory) RevokeAll(_ context.Context, now time.Time) (int, error) {
	defer m.ended.Notify() // without the lock
	m.mu.Lock()
	defer m.mu.Unlock()
	m.evict(now)
	live := 0
	for _, t := range m.tokens {
		if !t.Grant.Login {
			live++
		}
	}
	clear(m.codes)
	clear(m.redeemed)
	clear(m.tokens)
	m.seal, m.clients = NewSealKey(), NewSealKey()
	return live, nil
}

// PutCode stores a new code.
func (m *Memory) PutCode(_ context.Context, c Code, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.Generation != m.seal.Generation() {
		return ErrRevoked
	}
	m.evict(now)
	_, kept := m.codes[c.Hash]
	_, used := m.redeemed[c.Hash]
	if kept || used {
		return ErrReplayed
	}
	for len(m.codes) >= MaxCodes {
		delete(m.codes, oldest(m.codes, func(c keptCode) time.Time { return c.Expires }))
	}
	m.codes[c.Hash] = keptCode{Code: c}
	return nil
}

// Code returns a live code.
func (m *Memory) Code(_ context.Context, h Hash, now time.Time) (Code, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if _, used := m.redeemed[h]; used {
		return Code{}, ErrReplayed
	}
	c, ok := m.codes[h]
	if !ok || !c.live(now) {
		return Code{}, ErrNotFound
	}
	return c.Code, nil
}

// Redeem exchanges a code for a token, once.
func (m *Memory) Redeem(_ context.Context, code Hash, t Token, now time.Time) error {
	return m.change(func() (gone []Hash, err error) {
		if used, ok := m.redeemed[code]; ok {
			delete(m.tokens, used.token)
			return []Hash{used.token}, ErrReplayed
		}
		if c, ok := m.codes[code]; !ok || !c.live(now) {
			return nil, ErrNotFound
		}
		gone = m.makeRoom(now)
		// More redeemed codes than tokens: a revoked token's code must still be recognised.
		for len(m.redeemed) >= 2*m.maxTokens {
			delete(m.redeemed, oldest(m.redeemed, func(r redemption) time.Time { return r.expires }))
		}
		delete(m.codes, code)
		m.redeemed[code] = redemption{token: t.Hash, expires: t.Expires}
		m.tokens[t.Hash] = t
		return gone, nil
	})
}

// change runs a function under the lock, and then reports the tokens that ended.
func (m *Memory) change(f func() (gone []Hash, err error)) error {
	locked := func() ([]Hash, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return f()
	}
	gone, err := locked()
	if len(gone) > 0 {
		m.ended.Notify(gone...)
	}
	return err
}

// makeRoom drops expired entries and the oldest tokens until one fits, and returns those.
func (m *Memory) makeRoom(now time.Time) (gone []Hash) {
	m.evict(now)
	for len(m.tokens) >= m.maxTokens {
		first := oldest(m.tokens, func(t Token) time.Time { return t.Expires })
		delete(m.tokens, first)
		gone = append(gone, first)
	}
	return gone
}

// PutToken stores a new token without a code.
func (m *Memory) PutToken(_ context.Context, t Token, now time.Time) error {
	return m.change(func() (gone []Hash, err error) {
		if t.Generation != m.seal.Generation() {
			return nil, ErrRevoked
		}
		gone = m.makeRoom(now)
		m.tokens[t.Hash] = t
		return gone, nil
	})
}

// RevokeReplayed revokes the token of a redeemed code.
func (m *Memory) RevokeReplayed(_ context.Context, code Hash) error {
	return m.change(func() ([]Hash, error) {
		used, ok := m.redeemed[code]
		if !ok {
			return nil, nil
		}
		delete(m.tokens, used.token)
		return []Hash{used.token}, nil
	})
}

// DropCode makes a code unusable.
func (m *Memory) DropCode(_ context.Context, h Hash) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.codes[h]; ok {
		c.dropped = true
		m.codes[h] = c
	}
	return nil
}

// Token returns a live token.
func (m *Memory) Token(_ context.Context, h Hash, now time.Time) (Token, error) {
	m.mu.RLock()
	t, ok := m.tokens[h]
	m.mu.RUnlock()
	switch {
	case !ok:
		return Token{}, ErrNotFound
	case now.Before(t.Expires):
		return t, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tokens, h)
	return Token{}, ErrNotFound
}

// Tokens lists the live tokens of an owner, newest first.
func (m *Memory) Tokens(_ context.Context, subject string, now time.Time) ([]Token, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.list(func(t Token) bool { return t.Grant.Subject == subject && now.Before(t.Expires) }), nil
}

// ClientTokens lists the live tokens of the clients of all owners, newest first.
func (m *Memory) ClientTokens(now time.Time) []Token {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.list(func(t Token) bool { return !t.Grant.Login && now.Before(t.Expires) })
}

func (m *Memory) list(wanted func(Token) bool) []Token {
	var out []Token
	for _, t := range m.tokens {
		if wanted(t) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Token) int {
		return cmp.Or(b.Issued.Compare(a.Issued), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Revoke revokes a token by its id.
func (m *Memory) Revoke(_ context.Context, subject, id string) error {
	return m.change(func() ([]Hash, error) {
		for h, t := range m.tokens {
			if t.ID == id && t.Grant.Subject == subject {
				delete(m.tokens, h)
				return []Hash{h}, nil
			}
		}
		return nil, ErrNotFound
	})
}

// Rescope sets the scope of a client's token.
func (m *Memory) Rescope(_ context.Context, subject, id, scope, account string) (Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for h, t := range m.tokens {
		if t.ID == id && t.Grant.Subject == subject && !t.Grant.Login {
			t.Grant.Scope, t.Grant.Account = scope, account
			m.tokens[h] = t
			return t, nil
		}
	}
	return Token{}, ErrNotFound
}

// evict drops expired entries. The maps are small, and this runs only on approval.
func (m *Memory) evict(now time.Time) {
	maps.DeleteFunc(m.codes, func(_ Hash, c keptCode) bool { return !now.Before(c.Expires.Add(FormTTL)) })
	maps.DeleteFunc(m.redeemed, func(_ Hash, r redemption) bool { return !now.Before(r.expires) })
	maps.DeleteFunc(m.tokens, func(_ Hash, t Token) bool { return !now.Before(t.Expires) })
}

// oldest returns the key of the value that ends first.
func oldest[V any](m map[Hash]V, ends func(V) time.Time) (key Hash) {
	var first time.Time
	for h, v := range m {
		if e := ends(v); first.IsZero() || e.Before(first) {
			key, first = h, e
		}
	}
	return key
}

package oauth

import (
	"cmp"
	"context"
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
	return &Memory{codes: map[Hash]keptCode{}, redeemed: map[Hash]redemption{}, tokens: map[Hash]Token{}, maxTokens: tokens, seal: NewSealKey()}
}

// Seal returns the current key.
func (m *Memory) Seal() SealKey {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.seal
}

// OnRevoke registers a function that is called when tokens end before they expire.
func (m *Memory) OnRevoke(ended func(...Hash)) { m.ended.Add(ended) }

// RevokeAll revokes every code and token and changes the key.
func (m *Memory) RevokeAll(_ context.Context, now time.Time) (int, error) {
	live := m.revokeAll(now)
	m.ended.Notify()
	return live, nil
}

func (m *Memory) revokeAll(now time.Time) (live int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.evict(now)
	for _, t := range m.tokens {
		if !t.Grant.Login {
			live++
		}
	}
	clear(m.codes)
	clear(m.redeemed)
	clear(m.tokens)
	m.seal = NewSealKey()
	return live
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
	gone, err := m.redeem(code, t, now)
	if len(gone) > 0 {
		m.ended.Notify(gone...)
	}
	return err
}

// redeem returns the tokens that ended because of it.
func (m *Memory) redeem(code Hash, t Token, now time.Time) (gone []Hash, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if used, ok := m.redeemed[code]; ok {
		delete(m.tokens, used.token)
		return []Hash{used.token}, ErrReplayed
	}
	c, ok := m.codes[code]
	if !ok || !c.live(now) {
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
	m.mu.Lock()
	if t.Generation != m.seal.Generation() {
		m.mu.Unlock()
		return ErrRevoked
	}
	gone := m.makeRoom(now)
	m.tokens[t.Hash] = t
	m.mu.Unlock()
	if len(gone) > 0 {
		m.ended.Notify(gone...)
	}
	return nil
}

// RevokeReplayed revokes the token of a redeemed code.
func (m *Memory) RevokeReplayed(_ context.Context, code Hash) error {
	m.mu.Lock()
	used, ok := m.redeemed[code]
	delete(m.tokens, used.token)
	m.mu.Unlock()
	if ok {
		m.ended.Notify(used.token)
	}
	return nil
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
	var out []Token
	for _, t := range m.tokens {
		if t.Grant.Subject == subject && now.Before(t.Expires) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Token) int {
		return cmp.Or(b.Issued.Compare(a.Issued), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// Revoke revokes a token by its id.
func (m *Memory) Revoke(_ context.Context, subject, id string) error {
	token, ok := m.revoke(subject, id)
	if !ok {
		return ErrNotFound
	}
	m.ended.Notify(token)
	return nil
}

func (m *Memory) revoke(subject, id string) (token Hash, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for h, t := range m.tokens {
		if t.ID == id && t.Grant.Subject == subject {
			delete(m.tokens, h)
			return h, true
		}
	}
	return token, false
}

// evict drops expired entries. The maps are small, and this runs only on approval.
func (m *Memory) evict(now time.Time) {
	for h, c := range m.codes {
		if !now.Before(c.Expires.Add(FormTTL)) {
			delete(m.codes, h)
		}
	}
	for h, r := range m.redeemed {
		if !now.Before(r.expires) {
			delete(m.redeemed, h)
		}
	}
	for h, t := range m.tokens {
		if !now.Before(t.Expires) {
			delete(m.tokens, h)
		}
	}
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

package oauth

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"candela/internal/kit/principal"
)

// Memory is the in-memory Store of one process. It is safe for concurrent use. A token
// lookup takes a read lock and allocates nothing; expired entries are dropped on lookup
// and on insertion, which costs the same however many entries there are.
type Memory struct {
	mu       sync.RWMutex
	codes    *shelf[keptCode]
	redeemed *shelf[redemption] // redeemed codes, until their tokens expire
	tokens   *shelf[Token]
	most     Capacity
	seal     SealKey
	clients  SealKey // seals client ids
	ended    Listeners
}

// keptCode is a code that is remembered until its form expires.
type keptCode struct {
	Code
	dropped bool
}

func (c keptCode) live(now time.Time) bool { return !c.dropped && now.Before(c.Expires) }

// redemption is the token of a redeemed code.
type redemption struct{ token Hash }

// NewMemory returns an empty store of one owner that holds at most this many tokens.
func NewMemory(tokens int) *Memory { return NewMemoryWithin(OneOwner(tokens)) }

// NewMemoryWithin returns an empty store with a capacity.
func NewMemoryWithin(most Capacity) *Memory {
	return &Memory{
		codes: newShelf[keptCode](), redeemed: newShelf[redemption](), tokens: newShelf[Token](), most: most,
		seal: NewSealKey(), clients: NewSealKey(),
	}
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
	for _, t := range m.tokens.items {
		if !t.value.Grant.Login {
			live++
		}
	}
	m.codes.clear()
	m.redeemed.clear()
	m.tokens.clear()
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
	if m.codes.has(c.Hash) || m.redeemed.has(c.Hash) {
		return ErrReplayed
	}
	owner := c.Grant.Subject
	if _, err := m.codes.makeRoom(owner, m.most.OwnerCodes, m.most.Codes); err != nil {
		return err
	}
	m.codes.put(c.Hash, owner, c.Expires.Add(FormTTL), keptCode{Code: c})
	return nil
}

// Code returns a live code.
func (m *Memory) Code(_ context.Context, h Hash, now time.Time) (Code, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.redeemed.has(h) {
		return Code{}, ErrReplayed
	}
	c, ok := m.codes.get(h)
	if !ok || !c.live(now) {
		return Code{}, ErrNotFound
	}
	return c.Code, nil
}

// Redeem exchanges a code for a token, once.
func (m *Memory) Redeem(_ context.Context, code Hash, t Token, now time.Time) error {
	return m.change(func() (gone []Hash, err error) {
		if used, ok := m.redeemed.get(code); ok {
			m.tokens.remove(used.token)
			return []Hash{used.token}, ErrReplayed
		}
		if c, ok := m.codes.get(code); !ok || !c.live(now) {
			return nil, ErrNotFound
		}
		owner := t.Grant.Subject
		gone, err = m.makeRoom(owner, now)
		if err != nil {
			return gone, err
		}
		// More redeemed codes than tokens: a revoked token's code must still be recognised.
		if _, err := m.redeemed.makeRoom(owner, redeemedPerToken*m.most.OwnerTokens, redeemedPerToken*m.most.Tokens); err != nil {
			return gone, err
		}
		m.codes.remove(code)
		m.redeemed.put(code, owner, t.Expires, redemption{token: t.Hash})
		m.tokens.put(t.Hash, owner, t.Expires, t)
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

// makeRoom drops expired entries and the owner's oldest tokens until one fits, and returns those.
func (m *Memory) makeRoom(owner principal.Owner, now time.Time) (gone []Hash, err error) {
	m.evict(now)
	return m.tokens.makeRoom(owner, m.most.OwnerTokens, m.most.Tokens)
}

// PutToken stores a new token without a code.
func (m *Memory) PutToken(_ context.Context, t Token, now time.Time) error {
	return m.change(func() (gone []Hash, err error) {
		if t.Generation != m.seal.Generation() {
			return nil, ErrRevoked
		}
		if gone, err = m.makeRoom(t.Grant.Subject, now); err == nil {
			m.tokens.put(t.Hash, t.Grant.Subject, t.Expires, t)
		}
		return gone, err
	})
}

// RevokeReplayed revokes the token of a redeemed code.
func (m *Memory) RevokeReplayed(_ context.Context, code Hash) error {
	return m.change(func() ([]Hash, error) {
		used, ok := m.redeemed.get(code)
		if !ok {
			return nil, nil
		}
		m.tokens.remove(used.token)
		return []Hash{used.token}, nil
	})
}

// DropCode makes a code unusable.
func (m *Memory) DropCode(_ context.Context, h Hash) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.codes.get(h); ok {
		c.dropped = true
		m.codes.change(h, c)
	}
	return nil
}

// Token returns a live token.
func (m *Memory) Token(_ context.Context, h Hash, now time.Time) (Token, error) {
	m.mu.RLock()
	t, ok := m.tokens.get(h)
	m.mu.RUnlock()
	switch {
	case !ok:
		return Token{}, ErrNotFound
	case now.Before(t.Expires):
		return t, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens.remove(h)
	return Token{}, ErrNotFound
}

// Tokens lists the live tokens of an owner, newest first.
func (m *Memory) Tokens(_ context.Context, subject principal.Owner, now time.Time) ([]Token, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []Token
	for _, t := range m.tokens.owned[subject] {
		if now.Before(t.ends) {
			out = append(out, t.value)
		}
	}
	return newestFirst(out), nil
}

// ClientTokens lists the live tokens of the clients of all owners, newest first.
func (m *Memory) ClientTokens(now time.Time) []Token {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.list(func(t Token) bool { return !t.Grant.Login && now.Before(t.Expires) })
}

// list returns the wanted tokens of all owners, newest first.
func (m *Memory) list(wanted func(Token) bool) []Token {
	var out []Token
	for _, t := range m.tokens.items {
		if wanted(t.value) {
			out = append(out, t.value)
		}
	}
	return newestFirst(out)
}

func newestFirst(all []Token) []Token {
	slices.SortFunc(all, func(a, b Token) int {
		return cmp.Or(b.Issued.Compare(a.Issued), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// Revoke revokes a token by its id.
func (m *Memory) Revoke(_ context.Context, subject principal.Owner, id string) error {
	return m.change(func() ([]Hash, error) {
		for _, t := range m.tokens.owned[subject] {
			if t.value.ID == id {
				m.tokens.remove(t.hash)
				return []Hash{t.hash}, nil
			}
		}
		return nil, ErrNotFound
	})
}

// Rescope sets the scope of a client's token.
func (m *Memory) Rescope(_ context.Context, subject principal.Owner, id, scope, account string) (Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tokens.owned[subject] {
		if t.value.ID == id && !t.value.Grant.Login {
			t.value.Grant.Scope, t.value.Grant.Account = scope, account
			return t.value, nil
		}
	}
	return Token{}, ErrNotFound
}

// evict drops expired entries.
func (m *Memory) evict(now time.Time) {
	m.codes.expire(now)
	m.redeemed.expire(now)
	m.tokens.expire(now)
}

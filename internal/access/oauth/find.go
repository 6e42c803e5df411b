package oauth

import (
	"context"
	"errors"
	"slices"
	"time"

	"candela/internal/kit/principal"
)

// Finder is a Store that finds the live tokens of all owners. It reads all of them, so it is
// for rare events.
type Finder interface {
	Find(ctx context.Context, wanted func(Token) bool, now time.Time) ([]Token, error)
}

// Find returns the live tokens of all owners that are wanted, newest first.
func (m *Memory) Find(_ context.Context, wanted func(Token) bool, now time.Time) ([]Token, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []Token
	for _, t := range m.tokens.items {
		if now.Before(t.ends) && wanted(t.value) {
			out = append(out, t.value)
		}
	}
	return newestFirst(out), nil
}

// find returns the live tokens that are wanted: of one owner, or of all if that is "".
func (s *Server) find(ctx context.Context, owner principal.Owner, wanted func(Token) bool, now time.Time) ([]Token, error) {
	if owner == "" {
		store, ok := s.store.(Finder)
		if !ok {
			return nil, errNoFinder
		}
		return store.Find(ctx, wanted, now)
	}
	all, err := s.store.Tokens(ctx, owner, now)
	return slices.DeleteFunc(all, func(t Token) bool { return !wanted(t) }), err
}

var errNoFinder = errors.New("the store cannot find tokens")

package logins

import (
	"context"
	"time"

	"candela/internal/access/oauth"
)

// Find returns the live tokens of all owners that are wanted.
func (t *Store) Find(ctx context.Context, wanted func(oauth.Token) bool, now time.Time) ([]oauth.Token, error) {
	if err := t.awaitLoaded(ctx); err != nil {
		return nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []oauth.Token
	for _, row := range t.tokens.rows {
		if !row.cleared && now.Before(row.value.Expires) && wanted(row.value) {
			out = append(out, row.value)
		}
	}
	return out, nil
}

var _ oauth.Finder = (*Store)(nil)

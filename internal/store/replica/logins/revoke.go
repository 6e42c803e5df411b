package logins

import (
	"context"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
)

// Revoke ends a token by its ID. When it returns, no replica does anything more with it.
func (t *Store) Revoke(ctx context.Context, subject principal.Owner, id string) error {
	if err := t.awaitLoaded(ctx); err != nil {
		return err
	}
	t.mu.RLock()
	var found []oauth.Hash
	for h := range t.tokens.owned[subject] {
		if row := t.tokens.rows[h]; !row.cleared && row.value.ID == id {
			found = append(found, h)
		}
	}
	t.mu.RUnlock()
	if len(found) == 0 {
		return oauth.ErrNotFound
	}
	if err := t.revoke(ctx, found...); err != nil {
		return err
	}
	t.table.OutliveConfirmations(ctx)
	return nil
}

// revoke ends tokens. The tombstones outlive the tokens, so a replica that was away sees them.
func (t *Store) revoke(ctx context.Context, gone ...oauth.Hash) error {
	return t.writeTombstones(ctx, tokenKind, oauth.TokenTTL, gone...)
}

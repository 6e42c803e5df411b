package logins

import (
	"context"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/store/replica/table"
)

// earlyLookups is how many tokens a second are read from the leader while the stored ones are not
// known yet. More wait.
const earlyLookups = 5000

// loadAndFollow applies the stored messages and then those that follow, until ctx ends.
func (t *Store) loadAndFollow(ctx context.Context) {
	defer close(t.done)
	t.follower().LoadAndRun(ctx, t.loaded)
}

func (t *Store) isLoaded() bool {
	select {
	case <-t.loaded:
		return true
	default:
		return false
	}
}

// awaitLoaded returns once the stored codes and tokens are known.
func (t *Store) awaitLoaded(ctx context.Context) error {
	if t.isLoaded() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.table.RetryFor)
	defer cancel()
	return table.AwaitLoaded(ctx, t.loaded, "read tokens")
}

// earlyToken returns a token before the stored ones are known. It reads the token from the leader,
// or waits when too many are asked for.
func (t *Store) earlyToken(ctx context.Context, h oauth.Hash, now time.Time) (oauth.Token, error) {
	if t.early.Allow() {
		return t.fetchToken(ctx, h, now)
	}
	if err := t.awaitLoaded(ctx); err != nil {
		return oauth.Token{}, err
	}
	return t.Token(ctx, h, now)
}

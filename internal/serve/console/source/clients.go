package source

import (
	"context"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/usage"
	"candela/internal/kit/principal"
)

// Clients is the approved clients with what they do.
type Clients struct {
	*oauth.Server
	Use *usage.Tracker
}

// Tokens lists the live tokens of an owner, newest first.
func (c Clients) Tokens(ctx context.Context, subject principal.Owner) ([]oauth.Token, error) {
	all, err := c.Server.Tokens(ctx, subject)
	for _, t := range all {
		if !t.Grant.Login {
			c.Use.Know(time.Now(), usage.Client{ID: t.ID, Key: t.Key, Name: t.Grant.ClientName, Target: t.Grant.Target, Scope: t.Grant.Access().String(), Expires: t.Expires})
		}
	}
	return all, err
}

// Used returns what the client with a token did.
func (c Clients) Used(key string) usage.Use { return c.Use.Of(key, time.Now()) }

// Ended lists the clients whose access ended since the start.
func (c Clients) Ended() []usage.Ended { return c.Use.Ended(time.Now()) }

// TrackUse remembers clients from when their tokens are issued until they end.
func TrackUse(use *usage.Tracker, e oauth.Event) {
	now := time.Now()
	switch e.Kind {
	case "token_issued":
		use.Know(now, usage.Client{ID: e.About, Key: e.Key, Name: e.Client, Target: e.Target, Scope: e.Scope, Expires: now.Add(e.TTL)})
	case "token_revoked":
		use.Revoke(e.About, now)
	case "logins_ended":
		use.RevokeAll(now)
	}
}

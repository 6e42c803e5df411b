package app

import (
	"context"
	"encoding/json"
	"time"

	"candela/internal/access/metering"
	"candela/internal/access/oauth"
	"candela/internal/access/usage"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
)

// countedTools is the tools of the program, with a count of what each client calls.
type countedTools struct {
	mcp.ToolSet
	use   *usage.Tracker
	meter *metering.Meter // of owners; nil for one owner
}

// Call calls a tool and counts the call.
func (c countedTools) Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	result, err := c.ToolSet.Call(ctx, caller, name, arguments)
	failed := err != nil || result.IsError
	c.use.Called(caller.Key, name, failed, time.Now())
	if c.meter != nil && err == nil { // an error is a tool that does not exist
		c.meter.Called(caller.Subject, name, failed)
	}
	return result, err
}

// consoleClients is the approved clients with what they do.
type consoleClients struct {
	*oauth.Server
	use *usage.Tracker
}

// Tokens lists the live tokens of an owner, newest first.
func (c consoleClients) Tokens(ctx context.Context, subject principal.Owner) ([]oauth.Token, error) {
	all, err := c.Server.Tokens(ctx, subject)
	for _, t := range all {
		if !t.Grant.Login {
			c.use.Know(time.Now(), usage.Client{ID: t.ID, Key: t.Key, Name: t.Grant.ClientName, Target: t.Grant.Target, Scope: t.Grant.Access().String(), Expires: t.Expires})
		}
	}
	return all, err
}

// Used returns what the client with a token did.
func (c consoleClients) Used(key string) usage.Use { return c.use.Of(key, time.Now()) }

// Ended lists the clients whose access ended since the start.
func (c consoleClients) Ended() []usage.Ended { return c.use.Ended(time.Now()) }

// trackUse remembers clients from when their tokens are issued until they end.
func trackUse(use *usage.Tracker, e oauth.Event) {
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

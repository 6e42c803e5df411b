package app

import (
	"context"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/store/ledger"
	"candela/internal/store/loginfile"
)

// maxLocalTokens bounds the clients of one node. A client holds a connection while it works,
// so more tokens than connections have no use.
func (rt Runtime) maxLocalTokens() int { return rt.Config.HTTP.MaxConnections }

// maxStored bounds the tokens of many owners that one node writes to a file, which holds all of
// them.
const maxStored = 20_000

// openPersistent returns the node of a single machine that keeps logins across restarts.
func (rt Runtime) openPersistent(ctx context.Context) (*node, error) {
	owner, err := rt.mode().passphrase(rt)
	if err != nil {
		return nil, err
	}
	most := rt.mode().capacity(rt.maxLocalTokens())
	most.Tokens = min(most.Tokens, maxStored)
	cfg := loginfile.Config{Owner: owner, Live: rt.liveAccount(), Most: most, Outdated: rt.loginsOutdated, Now: time.Now, Log: rt.Log}
	tokens, err := loginfile.Open(ctx, rt.Config.Home, cfg)
	if err != nil {
		return nil, err
	}
	return &node{
		logins:     func() (oauth.Store, oauth.OwnerAuth, error) { return tokens, owner, nil },
		keepLogins: func(ctx, _ context.Context, ready func()) error { return tokens.Run(ctx, ready) },
		survives:   func(t oauth.Token) bool { return !t.Grant.Login },
		trading:    func(t *trading) (side, error) { return rt.localSide(t, tokens.Live) },
		close:      func() {},
	}, nil
}

// removeLogins ends stored logins, because a server that does not store logins does not write
// there which of them are revoked. Then it waits.
func (rt Runtime) removeLogins(ctx, _ context.Context, ready func()) error {
	if home := rt.Config.Home; loginfile.Stored(home) {
		if err := loginfile.Remove(home); err != nil {
			return err
		}
		rt.Log.WarnContext(ctx, "stored logins removed: the server runs without --persist-logins", "home", home)
	}
	ready()
	<-ctx.Done()
	return nil
}

// loginsOutdated asks the audit log of the state directory about stored tokens.
func (rt Runtime) loginsOutdated(ctx context.Context, stored []oauth.Token) (bool, error) {
	return ledger.LoginsOutdated(ctx, rt.Config.Home, stored)
}

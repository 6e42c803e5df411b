package app

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/store/ledger"
	"candela/internal/store/loginfile"
	"candela/lib/fault"
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

// loginsOutdated reports whether the audit log of the state directory says that stored tokens were
// revoked, or that their scope was changed, since they were written.
func (rt Runtime) loginsOutdated(ctx context.Context, stored []oauth.Token) (outdated bool, err error) {
	log, err := ledger.OpenAudit(ctx, rt.Config.Home)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil // there is none without --trade
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	oldest := slices.MinFunc(stored, func(a, b oauth.Token) int { return a.Issued.Compare(b.Issued) })
	changes, err := log.LoginChanges(ctx, oldest.Issued)
	if err != nil {
		return false, err
	}
	byID := make(map[string]oauth.Token, len(stored))
	for _, t := range stored {
		byID[t.ID] = t
	}
	seen := make(map[string]bool) // newer changes of the scope
	for _, e := range changes {
		t, known := byID[e.Subject]
		switch {
		case e.Kind == "logins_ended" && oldest.Issued.Before(e.At), known && e.Kind == "token_revoked":
			return true, nil
		case known && e.Kind == "scope_changed" && !seen[e.Subject]:
			var body struct{ Scope string }
			if json.Unmarshal(e.Body, &body) == nil && body.Scope != "" && body.Scope != t.Grant.Scope {
				return true, nil
			}
			seen[e.Subject] = true
		}
	}
	return false, nil
}

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"candela/internal/access/cimd"
	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/access/upstream"
	"candela/internal/config"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/operate/doctor"
	"candela/internal/serve/console"
	"candela/internal/serve/httpd"
)

// serveMCP is the service of --serve: the tools over HTTP for clients that the owner
// approved, and the control socket of the owner's commands.
func serveMCP(rt Runtime) ([]lifecycle.Part, error) {
	pass := &control.Pass{}
	idp, err := rt.mode().newProvider(rt.Config, rt.Log)
	if err != nil {
		return nil, err
	}
	if idp != nil {
		rt.node.signInUp = idp.Up
	}
	logins, err := newLogins(rt, pass, idp)
	if err != nil {
		return nil, err
	}
	if err := doctor.CheckFileLimit(rt.Config.HTTP.MaxConnections); err != nil {
		return nil, err
	}
	parts, side, server, err := rt.listen(logins, logins)
	if err != nil {
		return nil, err
	}
	if side != nil {
		logins.OnRevoke(side.endTokens)
		side.auditLogins(rt, logins)
	}
	var pages func(context.Context) (string, error)
	if rt.Config.HTTP.Console {
		pages = func(context.Context) (string, error) { return rt.Config.HTTP.BaseURL + console.Root, nil }
	}
	people := side.hosting(rt, logins)
	if people != nil {
		rt.node.owners = side.owners
	}
	if people != nil {
		desk, err := rt.hostDesk(people, side.limits, rt.hostHealth(side, server))
		if err != nil {
			return nil, err
		}
		parts = append(parts, desk...)
	}
	socket := control.Server{
		Home: rt.Config.Home, Locked: true, Log: rt.Log, Console: pages,
		Door: logins, Pass: pass, Survives: rt.node.survives, Owners: people, ManyOwners: rt.mode().many,
		Trader: side.trader(), Alerts: side.alertCommands(rt), Trades: side.tradeCommands(rt), Strategies: side.strategyCommands(), Status: side.statusOf(rt, server.Stats), ApplyPolicy: side.applyPolicy(), ReloadPlans: side.reloadPlans(),
	}
	parts = append([]lifecycle.Part{{Name: "logins", Run: rt.node.keepLogins}, {Name: "control", Run: socket.Run}}, parts...)
	if idp != nil {
		parts = append([]lifecycle.Part{{Name: "sign-in", Run: idp.Watch}}, parts...)
	}
	return parts, nil
}

// newLogins returns the authorization server. It accepts the owner's passphrase and
// one-time passphrases from pass, or sends owners to an identity provider.
func newLogins(rt Runtime, pass *control.Pass, idp *upstream.Provider) (*oauth.Server, error) {
	cfg := rt.Config
	trading := oauth.NoTrading
	switch {
	case cfg.Trade && cfg.Trading.Live:
		trading = oauth.LiveTrading
	case cfg.Trade:
		trading = oauth.PaperTrading
	}
	front := oauth.Config{
		BaseURL: cfg.HTTP.BaseURL, Name: "candela", Trading: trading, Account: rt.liveAccount(),
		AutoApprove: cfg.OAuth.AutoApprove, RedirectSchemes: cfg.OAuth.RedirectSchemes,
		Address: httpd.ClientAddress(cfg.HTTP.TrustedProxies), Pass: pass.Take, Log: rt.Log,
	}
	if idp != nil {
		if err := setSignIn(&front, cfg, idp); err != nil {
			return nil, err
		}
		if cfg.Trade {
			front.SignIn.Owners = owners.Gate{Records: rt.node.records}
		}
	}
	if cfg.HTTP.Console {
		front.ClientsPage = console.Root + "/clients"
	}
	if cfg.Trade {
		front.InForce = func() string { return rt.node.inForce() }
	}
	if cfg.AcceptsDocuments() {
		front.Documents = newDocuments(cfg)
	}
	store, owner, err := rt.node.logins()
	if err != nil {
		return nil, err
	}
	return oauth.New(store, owner, front)
}

// newDocuments returns what reads the documents of clients.
func newDocuments(cfg *config.Config) oauth.Documents {
	return cimd.New(cimd.Config{AllowPrivate: cfg.OAuth.PrivateDocuments, Now: time.Now})
}

// newOwner returns the owner with the configured passphrase. Without one it generates a
// passphrase, which a server that listens prints once, on stderr and not in the log.
func newOwner(rt Runtime) (*oauth.Passphrase, error) {
	given := rt.Config.OAuth.OwnerPassword
	if !given.IsZero() {
		owner, err := oauth.NewOwner(given.Reveal(), oauth.DefaultCost())
		if err != nil {
			return nil, fmt.Errorf("owner's passphrase: %w", err)
		}
		return owner, nil
	}
	// A cheap hash is enough: 128 random bits cannot be guessed.
	passphrase := oauth.NewPassphrase()
	if !rt.Config.OAuth.AutoApprove && rt.greeting != nil {
		*rt.greeting = fmt.Sprintf("candela: no owner passphrase is set. Using this one until the server stops:\n\n    %s\n\nAdd %s/mcp in your client and enter the passphrase in the browser window that opens.\n\n", passphrase, rt.Config.HTTP.BaseURL)
	}
	return oauth.NewOwner(passphrase, oauth.Cost{Memory: 8, Passes: 1, Threads: 1})
}

// auditLogins records logins and revocations in the audit log, where the node has one.
func (t *trading) auditLogins(rt Runtime, logins *oauth.Server) {
	if t.audit == nil {
		return
	}
	logins.OnEvent(func(ctx context.Context, e oauth.Event) error {
		body, err := json.Marshal(struct {
			Client  string `json:"client,omitempty"`
			Address string `json:"address,omitempty"`
			Scope   string `json:"scope,omitempty"`
			Expires int    `json:"expires_in,omitempty"` // seconds
			By      string `json:"by,omitempty"`         // of the operator's people, who ended it
		}{e.Client, e.Address, e.Scope, int(e.TTL.Seconds()), owners.Actor(ctx)})
		if err == nil {
			err = t.audit(ctx, principal.Caller{Subject: e.Subject, Key: e.Key, Client: e.Client}, e.Kind, e.About, body)
		}
		if err != nil {
			rt.Log.ErrorContext(ctx, "audit entry not written", "kind", e.Kind, "about", e.About, "error", err)
		}
		return err
	})
}

package app

import (
	"fmt"

	"candela/internal/access/oauth"
	"candela/internal/operate/control"
	"candela/internal/operate/doctor"
	"candela/internal/serve/httpd"
)

// serveMCP is the service behind --serve: the tools over HTTP, for clients that
// the owner let in, and the socket by which the owner throws them out.
func serveMCP(rt Runtime) ([]Part, error) {
	pass := &control.Pass{}
	door, err := newDoor(rt, pass)
	if err != nil {
		return nil, err
	}
	if err := doctor.CheckFileLimit(rt.Config.HTTP.MaxConnections); err != nil {
		return nil, err
	}
	parts, side, server, err := rt.listen(door, door)
	if err != nil {
		return nil, err
	}
	if side != nil {
		door.OnRevoke(side.endTokens)
		side.auditLogins(rt, door)
	}
	socket := control.Server{Home: rt.Config.Home, Door: door, Pass: pass, Trader: side.trader(), Status: side.statusOf(rt, server.Stats), Log: rt.Log}
	return append([]Part{{Name: "control", Run: socket.Run}}, parts...), nil
}

// newDoor returns the authorization server. Besides the owner's passphrase it takes
// what pass has handed out.
func newDoor(rt Runtime, pass *control.Pass) (*oauth.Server, error) {
	cfg := rt.Config
	trading := oauth.NoTrading
	switch {
	case cfg.Trade && cfg.Trading.Live:
		trading = oauth.LiveTrading
	case cfg.Trade:
		trading = oauth.PaperTrading
	}
	front := oauth.Config{
		BaseURL: cfg.HTTP.BaseURL, Name: "candela", Trading: trading,
		AutoApprove: cfg.OAuth.AutoApprove, RedirectSchemes: cfg.OAuth.RedirectSchemes,
		Address: httpd.ClientAddress(cfg.HTTP.TrustedProxies), Pass: pass.Take, Log: rt.Log,
	}
	logins, owner, err := rt.node.logins()
	if err != nil {
		return nil, err
	}
	return oauth.New(logins, owner, front)
}

// newOwner returns the owner of the passphrase that was given, or makes one up
// and shows it once, on stderr and not in the log.
func newOwner(rt Runtime) (*oauth.Passphrase, error) {
	given := rt.Config.OAuth.OwnerPassword
	if !given.IsZero() {
		owner, err := oauth.NewOwner(given.Reveal(), oauth.DefaultCost())
		if err != nil {
			return nil, fmt.Errorf("owner's passphrase: %w", err)
		}
		return owner, nil
	}
	// Nobody guesses 128 random bits, so their hash may be cheap.
	passphrase := oauth.NewPassphrase()
	if !rt.Config.OAuth.AutoApprove {
		fmt.Fprintf(rt.Stderr, "candela: no owner passphrase is set; until the server stops it is\n\n    %s\n\nAdd %s/mcp in a client: it opens a browser, where you type that once.\n\n", passphrase, rt.Config.HTTP.BaseURL)
	}
	return oauth.NewOwner(passphrase, oauth.Cost{Memory: 8, Passes: 1, Threads: 1})
}

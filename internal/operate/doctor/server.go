package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"candela/internal/access/cimd"
	"candela/internal/access/oauth"
	"candela/internal/kit/loopback"
	"candela/internal/operate/control"
	"candela/internal/store/loginfile"
)

// server checks what --serve needs, and a running server from outside.
func (x *examination) server(ctx context.Context) {
	if x.cfg.ManyOwners() {
		x.signIn(ctx)
	} else {
		x.Report(x.passphrase())
	}
	if x.cfg.OAuth.PersistLogins {
		x.Report(x.logins())
	}
	if err := CheckFileLimit(x.cfg.HTTP.MaxConnections); err != nil {
		x.Report(newProblem("file limit", "LimitNOFILE=65536 in the systemd unit, ulimit -n 65536 in a shell, or a smaller --max-connections", "%s", err))
	} else {
		x.Report(NewOK("file limit", "enough for %d connections", x.cfg.HTTP.MaxConnections))
	}
	x.Report(x.port(ctx, "port", x.cfg.HTTP.Address(), "--port"))
	if admin := x.cfg.HTTP.AdminListen; admin.IsValid() {
		x.Report(x.port(ctx, "admin port", admin, "--admin-listen"))
	}
	if x.cfg.AcceptsDocuments() {
		x.wait("client documents")
		x.Report(x.documents(ctx))
	}
	if !x.running {
		for _, check := range []string{"base URL", "OAuth", "events"} {
			x.Report(newWarning(check, "start the server and run candela doctor again beside it, with the same settings", "not checked: no server runs in %s", x.cfg.Home))
		}
		return
	}
	x.fromOutside(ctx)
}

// logins reads the stored logins, as the next start does.
func (x *examination) logins() Finding {
	const check = "logins"
	clients, err := loginfile.Count(x.cfg.Home, time.Now())
	switch {
	case err != nil:
		return newProblem(check, "as it says; candela auth revoke-all removes the files, too, while no server runs", "%s", err)
	case !loginfile.Stored(x.cfg.Home):
		return NewOK(check, "none are stored yet; the first start creates %s and %s", loginfile.KeyName, loginfile.FileName)
	}
	return NewOK(check, "%d approved clients survive a restart", clients)
}

// knownDocument describes Claude Code, which tries no other way where documents are offered.
const knownDocument = "https://claude.ai/oauth/claude-code-client-metadata"

// documents reads a client document as the server does after a login.
func (x *examination) documents(ctx context.Context) Finding {
	const check = "client documents"
	_, err := x.Documents(x.cfg).Document(ctx, knownDocument, netip.Addr{})
	switch {
	case err == nil:
		return NewOK(check, "%s can be read", knownDocument)
	case errors.Is(err, cimd.ErrUnreached):
		return newProblem(check, "let this machine resolve names and connect to port 443 of other hosts, or set --cimd off: clients then register instead",
			"clients that have a document, such as Claude Code, cannot connect: %s: %s", knownDocument, err)
	}
	return newWarning(check, "if Claude Code cannot connect, set --cimd off: clients then register instead", "%s: %s", knownDocument, err)
}

// passphrase checks how the owner approves clients.
func (x *examination) passphrase() Finding {
	const (
		check = "passphrase"
		fix   = "candela auth hash-password > FILE, chmod 600 FILE, and --owner-password-file FILE"
	)
	base, err := url.Parse(x.cfg.HTTP.BaseURL)
	local := err == nil && loopback.Host(strings.ToLower(base.Hostname()))
	given := x.cfg.OAuth.OwnerPassword
	switch {
	case x.cfg.OAuth.AutoApprove:
		return newWarning(check, "remove --oauth-auto-approve except for experiments", "every client on this machine is approved without one")
	case given.IsZero() && local:
		return newWarning(check, fix, "none is set: every start generates one and prints it")
	case given.IsZero():
		return newProblem(check, fix, "none is set, and others can reach %s: every start generates one, and only its log shows it", x.cfg.HTTP.BaseURL)
	}
	if _, err := oauth.NewOwner(given.Reveal(), oauth.Cost{Memory: 8, Passes: 1, Threads: 1}); err != nil {
		return newProblem(check, fix, "it cannot be used: %s", err)
	}
	return NewOK(check, "it is set")
}

// port checks an address to listen on. It listens on a free one for a moment.
func (x *examination) port(ctx context.Context, check string, address netip.AddrPort, flag string) Finding {
	var listen net.ListenConfig
	ln, err := listen.Listen(ctx, "tcp", address.String())
	if err == nil {
		_ = ln.Close() // nobody has connected
	}
	switch {
	case err == nil && x.running:
		return newProblem(check, "run candela doctor with the settings of the server", "a server runs in %s and does not listen on %s", x.cfg.Home, address)
	case err == nil:
		return NewOK(check, "%s is free", address)
	case x.running && isCandela(ctx, address, check):
		return NewOK(check, "candela listens on %s", address)
	case errors.Is(err, fs.ErrPermission):
		return newProblem(check, "choose a port of 1024 or more and leave the small ones to the proxy", "this user may not listen on %s", address)
	case AddressInUse(err):
		return newProblem(check, fmt.Sprintf("stop the program that has it (ss -ltnp, lsof -i :%d or netstat -abno shows which), or choose another %s", address.Port(), flag), "%s is taken by another program", address)
	}
	return newProblem(check, "choose an address of this machine", "cannot listen on %s: %s", address, err)
}

// dialable returns the address at which this machine reaches a listener: loopback for
// one on every address.
func dialable(a netip.AddrPort) netip.AddrPort {
	switch {
	case !a.Addr().IsUnspecified():
		return a
	case a.Addr().Is4():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Loopback(), a.Port())
}

func isCandela(ctx context.Context, address netip.AddrPort, check string) bool {
	path := "/"
	if check != "port" {
		path = "/healthz"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+dialable(address).String()+path, nil)
	if err != nil {
		return false
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_ = resp.Body.Close()
	if check != "port" {
		return err == nil && resp.StatusCode == http.StatusOK
	}
	var server struct {
		Name string `json:"name"`
	}
	// A loopback server with another base URL refuses the request.
	return json.Unmarshal(body, &server) == nil && (server.Name == "candela" || resp.StatusCode == http.StatusForbidden)
}

// fromOutside checks a running server as its clients reach it.
func (x *examination) fromOutside(ctx context.Context) {
	s := newServer(x.cfg.HTTP.BaseURL, "http://"+dialable(x.cfg.HTTP.Address()).String(), x.FirstByte, x.Heartbeat)
	defer s.Close()
	found, reached := s.Address(ctx, time.Now())
	x.Report(found)
	if !reached {
		for _, check := range []string{"OAuth", "events"} {
			x.Report(newWarning(check, "correct the base URL first", "not checked: clients do not reach the server"))
		}
		return
	}
	if x.cfg.ManyOwners() {
		x.Report(s.SentToProvider(ctx))
		x.Report(newWarning("events", "let a client in and set an alert that fires at once: its notification must come within a second", "not checked: only a person can sign in"))
		return
	}
	pass, err := control.NewPass(ctx, x.cfg.Home)
	if err != nil {
		x.Report(newWarning("OAuth", "restart the server: its version differs from this program's", "not checked: %s", err))
		x.Report(newWarning("events", "restart the server", "not checked: the login failed"))
		return
	}
	before := x.tokens(ctx)
	defer func() { x.revoke(ctx, before) }()
	found, token := s.RoundTrip(ctx, pass)
	x.Report(found)
	if token == "" {
		x.Report(newWarning("events", "correct OAuth first", "not checked: the login failed"))
		return
	}
	x.wait("listening for a heartbeat, which comes every 15 s")
	x.Report(s.Stream(ctx, token))
}

// tokens returns the ids of all tokens. Without them nothing is revoked.
func (x *examination) tokens(ctx context.Context) map[string]bool {
	all := make(map[string]bool)
	clients, _ := control.Clients(ctx, x.cfg.Home, "") // see above
	for _, c := range clients {
		all[c.ID] = true
	}
	return all
}

func (x *examination) revoke(ctx context.Context, before map[string]bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	clients, _ := control.Clients(ctx, x.cfg.Home, "") // a server that stopped has no tokens
	for _, c := range clients {
		if c.Name == clientName && !before[c.ID] {
			_ = control.Revoke(ctx, x.cfg.Home, c.ID) // as above
		}
	}
}

package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/net/netutil"

	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/shutdown"
	"candela/internal/serve/console"
	"candela/internal/serve/hostdesk"
	"candela/internal/serve/httpd"
	"candela/internal/work/hosting"
)

// maxHostDesk limits the connections of the host's desk, hostDeskTime the time of a request, and of the bytes of an export.
const (
	maxHostDesk  = 64
	hostDeskTime = 2 * time.Minute
)

// hostDesk returns the part that serves the host's desk, none if it is off.
func (rt Runtime) hostDesk(people *hosting.Desk, limits *owners.Limits, health func() []console.Part) ([]lifecycle.Part, error) {
	cfg := rt.Config.Owners.Desk
	if !cfg.Listen.IsValid() || people == nil {
		return nil, nil
	}
	pass, err := oauth.NewOwner(cfg.Password.Reveal(), oauth.DefaultCost())
	if err != nil {
		return nil, fmt.Errorf("passphrase of the host's desk: %w", err)
	}
	desk, err := hostdesk.New(hostdesk.Config{
		Desk: people, BaseURL: cfg.URL(), Server: rt.Config.HTTP.BaseURL, Passphrase: pass, Address: httpd.ClientAddress(rt.Config.HTTP.TrustedProxies),
		Plans: limits.Plans.Table, Health: health, Log: rt.Log, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	return []lifecycle.Part{{Name: "host's desk", Run: func(ctx, hard context.Context, ready func()) error {
		return rt.serveDesk(ctx, hard, ready, cfg.Listen, desk)
	}}}, nil
}

func (rt Runtime) serveDesk(ctx, hard context.Context, ready func(), address netip.AddrPort, desk http.Handler) error {
	var listen net.ListenConfig
	ln, err := listen.Listen(ctx, "tcp", address.String())
	if err != nil {
		return notListening(address, "--host-desk", err)
	}
	rt.Log.InfoContext(ctx, "host's desk", "address", ln.Addr().String(), "url", rt.Config.Owners.Desk.URL()+hostdesk.Root+"/")
	server := &http.Server{
		Handler: desk, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: hostDeskTime, WriteTimeout: hostDeskTime, IdleTimeout: hostDeskTime, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return hard },
		ErrorLog:    slog.NewLogLogger(rt.Log.Handler(), slog.LevelWarn),
	}
	return shutdown.Serve(ctx, hard, server, netutil.LimitListener(ln, maxHostDesk), ready)
}

// hostHealth describes this program for the host, with what replicas and the sign-in add.
func (rt Runtime) hostHealth(side *trading, server *httpd.Server) func() []console.Part {
	seen := newHealth(side, server)
	return func() []console.Part {
		all := seen.Parts()
		if up := rt.node.signInUp; up != nil {
			one := console.Part{Name: "sign-in", Text: "the identity provider answers"}
			if !up() {
				one.Text, one.Bad = "the identity provider does not answer: nobody can sign in", true
			}
			all = append(all, one)
		}
		if c := rt.node.cluster; c != nil {
			now := c.Now()
			one := console.Part{Name: "replicas", Text: fmt.Sprintf("%d take part; this one follows %d instruments and is %d messages behind", now.Members, now.Owned, now.Lag), Bad: now.Late}
			if now.Late {
				one.Text += "; its clock and those of the servers differ"
			}
			nats := console.Part{Name: "NATS", Text: "connected", Bad: !c.Conn().Connected}
			if nats.Bad {
				nats.Text = "not connected"
			}
			all = append(all, one, nats)
		}
		return all
	}
}

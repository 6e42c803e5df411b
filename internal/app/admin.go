package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"candela/internal/access/metering"
	"candela/internal/access/oauth"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/shutdown"
	"candela/internal/serve/admin"
	"candela/internal/serve/httpd"
	"candela/internal/serve/mcp"
	"candela/internal/trading/order"
)

// maxAdmin limits the connections of the admin listener.
const maxAdmin = 32

// watched holds the sources of the admin listener.
type watched struct {
	listening atomic.Bool
	messages  *mcp.Server
	server    *httpd.Server
	trading   *trading        // nil without --trade
	logins    *oauth.Server   // nil where tokens come from elsewhere
	meter     *metering.Meter // nil for one owner
}

// admin returns the admin listener, if one is configured. It starts first, so that a start
// that hangs can be inspected.
func (rt Runtime) admin(w *watched) []lifecycle.Part {
	address := rt.Config.HTTP.AdminListen
	if !address.IsValid() {
		return nil
	}
	cfg := admin.Config{
		Version: rt.release(), Now: time.Now, LocalOnly: address.Addr().IsLoopback(),
		Listening: w.listening.Load, Messages: w.messages.Stats, HTTP: w.server.Stats, Cluster: rt.node.cluster, SignIn: rt.node.signInUp,
	}
	if w.trading != nil {
		cfg.Trading = w.trading.watched()
		cfg.Owners = w.trading.watchedOwners(w.meter)
	}
	if w.logins != nil {
		cfg.SignIns = w.logins.SignIns
	}
	handler := admin.Handler(cfg)
	return []lifecycle.Part{{Name: "admin", Run: func(ctx, hard context.Context, ready func()) error {
		var listen net.ListenConfig
		ln, err := listen.Listen(ctx, "tcp", address.String())
		if err != nil {
			return notListening(address, "--admin-listen", err)
		}
		rt.Log.InfoContext(ctx, "admin listener", "address", ln.Addr().String())
		server := &http.Server{
			Handler: handler, ReadTimeout: admin.ReadTimeout, WriteTimeout: admin.WriteTimeout, MaxHeaderBytes: 32 << 10,
			BaseContext: func(net.Listener) context.Context { return ctx }, // a profile does not delay a stop
			ErrorLog:    slog.NewLogLogger(rt.Log.Handler(), slog.LevelWarn),
		}
		return shutdown.Serve(ctx, hard, server, netutil.LimitListener(ln, maxAdmin), ready)
	}}}
}

// watchedOwners returns the owners for the admin listener, nil for one owner.
func (t *trading) watchedOwners(m *metering.Meter) func() admin.Owners {
	if t.limits == nil || m == nil {
		return nil
	}
	return func() admin.Owners {
		now := admin.Owners{Used: m.Used(), Refused: t.limits.Plans.Refusals()}
		if records := t.owners(); records != nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			now.Standings, _ = records.Standings(ctx) // a store that does not answer is seen elsewhere
		}
		return now
	}
}

// watched returns the trading side for the admin listener.
func (t *trading) watched() *admin.Trading {
	return &admin.Trading{
		Store: t.stats, Engine: t.engine.Status, Notifications: t.inbox.Stats,
		Desk: t.deskStatus,
		Orders: func() map[order.Status]int {
			if d := t.running(); d != nil {
				return d.OpenByStatus()
			}
			return nil
		},
		Sinks: t.sinkStatus,
	}
}

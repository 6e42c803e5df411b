// Package httpd serves MCP over HTTP. It checks requests (host, origin, media types,
// size, token), passes MCP bodies to the dispatcher and writes notifications to streams.
// It keeps no sessions. routes.go lists every route.
package httpd

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/access/door"
	"candela/internal/access/oauth"
	"candela/internal/kit/lograte"
	"candela/internal/kit/principal"
	"candela/internal/kit/shutdown"
	"candela/internal/serve/mcp"
)

// Authorizer verifies bearer tokens. An error of kind fault.Unauthorized means that the
// token is invalid; any other error means that it could not be checked. It must be safe
// for concurrent use.
type Authorizer interface {
	Authorize(ctx context.Context, token string) (principal.Caller, error)

	// Hold returns a context that ends with ctx, with release, or with the caller's token;
	// then its cause is principal.ErrTokenEnded.
	Hold(ctx context.Context, caller principal.Caller) (held context.Context, release func(), err error)
}

// Config configures a Server. A zero limit means its default.
type Config struct {
	BaseURL        string   // published in every address, without a trailing slash
	AllowedOrigins []string // besides the base URL and loopback, "https://host[:port]"
	Name, Version  string
	Tools          int
	Trading        bool
	Log            *slog.Logger
	Streams        Streams       // nil: streams carry keep-alives only
	OAuth          *oauth.Server // nil: tokens come from elsewhere
	// ReceiptKeys returns the public keys of receipts as a JWK set; nil: not found.
	ReceiptKeys func(ctx context.Context) ([]byte, error)
	Console     http.Handler // serves /console and everything under it; nil: not found

	MaxBody        int64         // bytes of a POST; 1 MiB
	MaxConnections int           // open at once; 1024
	ReadTimeout    time.Duration // of a whole request; 30 s
	WriteTimeout   time.Duration // of a response, and of each stream frame; 60 s
	KeepAlive      time.Duration // between comments on an idle stream; 15 s

	Limits         Limits
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is trusted

	// Reconnect is the approximate delay sent to clients whose streams end because the
	// server stops. It is short if other replicas answer at the same address. Zero sends
	// none.
	Reconnect time.Duration
}

func (c *Config) setDefaults() {
	if c.Streams == nil {
		c.Streams = silence{}
	}
	c.ReadTimeout = cmp.Or(c.ReadTimeout, 30*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 60*time.Second)
	c.KeepAlive = cmp.Or(c.KeepAlive, 15*time.Second)
	c.MaxBody = cmp.Or(c.MaxBody, 1<<20)
	c.MaxConnections = cmp.Or(c.MaxConnections, 1024)
	c.Limits.setDefaults(c.MaxConnections)
}

// Server is the HTTP front. It is safe for concurrent use.
type Server struct {
	mcp       *mcp.Server
	auth      Authorizer
	cfg       Config
	log       *slog.Logger
	strangers *slog.Logger // rate-limited, for messages that anyone can cause
	base      *url.URL
	landing   []byte  // the discovery document
	about     []route // documents for clients that do not know this server
	page      []byte  // for browsers at the root
	sessions  sessions
	rooms     sync.Pool // of *room

	noStore, jsonType []string // header values, shared and never modified
	pagePolicy        string   // content security policy of page
	consolePath       string   // "" without a console

	address     func(*http.Request) netip.Addr // whose limit a request without a token counts against
	connections *connections
	budgets     *budgets
	tallies     tallies

	idPrefix string // of request ids, random per process
	idCount  atomic.Uint64
}

// New returns a Server that serves m to callers that auth accepts.
func New(m *mcp.Server, auth Authorizer, cfg Config) (*Server, error) {
	cfg.setDefaults()
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("base URL %q is not an http or https address", cfg.BaseURL)
	}
	if auth == nil || cfg.Log == nil {
		return nil, errors.New("httpd needs an Authorizer and a logger")
	}
	var random [6]byte
	_, _ = rand.Read(random[:]) // documented never to fail
	s := &Server{
		mcp: m, auth: auth, cfg: cfg, log: cfg.Log, strangers: lograte.New(cfg.Log), base: base,
		sessions: sessions{tokens: map[string][]*session{}},
		noStore:  []string{"no-store"}, jsonType: []string{"application/json"},
		idPrefix: base64.RawURLEncoding.EncodeToString(random[:]) + "-",
	}
	s.address, s.budgets = ClientAddress(cfg.TrustedProxies), newBudgets(cfg.Limits)
	s.connections = newConnections(cfg.MaxConnections, cfg.Limits.Address, cfg.TrustedProxies)
	if s.about, err = s.documents(); err != nil {
		return nil, err
	}
	s.tallies.prepare(s.routes())
	if s.landing, err = s.describe(); err != nil {
		return nil, err
	}
	s.pagePolicy = door.ContentPolicy()
	if cfg.Console != nil {
		s.consolePath = consolePath + "/"
	}
	if s.page, err = s.rootPage("This is an MCP server", "Charts, indicators, alerts and trading for AI agents. Add this address in your client:"); err != nil {
		return nil, err
	}
	return s, nil
}

// Serve serves ln until ctx ends, then closes the streams, lets running requests finish
// until hard ends, and returns nil. It closes ln.
func (s *Server) Serve(ctx, hard context.Context, ln net.Listener) error {
	// Requests outlive ctx; streams and waiting calls must not, or they would delay a
	// stop.
	requests, abort := context.WithCancel(shutdown.With(hard, ctx))
	defer abort()
	server := &http.Server{
		Handler:           s.connections.follow(s.Handler()),
		ConnState:         s.connections.changed,
		ConnContext:       s.connections.withConnection,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       s.cfg.ReadTimeout,
		WriteTimeout:      s.cfg.WriteTimeout,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    32 << 10,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	return shutdown.Serve(ctx, hard, server, s.connections.listen(ln), func() {})
}

// requestID returns a new request id for the log and the response header.
func (s *Server) requestID() string {
	return string(strconv.AppendUint(append(make([]byte, 0, 24), s.idPrefix...), s.idCount.Add(1), 36))
}

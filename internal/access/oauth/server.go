package oauth

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/lograte"
	"candela/internal/kit/principal"
)

// Trading says what an approved client can do with orders, for the owner to read
// before approving.
type Trading uint8

// The kinds of trading.
const (
	NoTrading Trading = iota
	PaperTrading
	LiveTrading
)

// Config is how the server presents and protects itself.
type Config struct {
	BaseURL         string   // every published address starts with it; no trailing slash
	Name            string   // of the service, for people
	Trading         Trading  // what the consent page warns of
	AutoApprove     bool     // approve every client; refused unless the base URL is loopback
	RedirectSchemes []string // of apps, besides those that are known
	Limits          Limits   // the zero value stands for the defaults
	Log             *slog.Logger

	// Pass reports whether a passphrase is one that the owner's machine has given out
	// for one use. It is hard to guess and checked without a limit. Nil: none is.
	Pass func(passphrase string) bool

	// Address returns whom a request counts against. Nil: the peer.
	Address func(*http.Request) netip.Addr
}

// Server is the authorization server. It is safe for concurrent use.
type Server struct {
	store  Store
	leases *Leases
	owner  OwnerAuth
	cfg    Config
	log    *slog.Logger
	// limitedLog is for lines that anyone can cause; bounded.
	limitedLog *slog.Logger
	audit      *audit // shared by copies
	seal       sealer
	limits     *limiter
	origin     *http.CrossOriginProtection
	page       *template.Template
	csp        string
	secure     bool // cookies travel over https only
}

// New returns a Server that keeps codes and tokens in store and lets owner's
// owners approve clients.
func New(store Store, owner OwnerAuth, cfg Config) (*Server, error) {
	base, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil || base.Host == "" || base.Path != "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("base URL %q is not scheme://host", cfg.BaseURL)
	case cfg.AutoApprove && !loopback(base.Hostname()):
		return nil, fmt.Errorf("automatic approval is for loopback only, and the base URL is %s", cfg.BaseURL)
	case store == nil || owner == nil || cfg.Log == nil:
		return nil, errors.New("oauth needs a store, an owner and a logger")
	}
	if cfg.Address == nil {
		cfg.Address = peerAddress
	}
	s := &Server{
		store: store, leases: NewLeases(store), owner: owner, cfg: cfg, log: cfg.Log, limitedLog: lograte.New(cfg.Log), audit: &audit{},
		seal: sealer{store.Seal}, limits: newLimiter(cfg.Limits), secure: base.Scheme == "https",
		origin: http.NewCrossOriginProtection(),
	}
	// A proxy may pass another Host on than the one the browser asked for.
	if err := s.origin.AddTrustedOrigin(cfg.BaseURL); err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	if s.page, s.csp, err = parsePage(); err != nil {
		return nil, err
	}
	return s, nil
}

// pinned returns the server with the present key for good. A request is answered by
// one: what it brings and what it gets are then of one era. Would the key change in
// between, an approval of the era that has ended could be sealed with the new key.
func (s *Server) pinned() *Server {
	p := *s
	p.seal = s.seal.pinned()
	return &p
}

func peerAddress(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap()
}

// Authorize returns the caller that a bearer token stands for, an error of kind
// fault.Unauthorized when it stands for none. It runs with every request, so it
// neither logs nor allocates.
func (s *Server) Authorize(ctx context.Context, token string) (principal.Caller, error) {
	t, err := s.store.Token(ctx, HashOf(token), time.Now())
	if err == nil && t.Grant.Login {
		err = ErrNotFound // it approves clients, and is none
	}
	if err != nil {
		return principal.Caller{}, unauthorized(err)
	}
	return principal.Caller{
		Subject: t.Grant.Subject, Key: t.Key, Expires: t.Expires,
		Client: t.Grant.ClientName, ClientKey: t.Grant.ClientKey,
	}, nil
}

// Hold returns a context for what a caller does, which ends with the caller's token:
// see Leases.
func (s *Server) Hold(ctx context.Context, caller principal.Caller) (held context.Context, release func(), err error) {
	return s.leases.Hold(ctx, caller.Key)
}

// unauthorized is the error of a token that was not found.
func unauthorized(err error) error {
	if errors.Is(err, ErrNotFound) {
		return &fault.Error{Kind: fault.Unauthorized, Code: "invalid_token", Message: "the token is unknown or expired"}
	}
	return fmt.Errorf("look a token up: %w", err)
}

// OnRevoke has ended called, from now on, whenever tokens have ended before their time:
// with the keys that stand for them, or with none when all have that were given before.
func (s *Server) OnRevoke(ended func(keys ...string)) {
	s.store.OnRevoke(func(tokens ...Hash) {
		keys := make([]string, len(tokens))
		for i, token := range tokens {
			keys[i] = token.Hex()
		}
		ended(keys...)
	})
}

// Tokens lists the live tokens of an owner, newest first.
func (s *Server) Tokens(ctx context.Context, subject string) ([]Token, error) {
	return s.store.Tokens(ctx, subject, time.Now())
}

// Revoke ends an owner's token by its id. It returns ErrNotFound for an id that
// no live token has.
func (s *Server) Revoke(ctx context.Context, subject, id string) error {
	if err := s.store.Revoke(ctx, subject, id); err != nil {
		return err
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "[OAuth] token revoked", slog.String("token_id", id), slog.String("subject", subject))
	s.audit.note(ctx, Event{Kind: "token_revoked", Subject: subject, About: id})
	return nil
}

// RevokeAll ends all that was let in: tokens, codes, registrations, forms and browsers'
// logins. It returns how many tokens that were.
func (s *Server) RevokeAll(ctx context.Context) (int, error) {
	ended, err := s.store.RevokeAll(ctx, time.Now())
	if err != nil {
		return 0, err
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "[OAuth] all logins ended", slog.Int("tokens", ended))
	s.audit.note(ctx, Event{Kind: "logins_ended", Subject: SoleOwner})
	return ended, nil
}

// ours reports whether a resource (RFC 8707) is this server: its base address or
// one of the MCP paths, with or without a final slash.
func (s *Server) ours(resource string) bool {
	path, ok := strings.CutPrefix(resource, s.cfg.BaseURL)
	if !ok {
		return false
	}
	switch strings.TrimSuffix(path, "/") {
	case "", "/mcp", "/sse", "/message":
		return true
	}
	return false
}

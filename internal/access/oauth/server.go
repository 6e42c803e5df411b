// Package oauth is candela's authorization server: OAuth 2.1 with PKCE (S256 only),
// dynamic registration, one grant and opaque bearer tokens. Anyone may register a
// client; only the owner can approve one, on the consent page.
//
// A registration is sealed into the client id and a pending request into the consent
// form, so a flood of either uses no memory. The seal key ends with the process, with
// the servers that replicas share it through, or when the owner revokes all logins; each
// key starts a login generation. A store may keep the key of client ids for longer. A
// [Store] keeps only SHA-256 hashes of codes and tokens.
//
// The package starts no goroutines. httpd mounts its handlers and checks bearer tokens
// with it.
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
	"sync/atomic"
	"time"

	"candela/internal/access/door"
	"candela/internal/kit/lograte"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// Trading is the kind of trading that clients can be granted; the consent page shows it.
type Trading uint8

// The kinds of trading.
const (
	NoTrading Trading = iota
	PaperTrading
	LiveTrading
)

// Config configures a Server.
type Config struct {
	BaseURL         string        // prefix of every published address, without a trailing slash
	Name            string        // of the service, shown to people
	Trading         Trading       // shown on the consent page
	Account         string        // with real money, of LiveTrading; an approval is for one
	InForce         func() string // the limits of orders in force, in one line; shown beside the scope trade; nil for none
	ClientsPage     string        // path of the page that lists approved clients, "" for none
	AutoApprove     bool          // approve every client; needs a loopback base URL
	RedirectSchemes []string      // app schemes besides the known ones
	Documents       Documents     // nil: client ids that are URLs are refused
	Limits          Limits        // zero fields mean defaults
	Log             *slog.Logger

	// Pass redeems a one-time passphrase issued on the owner's machine. It cannot be
	// guessed, so it is checked without a rate limit. Nil: there is none.
	Pass func(passphrase string) bool

	// SignIn sends owners to an identity provider. Nil: there is one owner, with a passphrase.
	SignIn *SignIn

	// Address returns the address whose rate limit a request counts against; nil: the peer.
	Address func(*http.Request) netip.Addr
}

// Server is the authorization server. It is safe for concurrent use.
type Server struct {
	store  Store
	leases *Leases
	owner  OwnerAuth
	cfg    Config
	log    *slog.Logger
	// limitedLog is rate-limited, for messages that anyone can cause.
	limitedLog *slog.Logger
	audit      *audit // shared by copies
	seal       sealer
	clients    sealer // of client ids
	limits     *limiter
	origin     *http.CrossOriginProtection
	signOuts   *signOuts
	signIns    *signIns // shared by copies
	page       *template.Template
	csp        string
	secure     bool // cookies are sent over https only
}

// New returns a Server. owner authenticates the owners who approve clients.
func New(store Store, owner OwnerAuth, cfg Config) (*Server, error) {
	base, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil || base.Host == "" || base.Path != "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("base URL %q: want scheme://host", cfg.BaseURL)
	case cfg.AutoApprove && !loopback(base.Hostname()):
		return nil, fmt.Errorf("automatic approval needs a loopback base URL, not %s", cfg.BaseURL)
	case cfg.AutoApprove && cfg.SignIn != nil, cfg.Trading == LiveTrading && cfg.SignIn != nil:
		return nil, errors.New("with many owners there is neither automatic approval nor an account with real money")
	case store == nil || owner == nil && cfg.SignIn == nil || cfg.Log == nil:
		return nil, errors.New("oauth needs a store, an owner and a logger")
	}
	if cfg.Address == nil {
		cfg.Address = peerAddress
	}
	s := &Server{
		store: store, leases: NewLeases(store), owner: owner, cfg: cfg, log: cfg.Log, limitedLog: lograte.New(cfg.Log), audit: &audit{},
		seal: sealer{store.Seal}, clients: sealer{store.ClientKey}, limits: newLimiter(cfg.Limits, store), signOuts: newSignOuts(), signIns: &signIns{}, secure: base.Scheme == "https",
		origin: http.NewCrossOriginProtection(),
	}
	// A proxy may change the Host header.
	if err := s.origin.AddTrustedOrigin(cfg.BaseURL); err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	if s.page, err = parsePage(); err != nil {
		return nil, err
	}
	s.csp = door.ContentPolicy()
	return s, nil
}

// pinned returns a copy of the server with the current keys. A request uses one
// generation throughout: otherwise an approval of a revoked generation could be sealed
// with the new key.
func (s *Server) pinned() *Server {
	p := *s
	p.seal, p.clients = s.seal.pinned(), s.clients.pinned()
	return &p
}

func peerAddress(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap()
}

// Authorize returns the caller of a bearer token, or an error of kind
// fault.Unauthorized. It runs for every request, so it neither logs nor allocates.
func (s *Server) Authorize(ctx context.Context, token string) (principal.Caller, error) {
	t, err := s.store.Token(ctx, HashOf(token), time.Now())
	if err == nil && t.Grant.Login {
		err = ErrNotFound // a browser session is not a client
	}
	if err != nil {
		return principal.Caller{}, unauthorized(err)
	}
	return principal.Caller{
		Subject: t.Grant.Subject, Key: t.Key, Expires: t.Expires,
		Client: t.Grant.ClientName, ClientKey: t.Grant.ClientKey, Scope: s.access(t.Grant),
	}, nil
}

// Hold returns a context that ends with the caller's token: see Leases.
func (s *Server) Hold(ctx context.Context, caller principal.Caller) (held context.Context, release func(), err error) {
	return s.leases.Hold(ctx, caller.Key)
}

func unauthorized(err error) error {
	if errors.Is(err, ErrNotFound) {
		return &fault.Error{Kind: fault.Unauthorized, Code: "invalid_token", Message: "the token is unknown or expired"}
	}
	return fmt.Errorf("look up a token: %w", err)
}

// OnRevoke registers a function that is called when tokens end before they expire: with
// their keys, or without any when all earlier tokens ended.
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
func (s *Server) Tokens(ctx context.Context, subject principal.Owner) ([]Token, error) {
	tokens, err := s.store.Tokens(ctx, subject, time.Now())
	return s.withAccess(tokens), err
}

// AllTokens lists the live tokens of all owners, newest first. It reads all of them, so it is for an operator's
// commands.
func (s *Server) AllTokens(ctx context.Context) ([]Token, error) {
	tokens, err := s.find(ctx, "", func(Token) bool { return true }, time.Now())
	return s.withAccess(newestFirst(tokens)), err
}

// withAccess puts what each token may do now in the place of what was granted.
func (s *Server) withAccess(tokens []Token) []Token {
	for i := range tokens {
		if g := &tokens[i].Grant; !g.Login {
			g.Scope = s.access(*g).String()
		}
	}
	return tokens
}

// RevokeAny revokes the live token with an id, whosever it is, or returns ErrNotFound.
func (s *Server) RevokeAny(ctx context.Context, id string) error {
	found, err := s.find(ctx, "", func(t Token) bool { return t.ID == id }, time.Now())
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return ErrNotFound
	}
	return s.Revoke(ctx, found[0].Grant.Subject, id)
}

// Revoke revokes an owner's live token by its id, or returns ErrNotFound.
func (s *Server) Revoke(ctx context.Context, subject principal.Owner, id string) error {
	if err := s.store.Revoke(ctx, subject, id); err != nil {
		return err
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "[OAuth] token revoked", slog.String("token_id", id), slog.String("subject", string(subject)))
	_ = s.audit.note(ctx, Event{Kind: "token_revoked", Subject: subject, About: id})
	return nil
}

// RevokeAll ends everything issued so far and returns the number of client tokens ended.
func (s *Server) RevokeAll(ctx context.Context) (int, error) {
	ended, err := s.store.RevokeAll(ctx, time.Now())
	if err != nil {
		return 0, err
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "[OAuth] all logins revoked", slog.Int("tokens", ended))
	_ = s.audit.note(ctx, Event{Kind: "logins_ended", Subject: SoleOwner})
	return ended, nil
}

// ours reports whether a resource (RFC 8707) is our base URL or one of the MCP paths.
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

// Event is a change of access: a login, an approval, a token or a revocation.
type Event struct {
	Kind    string          // owner_logged_in, client_approved, token_issued, token_revoked, scope_changed or logins_ended
	Subject principal.Owner // the owner
	About   string          // the id of the client or token
	Client  string          // the client's own name, unverified
	Key     string          // identifies the token, "" for none
	Address string          // of the request, "" for this machine
	Target  string          // where the access of an issued token went, else ""

	Scope string        // of an approval or a token, else ""
	TTL   time.Duration // the same, else 0
}

// audit forwards events to the audit log.
type audit struct {
	keep atomic.Pointer[func(context.Context, Event) error]
}

func (a *audit) note(ctx context.Context, e Event) error {
	if keep := a.keep.Load(); keep != nil {
		// The event is recorded even if the client has disconnected.
		return (*keep)(context.WithoutCancel(ctx), e)
	}
	return nil
}

// OnEvent adds a function that records events. It must not be called concurrently. Where it returns an error for an approval or a
// token, that is taken back: nobody is let in of whom the audit log knows nothing.
func (s *Server) OnEvent(keep func(context.Context, Event) error) {
	if before := s.audit.keep.Load(); before != nil {
		also := keep
		keep = func(ctx context.Context, e Event) error {
			return errors.Join((*before)(ctx, e), also(ctx, e))
		}
	}
	s.audit.keep.Store(&keep)
}

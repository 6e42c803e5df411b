package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"candela/internal/access/cimd"
	"candela/internal/kit/principal"
)

const maxState = 2 << 10

// destination is where the browser delivers the authorization response.
type destination struct {
	redirect string
	state    string
}

// request is a valid authorization request, sealed into the consent form to use no memory.
type request struct {
	Client    string          `json:"c"` // fingerprint of the client id
	Name      string          `json:"n,omitempty"`
	Document  string          `json:"d,omitempty"` // the client id, if it is a URL
	Digest    string          `json:"g,omitempty"` // of the document
	Local     bool            `json:"l,omitempty"` // the document has loopback redirects only
	Renewed   bool            `json:"w,omitempty"` // the registration is of an earlier run
	Approver  principal.Owner `json:"a,omitempty"` // the owner who entered the passphrase for this request
	Person    principal.Owner `json:"o,omitempty"` // the owner whom the page names, after a sign-in at the identity provider
	Flow      string          `json:"f,omitempty"` // of that sign-in
	Prompt    string          `json:"u,omitempty"` // what the provider was asked to ask in it
	Most      string          `json:"m,omitempty"` // the highest scope that can be granted; "" for trade
	Key       string          `json:"k"`
	Redirect  string          `json:"r"`
	State     []byte          `json:"s,omitempty"`
	Challenge []byte          `json:"p"`
	Browser   string          `json:"b"` // fingerprint of the browser cookie that the form requires
	Nonce     string          `json:"x"` // unique per form
	Expires   int64           `json:"e"` // unix seconds
}

func (q request) destination() destination { return destination{q.Redirect, string(q.State)} }

// ServeAuthorize answers GET /authorize with the consent page. The order of the checks is
// part of the contract: nothing is sent to an address before it is known to belong to
// the client.
func (s *Server) ServeAuthorize(w http.ResponseWriter, r *http.Request) {
	s = s.pinned()
	if s.cfg.SignIn != nil {
		s.authorizeSignedIn(w, r)
		return
	}
	if s.needsLogin(r) {
		s.askLogin(w, r)
		return
	}
	s.authorize(w, r, r.URL.RawQuery, "")
}

// authorize shows the consent page of a request. approver is the owner who has entered the
// passphrase for it, or "".
func (s *Server) authorize(w http.ResponseWriter, r *http.Request, query string, approver principal.Owner) {
	q, e := s.readRequest(r, query)
	if e != nil {
		s.writeErrorPage(w, r, e)
		return
	}
	q.Approver = approver
	s.limitedLog.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] authorization requested",
		slog.String("client", q.Client), slog.String("client_name", q.Name), slog.String("redirect", shownRedirect(q.Redirect)))
	if s.cfg.AutoApprove {
		s.approveUnasked(w, r, q)
		return
	}
	q.Browser, q.Nonce, q.Expires = s.browserCookie(w, r), randomText(16), time.Now().Add(FormTTL).Unix()
	s.writePage(w, http.StatusOK, s.consentPage(r, q, s.preselected(q)))
}

func (s *Server) readRequest(r *http.Request, query string) (request, *Error) {
	p, e := parseForm(query)
	if e != nil {
		return request{}, e
	}
	if len(p.get("state")) > maxState {
		return request{}, invalidRequest("state is longer than 2 KiB")
	}
	c, e := s.clientOf(r, p)
	if e != nil {
		return request{}, e
	}
	redirect, e := chooseRedirect(c, p.get("redirect_uri"))
	if e != nil {
		if c.renewed {
			e.remedy = remedy(c.Name) // it changed its address since it registered
		}
		return request{}, e
	}
	challenge, e := s.checkRequest(p)
	if e != nil {
		// Anyone may register any address: without a login this would be an open redirect.
		// RFC 6749 4.1.2.1: nothing goes to the address of an unknown client by itself.
		if s.loggedIn(r) != "" && !c.renewed {
			e.back = &destination{redirect, p.get("state")}
		}
		return request{}, e
	}
	q := request{
		Client: c.fingerprint(), Name: c.Name, Key: c.key(), Renewed: c.renewed,
		Redirect: redirect, State: []byte(p.get("state")), Challenge: challenge,
		Most: askedScope(p.get("scope")).String(),
	}
	if c.digest != "" {
		q.Document, q.Digest = c.id, c.digest
		q.Local = !slices.ContainsFunc(c.Redirects, func(uri string) bool { _, ok := withoutLoopbackPort(uri); return !ok })
	}
	return q, nil
}

// clientOf returns the client that an authorization request names.
func (s *Server) clientOf(r *http.Request, p params) (client, *Error) {
	id := p.get("client_id")
	if cimd.IsID(id) {
		return s.documentClient(r, id)
	}
	if c, ok := s.findClient(id); ok {
		return c, nil
	}
	// Clients keep their id, and do not learn what their browser shows. So the owner decides
	// on what the id says. The error is not invalid_client: a client that asks before it
	// opens the browser would drop the id then.
	if c, ok := claimedClient(id, s.cfg.RedirectSchemes); ok && !s.cfg.AutoApprove {
		if !wantsHTML(r) {
			return client{}, invalidRequest("client_id is not registered; open this address in a browser for the owner's approval, or register again")
		}
		return c, nil
	}
	e := invalidClient(http.StatusBadRequest, unknownClient)
	e.heal, e.remedy = s.healLink(p), remedy(claimedName(id))
	return client{}, e
}

// chooseRedirect returns the redirect URI, never an invalid one. RFC 6749 3.1.2.4.
func chooseRedirect(c client, asked string) (string, *Error) {
	switch {
	case asked == "" && len(c.Redirects) == 1:
		return c.Redirects[0], nil
	case asked == "":
		return "", invalidRequest("redirect_uri is missing, and the client registered several")
	case !matchRedirect(c.Redirects, asked):
		return "", invalidRequest("redirect_uri is not one the client registered")
	}
	return asked, nil
}

// checkRequest returns the challenge. Its errors are reported to the client.
func (s *Server) checkRequest(p params) ([]byte, *Error) {
	switch p.get("response_type") {
	case "code":
	case "":
		return nil, invalidRequest("response_type is missing; it must be code")
	default:
		return nil, refuse(http.StatusBadRequest, "unsupported_response_type", "response_type must be code")
	}
	// The default of RFC 7636 is plain, which protects nothing.
	if p.get("code_challenge_method") != "S256" {
		return nil, invalidRequest("code_challenge_method must be S256")
	}
	challenge, err := base64.RawURLEncoding.Strict().DecodeString(p.get("code_challenge"))
	if err != nil || len(challenge) != sha256.Size {
		return nil, invalidRequest("code_challenge must be 32 bytes in base64url without padding")
	}
	return challenge, s.checkResources(p)
}

// checkResources checks the parameters resource, of which all must name this server.
func (s *Server) checkResources(p params) *Error {
	if slices.ContainsFunc(p.resources, func(resource string) bool { return !s.ours(resource) }) {
		return refuse(http.StatusBadRequest, "invalid_target", "resource is not an address of this server")
	}
	return nil
}

// healLink returns a link that makes a client of an earlier run register again, or "".
// Its code was never issued, so the token endpoint answers invalid_client. Only loopback
// addresses get such a link: any other could belong to an attacker.
func (s *Server) healLink(p params) string {
	redirect := p.get("redirect_uri")
	if _, ok := withoutLoopbackPort(redirect); !ok {
		return ""
	}
	return s.answerURL(destination{redirect, p.get("state")}, "code", "register-again")
}

// answerURL returns the URL of a response. It names the issuer, RFC 9207, so that a
// client with several servers cannot confuse them.
func (s *Server) answerURL(to destination, pairs ...string) string {
	values := url.Values{"iss": {s.cfg.BaseURL}}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	if to.state != "" {
		values.Set("state", to.state)
	}
	separator := "?"
	if strings.Contains(to.redirect, "?") {
		separator = "&"
	}
	// Every client decodes %20; some do not decode "+".
	return to.redirect + separator + strings.ReplaceAll(values.Encode(), "+", "%20")
}

// sendBack redirects the browser to the client: 303, as 307 would forward the passphrase.
func (s *Server) sendBack(w http.ResponseWriter, to destination, pairs ...string) {
	h := w.Header()
	h.Set("Location", s.answerURL(to, pairs...))
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}

// approveUnasked approves a request of a program on this machine without the owner. It
// refuses websites, both as the client and as the origin of the navigation.
func (s *Server) approveUnasked(w http.ResponseWriter, r *http.Request, q request) {
	u, err := url.Parse(q.Redirect)
	if err != nil || u.Scheme != "http" || !loopback(u.Hostname()) || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		s.writeErrorPage(w, r, refuse(http.StatusForbidden, "access_denied",
			"automatic approval is for programs on this machine: redirect_uri must be http on localhost, and no website may start the request"))
		return
	}
	q.Nonce = randomText(16)
	s.approve(w, r, q, SoleOwner, s.all(q))
}

// approve issues a code for a request that subject agreed to.
func (s *Server) approve(w http.ResponseWriter, r *http.Request, q request, subject principal.Owner, c choice) {
	code, err := s.issueCode(r, q, subject, c)
	if errors.Is(err, ErrReplayed) {
		// A double click sends the form twice, and the browser follows the second response.
		_, err = s.store.Code(r.Context(), HashOf(code), time.Now())
	}
	if errors.Is(err, ErrRevoked) || errors.Is(err, ErrReplayed) || errors.Is(err, ErrNotFound) {
		s.writeErrorPage(w, r, staleForm())
		return
	}
	if errors.Is(err, ErrFull) {
		s.writeErrorPage(w, r, full())
		return
	}
	if err != nil {
		s.log.LogAttrs(r.Context(), levelOf(r.Context()), "[OAuth] code not stored", slog.Any("error", err))
		s.writeError(w, r, serverError())
		return
	}
	if err := s.audit.note(r.Context(), Event{
		Kind: "client_approved", Subject: subject, About: q.Client, Client: q.Name, Address: s.cfg.Address(r).String(),
		Scope: c.scope.String(), TTL: c.ttl,
	}); err != nil {
		_ = s.store.DropCode(context.WithoutCancel(r.Context()), HashOf(code)) // no client has it
		s.writeError(w, r, serverError())
		return
	}
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] client approved",
		slog.String("client", q.Client), slog.String("client_name", q.Name), slog.String("subject", string(subject)),
		slog.String("scope", c.scope.String()), slog.Duration("ttl", c.ttl),
		slog.Bool("automatic", s.cfg.AutoApprove), slog.String("redirect", shownRedirect(q.Redirect)))
	s.sendBack(w, q.destination(), "code", code)
}

const codePurpose = "code"

func (s *Server) issueCode(r *http.Request, q request, subject principal.Owner, c choice) (string, error) {
	grant := Grant{Subject: subject, ClientName: q.grantName(), ClientKey: q.Key, Scope: c.scope.String(), TTL: c.ttl, Account: s.liveAccount(), Target: target(q.Redirect)}
	if s.cfg.SignIn != nil {
		login := s.login(r).Grant
		grant.Session, grant.Sub = login.Session, login.Sub
	}
	// One form yields one code, however often it is sent.
	code, now := s.seal.derive(codePurpose, q.Nonce), time.Now()
	return code, s.store.PutCode(r.Context(), Code{
		Hash: HashOf(code), Client: q.Client, Redirect: q.Redirect, Challenge: [sha256.Size]byte(q.Challenge),
		Grant:      grant,
		Generation: s.seal.key().Generation(),
		Expires:    now.Add(CodeTTL),
	}, now)
}

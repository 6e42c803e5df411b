package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"candela/internal/access/cimd"
	"candela/internal/access/upstream"
	"candela/internal/kit/bucket"
	"candela/internal/kit/principal"
)

// SignIn sends owners to an identity provider, which says who sits in front of the browser. It
// says nothing else: every client is still approved on the consent page.
type SignIn struct {
	Provider   IdentityProvider
	Allow      upstream.Allow // who may sign in
	Owners     Owners         // nil: nobody is recorded or suspended
	Contact    string         // for people who are refused
	KeepTokens bool           // a logout at the provider ends logins of browsers only
}

// IdentityProvider is an upstream.Provider.
type IdentityProvider interface {
	URL(ctx context.Context, flow upstream.Flow, prompt string) (string, error)
	Exchange(ctx context.Context, answer upstream.Answer, flow upstream.Flow) (upstream.Identity, error)
	Logout(ctx context.Context, token string) (upstream.Ended, error)
}

// Owners knows the owners of this installation.
type Owners interface {
	// SignedIn records that a person signed in whose own id is owner. It returns the owner that
	// the person acts as: another where the operator has linked them. It returns ErrSuspended
	// or ErrErased for one who may not.
	SignedIn(ctx context.Context, owner principal.Owner, who upstream.Identity) (principal.Owner, error)
	// Active returns ErrSuspended or ErrErased for an owner who is that.
	Active(ctx context.Context, owner principal.Owner) error
}

// SignsIn reports whether owners sign in at an identity provider.
func (s *Server) SignsIn() bool { return s.cfg.SignIn != nil }

// Errors of Owners that are not failures.
var (
	// ErrSuspended means that the operator has suspended an owner.
	ErrSuspended = errors.New("the owner is suspended")
	// ErrErased means that the operator has erased an owner, for good.
	ErrErased = errors.New("the owner is erased")
)

// unavailableWait is the Retry-After while the identity provider does not answer.
const unavailableWait = 10 * time.Second

// authorizeSignedIn is ServeAuthorize for owners who sign in at an identity provider. The
// request is checked before anything goes there. A client with a document is the exception:
// strangers must not make this server fetch it.
func (s *Server) authorizeSignedIn(w http.ResponseWriter, r *http.Request) {
	if s.needsLogin(r) {
		id := r.URL.Query().Get("client_id")
		if err := cimd.Check(id); err != nil {
			s.writeErrorPage(w, r, invalidClient(http.StatusBadRequest, err.Error()))
			return
		}
		s.startSignIn(w, r, flow{Query: r.URL.RawQuery})
		return
	}
	s.authorizeQuery(w, r, r.URL.RawQuery, "")
}

// authorizeQuery checks a request and shows the consent page, after a sign-in if there was
// none. id is that of the sign-in, or "".
func (s *Server) authorizeQuery(w http.ResponseWriter, r *http.Request, query, id string) {
	q, e := s.readRequest(r, query)
	if e != nil {
		s.writeErrorPage(w, r, e)
		return
	}
	s.limitedLog.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] authorization requested",
		slog.String("client", q.Client), slog.String("client_name", q.Name), slog.String("redirect", shownRedirect(q.Redirect)))
	q.Flow = id
	s.askPerson(w, r, q)
}

// askPerson shows the consent page to the person who is signed in, or signs somebody in.
func (s *Server) askPerson(w http.ResponseWriter, r *http.Request, q request) {
	login := s.login(r)
	if login.Grant.Subject == "" {
		s.startSignIn(w, r, flow{Request: &q})
		return
	}
	if e := s.active(r.Context(), login.Grant.Subject); e != nil {
		s.writeErrorPage(w, r, e)
		return
	}
	q.Person, q.Approver = login.Grant.Subject, ""
	q.Browser, q.Nonce, q.Expires = s.browserCookie(w, r), randomText(16), time.Now().Add(FormTTL).Unix()
	page := s.consentPage(r, q, s.preselected(q))
	page.Person = login.Grant.Person
	s.writePage(w, http.StatusOK, page)
}

// confirmPerson reports whether a form was sent by the person that its page named. Otherwise
// it answers: the person signs in again, and sees the page again.
func (s *Server) confirmPerson(w http.ResponseWriter, r *http.Request, q *request) bool {
	login := s.login(r)
	if login.Grant.Subject == "" || login.Grant.Subject != q.Person {
		s.limitedLog.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] consent of another login refused", slog.String("client", q.Client))
		s.askPerson(w, r, *q)
		return false
	}
	e := s.current()
	if e == nil {
		e = s.active(r.Context(), q.Person)
	}
	if e != nil {
		s.writeErrorPage(w, r, e)
		return false
	}
	q.Approver = q.Person
	s.dropFlow(w, q.Flow)
	return true
}

// current returns an error at a replica whose identity provider is not the one of the others.
func (s *Server) current() *Error {
	if s.owner == nil {
		return nil
	}
	if !errors.Is(s.owner.Current(), ErrReplaced) {
		return nil
	}
	e := refuse(http.StatusServiceUnavailable, "temporarily_unavailable", "this replica was started with another identity provider than the others")
	e.RetryAfter = replacedWait
	return e
}

// active returns an error for an owner who is suspended or erased.
func (s *Server) active(ctx context.Context, owner principal.Owner) *Error {
	if s.cfg.SignIn.Owners == nil {
		return nil
	}
	return s.ownerError(ctx, s.cfg.SignIn.Owners.Active(ctx, owner))
}

func (s *Server) ownerError(ctx context.Context, err error) *Error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrSuspended):
		return suspended()
	case errors.Is(err, ErrErased):
		return erased()
	}
	s.log.LogAttrs(ctx, levelOf(ctx), "[OAuth] owner not read", slog.Any("error", err))
	return serverError()
}

// checkOwner refuses the code of an owner who was suspended, erased or signed out since the
// approval.
func (s *Server) checkOwner(r *http.Request, code Code) *Error {
	if s.signOuts.endedSince(code.Grant, code.Expires.Add(-CodeTTL)) {
		return invalidGrant("the owner signed out after the approval")
	}
	if e := s.active(r.Context(), code.Grant.Subject); e != nil {
		if e.Code == "access_denied" {
			return invalidGrant(e.Description)
		}
		return e
	}
	return nil
}

// startSignIn keeps a request in the browser and sends the browser to the provider.
func (s *Server) startSignIn(w http.ResponseWriter, r *http.Request, f flow) {
	if e := s.current(); e != nil {
		s.writeErrorPage(w, r, e)
		return
	}
	id := randomText(flowBytes)
	f.Browser, f.Expires = s.browserCookie(w, r), time.Now().Add(FormTTL).Unix()
	sealed, ok := s.sealFlow(id, f)
	if !ok {
		s.writeErrorPage(w, r, invalidRequest("state and redirect_uri are too long to be kept while you sign in"))
		return
	}
	to, err := s.cfg.SignIn.Provider.URL(r.Context(), s.flowOf(id), f.Prompt)
	if err != nil {
		s.writeErrorPage(w, r, s.signInError(r, err))
		return
	}
	s.makeRoom(w, r)
	http.SetCookie(w, s.cookie(flowCookie+id, "/", sealed, FormTTL))
	s.redirect(w, to)
}

// redirect sends the browser on, and keeps the address out of caches and Referer headers.
func (s *Server) redirect(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}

// ServeSignedIn answers GET /signin/callback: a browser that comes back from the identity
// provider. It logs the person in and goes on to the consent page, so that the provider's
// code does not stay in the address bar.
func (s *Server) ServeSignedIn(w http.ResponseWriter, r *http.Request) {
	s = s.pinned()
	if wait := s.limits.signIn.Take(bucket.Network(s.cfg.Address(r)), time.Now()); wait > 0 {
		s.writeErrorPage(w, r, slowDown(wait))
		return
	}
	p, e := parseForm(r.URL.RawQuery)
	if e != nil {
		s.writeErrorPage(w, r, e)
		return
	}
	id := p.get("state")
	f, ok := s.openFlow(r, id)
	if !ok {
		s.writeErrorPage(w, r, startAgain("the sign-in has expired or was started in another browser"))
		return
	}
	who, err := s.cfg.SignIn.Provider.Exchange(r.Context(), upstream.Answer{Code: p.get("code"), Issuer: p.get("iss"), Error: p.get("error")}, s.flowOf(id))
	denied, answered := errors.AsType[*upstream.AnswerError](err)
	switch {
	case err == nil:
		e = s.logInPerson(w, r, who)
		s.signIns.count(e)
	case answered && denied.Code == "invalid_request" && f.Prompt == upstream.PromptAccount:
		s.dropFlow(w, id)
		f.Prompt = upstream.PromptLogin // it does not know the other
		s.startSignIn(w, r, f)
		return
	default:
		e = s.signInError(r, err)
		s.signIns.failed.Add(1)
		if answered && f.Request != nil && !f.Request.Renewed && e.Status == http.StatusForbidden {
			e.back = new(f.Request.destination())
		}
	}
	if e != nil {
		s.dropFlow(w, id)
		s.writeErrorPage(w, r, e)
		return
	}
	s.redirect(w, s.cfg.BaseURL+"/signin/consent?flow="+url.QueryEscape(id))
}

// logInPerson logs in a person who may sign in.
func (s *Server) logInPerson(w http.ResponseWriter, r *http.Request, who upstream.Identity) *Error {
	if e := s.current(); e != nil {
		return e
	}
	owner := upstream.OwnerID(who.Issuer, who.Subject)
	address := slog.String("address", s.cfg.Address(r).String())
	rule, ok := s.cfg.SignIn.Allow.Fits(who)
	if !ok {
		s.limitedLog.LogAttrs(r.Context(), slog.LevelWarn, "[OAuth] sign-in refused", slog.String("reason", "no rule of oidc_allow fits"),
			slog.String("subject", string(owner)), slog.Bool("email_verified", who.Verified), address)
		s.signIns.refused.Add(1)
		return notAllowed()
	}
	if s.cfg.SignIn.Owners != nil {
		linked, err := s.cfg.SignIn.Owners.SignedIn(r.Context(), owner, who)
		if e := s.ownerError(r.Context(), err); e != nil {
			s.signIns.ended(err)
			s.limitedLog.LogAttrs(r.Context(), slog.LevelWarn, "[OAuth] sign-in refused", slog.String("reason", e.Description), slog.String("subject", string(owner)), address)
			return e
		}
		owner = linked
	}
	if e := s.endLogin(r); e != nil { // of the person who used this browser before
		return e
	}
	grant := Grant{Subject: owner, Sub: upstreamKey(subKey, who.Sub), Person: personName(owner, who)}
	if who.Session != "" {
		grant.Session = upstreamKey(sessionKey, who.Session)
	}
	if e := s.logInAs(w, r, grant); e != nil {
		return e
	}
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] owner signed in", slog.String("subject", string(owner)), slog.String("rule", rule), address)
	_ = s.audit.note(r.Context(), Event{Kind: "owner_logged_in", Subject: owner, Address: s.cfg.Address(r).String()})
	return nil
}

// personName returns how the consent page names a person.
func personName(owner principal.Owner, who upstream.Identity) string {
	name, email := cleanName(who.Name), cleanName(who.Email)
	switch {
	case name != "" && email != "":
		return name + " (" + email + ")"
	case name+email != "":
		return name + email
	}
	return "person " + strings.ToUpper(string(owner[:8]))
}

// ServeSignInConsent answers GET /signin/consent: the consent page of the request that a
// sign-in interrupted.
func (s *Server) ServeSignInConsent(w http.ResponseWriter, r *http.Request) {
	s = s.pinned()
	id := r.URL.Query().Get("flow")
	f, ok := s.openFlow(r, id)
	switch {
	case !ok:
		s.writeErrorPage(w, r, startAgain("the sign-in has expired or was started in another browser"))
	case f.Request == nil && s.loggedIn(r) == "":
		s.startSignIn(w, r, flow{Query: f.Query})
	case f.Request == nil:
		s.authorizeQuery(w, r, f.Query, id)
	default:
		f.Request.Flow, f.Request.Prompt = id, f.Prompt
		s.askPerson(w, r, *f.Request)
	}
}

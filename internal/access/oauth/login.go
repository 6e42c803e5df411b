package oauth

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"candela/internal/access/upstream"
	"candela/internal/kit/principal"
)

const (
	loginTTL      = 12 * time.Hour
	loginName     = "browser login"   // in the list of clients
	browserCookie = "candela_browser" // identifies the browser, so that a form is valid in one only
	loginCookie   = "candela_login"
)

// loginPaths returns the paths that receive the login cookie: the page and its form action,
// and those of a sign-in at an identity provider.
func (s *Server) loginPaths() []string {
	if s.cfg.SignIn != nil {
		return []string{"/authorize", "/consent", "/signin"}
	}
	return []string{"/authorize", "/consent"}
}

// clearLogin makes the browser forget its login.
func (s *Server) clearLogin(w http.ResponseWriter) {
	for _, path := range s.loginPaths() {
		http.SetCookie(w, s.cookie(loginCookie, path, "", -time.Second))
	}
}

// cookie returns a cookie that scripts cannot read and that other sites' posts do not carry.
func (s *Server) cookie(name, path, value string, age time.Duration) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // G124: Secure follows the base URL, and a browser drops such a cookie over http
		Name: s.cookieName(name, path), Value: value, Path: path, MaxAge: int(age.Seconds()),
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
	}
}

// cookieName adds the prefix that, over https, makes a browser verify that this host set
// the cookie. Without https a browser rejects such names.
func (s *Server) cookieName(name, path string) string {
	switch {
	case !s.secure:
		return name
	case path == "/":
		return "__Host-" + name
	}
	return "__Secure-" + name
}

// loggedIn returns the owner who logged in with this browser, or "".
func (s *Server) loggedIn(r *http.Request) principal.Owner { return s.login(r).Grant.Subject }

// login returns the login of this browser, the zero value for none.
func (s *Server) login(r *http.Request) Token {
	browser := s.browserValue(r)
	c, err := r.Cookie(s.cookieName(loginCookie, s.loginPaths()[0]))
	if err != nil || browser == "" {
		return Token{}
	}
	t, err := s.store.Token(r.Context(), HashOf(c.Value), time.Now())
	if err != nil || !t.Grant.Login || t.Grant.Console || t.Grant.ClientKey != fingerprint(browser) {
		return Token{}
	}
	return t
}

// logIn starts a browser session, stored as a token so that it can be listed and revoked.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request, subject principal.Owner) *Error {
	return s.logInAs(w, r, Grant{Subject: subject})
}

// logInAs starts a browser session with what a grant says about the owner.
func (s *Server) logInAs(w http.ResponseWriter, r *http.Request, grant Grant) *Error {
	secret, now := newSecret(), time.Now()
	grant.Login, grant.ClientName, grant.ClientKey = true, loginName, fingerprint(s.browserValue(r))
	t := newToken(secret, grant, s.seal.key().Generation(), now, loginTTL)
	switch err := s.store.PutToken(r.Context(), t, now); {
	case errors.Is(err, ErrRevoked):
		return staleForm()
	case errors.Is(err, ErrFull):
		return full()
	case err != nil:
		s.log.LogAttrs(r.Context(), levelOf(r.Context()), "[OAuth] login not stored", slog.Any("error", err))
		return serverError()
	}
	for _, path := range s.loginPaths() {
		http.SetCookie(w, s.cookie(loginCookie, path, secret, loginTTL))
	}
	return nil
}

// logOut ends the browser's login, at the console too, and shows the consent page again, with the owner's
// choices, which then asks for the passphrase.
func (s *Server) logOut(w http.ResponseWriter, r *http.Request, p params, q request) {
	c, e := s.readChoice(p, q)
	if e != nil {
		s.writeErrorPage(w, r, e)
		return
	}
	if e := s.endLogin(r); e != nil {
		s.writeErrorPage(w, r, e)
		return
	}
	s.clearLogin(w)
	if s.cfg.SignIn != nil {
		f := flow{Request: &q, Prompt: upstream.PromptAccount}
		if q.Prompt == f.Prompt { // and it was the wrong person again
			f.Prompt = upstream.PromptLogin
		}
		s.startSignIn(w, r, f)
		return
	}
	q.Approver = ""
	data := s.consentPage(r, q, c)
	data.LoggedIn = false // the request still carries the cookie
	s.writePage(w, http.StatusOK, data)
}

// endLogin revokes the login of the browser and its sessions of the console, if it has any.
func (s *Server) endLogin(r *http.Request) *Error {
	subject := s.loggedIn(r)
	if subject == "" {
		return nil
	}
	c, err := r.Cookie(s.cookieName(loginCookie, s.loginPaths()[0]))
	if err != nil {
		return nil //nolint:nilerr // loggedIn has read it
	}
	t, err := s.store.Token(r.Context(), HashOf(c.Value), time.Now())
	if err == nil {
		err = s.Revoke(r.Context(), t.Grant.Subject, t.ID)
	}
	if err == nil || errors.Is(err, ErrNotFound) {
		err = s.endSessions(r, subject)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		s.log.LogAttrs(r.Context(), levelOf(r.Context()), "[OAuth] login not ended", slog.Any("error", err))
		return serverError()
	}
	return nil
}

// browserCookie returns the fingerprint of the browser's cookie and sets one if there is
// none. An existing one is kept, so that two tabs work at the same time.
func (s *Server) browserCookie(w http.ResponseWriter, r *http.Request) string {
	value := cmp.Or(s.browserValue(r), randomText(16))
	http.SetCookie(w, s.cookie(browserCookie, "/", value, loginTTL))
	return fingerprint(value)
}

// browserValue returns the browser's cookie, or "" if it is missing or malformed.
func (s *Server) browserValue(r *http.Request) string {
	c, err := r.Cookie(s.cookieName(browserCookie, "/"))
	if err != nil || len(c.Value) != 22 {
		return ""
	}
	return c.Value
}

func fingerprint(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:16])
}

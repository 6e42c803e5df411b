package oauth

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

const (
	loginTTL      = 12 * time.Hour
	loginName     = "browser login"   // as the list of clients calls it
	browserCookie = "candela_browser" // tells one browser from another, so that a form is good in one only
	loginCookie   = "candela_login"
)

// loginPaths returns the paths that browsers send a login to: the page that asks and
// the address that its form is sent to.
func loginPaths() []string { return []string{"/authorize", "/consent"} }

// cookie returns a cookie as every one of ours is: out of reach of scripts and not
// sent with another site's posts.
func (s *Server) cookie(name, path, value string, age time.Duration) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // G124: Secure follows the base URL, and a browser drops such a cookie over http
		Name: s.cookieName(name, path), Value: value, Path: path, MaxAge: int(age.Seconds()),
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
	}
}

// cookieName returns the name with which a browser makes sure, over https, that this
// very host has set the cookie. Without https it refuses such names.
func (s *Server) cookieName(name, path string) string {
	switch {
	case !s.secure:
		return name
	case path == "/":
		return "__Host-" + name
	}
	return "__Secure-" + name
}

// loggedIn returns the owner whose login came with the request, or "". A login counts
// in the browser in which it was made.
func (s *Server) loggedIn(r *http.Request) string {
	browser := s.browserValue(r)
	c, err := r.Cookie(s.cookieName(loginCookie, loginPaths()[0]))
	if err != nil || browser == "" {
		return ""
	}
	t, err := s.store.Token(r.Context(), HashOf(c.Value), time.Now())
	if err != nil || !t.Grant.Login || t.Grant.ClientKey != fingerprint(browser) {
		return ""
	}
	return t.Grant.Subject
}

// logIn logs the owner in at a browser. The login is kept as a token, so that it is
// listed, can be revoked and ends with all others.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request, subject string) *Error {
	secret, now := newSecret(), time.Now()
	t := Token{
		Hash: HashOf(secret), ID: randomID(), Generation: s.seal.key().Generation(), Issued: now, Expires: now.Add(loginTTL),
		Grant: Grant{Login: true, Subject: subject, ClientName: loginName, ClientKey: fingerprint(s.browserValue(r))},
	}
	t.Key = t.Hash.Hex()
	switch err := s.store.PutToken(r.Context(), t, now); {
	case errors.Is(err, ErrRevoked):
		return staleForm()
	case err != nil:
		s.log.LogAttrs(r.Context(), slog.LevelError, "[OAuth] login could not be kept", slog.Any("error", err))
		return serverError()
	}
	for _, path := range loginPaths() {
		http.SetCookie(w, s.cookie(loginCookie, path, secret, loginTTL))
	}
	return nil
}

// browserCookie returns the fingerprint of the browser's cookie and gives it one
// if it has none. An old one is kept, so that two tabs work side by side.
func (s *Server) browserCookie(w http.ResponseWriter, r *http.Request) string {
	value := s.browserValue(r)
	if value == "" {
		value = randomText(16)
	}
	http.SetCookie(w, s.cookie(browserCookie, "/", value, loginTTL))
	return fingerprint(value)
}

// browserValue returns the browser's cookie, or "" when it is none of ours.
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

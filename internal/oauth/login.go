package oauth

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"
)

const (
	loginTTL      = 12 * time.Hour
	loginPurpose  = "login"
	browserCookie = "candela_browser" // tells one browser from another, so that a form is good in one only
	loginCookie   = "candela_login"
)

// login is what the login cookie holds. It is sealed, so only a server with
// the key makes one, and it ends with the key.
type login struct {
	Subject string `json:"s"`
	Expires int64  `json:"e"` // unix seconds
}

// cookie returns a cookie as every one of ours is: out of reach of scripts, not
// sent with another site's posts, and over https bound to this very host.
func (s *Server) cookie(name, value string, age time.Duration) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // G124: Secure follows the base URL, and a browser drops such a cookie over http
		Name: s.cookieName(name), Value: value, Path: "/", MaxAge: int(age.Seconds()),
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
	}
}

func (s *Server) cookieName(name string) string {
	if s.secure {
		return "__Host-" + name
	}
	return name // browsers refuse the prefix without https
}

// loggedIn returns the owner whose login came with the request, or "".
func (s *Server) loggedIn(r *http.Request) string {
	c, err := r.Cookie(s.cookieName(loginCookie))
	if err != nil {
		return ""
	}
	var l login
	if s.seal.open(loginPurpose, c.Value, &l) != nil || time.Now().Unix() >= l.Expires {
		return ""
	}
	return l.Subject
}

func (s *Server) logIn(w http.ResponseWriter, subject string) {
	sealed := s.seal.seal(loginPurpose, login{subject, time.Now().Add(loginTTL).Unix()})
	http.SetCookie(w, s.cookie(loginCookie, sealed, loginTTL))
}

// browserCookie returns the fingerprint of the browser's cookie and gives it one
// if it has none. An old one is kept, so that two tabs work side by side.
func (s *Server) browserCookie(w http.ResponseWriter, r *http.Request) string {
	value := s.browserValue(r)
	if value == "" {
		value = randomText(16)
	}
	http.SetCookie(w, s.cookie(browserCookie, value, loginTTL))
	return fingerprint(value)
}

// browserValue returns the browser's cookie, or "" when it is none of ours.
func (s *Server) browserValue(r *http.Request) string {
	c, err := r.Cookie(s.cookieName(browserCookie))
	if err != nil || len(c.Value) != 22 {
		return ""
	}
	return c.Value
}

func fingerprint(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:16])
}

package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"candela/internal/kit/principal"
)

// consoleName names a session of the console in the list of clients.
const consoleName = "console"

// Identify checks the owner's passphrase for the console: with the same limits on guessing as
// the consent page, and with one-time passphrases. An error is an *Error.
func (s *Server) Identify(r *http.Request, passphrase string) (principal.Owner, error) {
	if s.cfg.SignIn != nil {
		return "", refuse(http.StatusForbidden, "access_denied", "owners sign in at the identity provider; there is no passphrase")
	}
	subject, e := s.identify(r, passphrase)
	if e != nil {
		s.limitedLog.LogAttrs(r.Context(), slog.LevelWarn, "[OAuth] console passphrase refused", slog.Int("status", e.Status),
			slog.String("reason", e.Description), slog.String("address", s.cfg.Address(r).String()))
		return "", e
	}
	return subject, nil
}

// identify returns the owner whose passphrase it is. A one-time passphrase is checked before
// the rate limits: it cannot be guessed, and others' guesses must not lock out an owner at the
// machine.
func (s *Server) identify(r *http.Request, passphrase string) (principal.Owner, *Error) {
	if s.takePass(r, passphrase) {
		return SoleOwner, nil
	}
	return s.authenticate(r, passphrase)
}

// takePass redeems a one-time passphrase.
func (s *Server) takePass(r *http.Request, passphrase string) bool {
	if s.cfg.Pass == nil || !s.cfg.Pass(passphrase) {
		return false
	}
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] one-time passphrase accepted",
		slog.String("subject", SoleOwner), slog.String("address", s.cfg.Address(r).String()))
	return true
}

// StartSession stores a session of the console in a browser and returns its secret. The
// browser is logged in at the consent page too.
func (s *Server) StartSession(w http.ResponseWriter, r *http.Request, subject principal.Owner) (string, Token, error) {
	s = s.pinned()
	secret, now := newSecret(), time.Now()
	grant := Grant{Login: true, Console: true, Subject: subject, ClientName: consoleName, ClientKey: s.Binding(r)}
	t := newToken(secret, grant, s.seal.key().Generation(), now, loginTTL)
	if err := s.store.PutToken(r.Context(), t, now); errors.Is(err, ErrFull) {
		return "", Token{}, full()
	} else if err != nil {
		return "", Token{}, err
	}
	if e := s.logIn(w, r, subject); e != nil {
		return "", Token{}, e
	}
	_ = s.audit.note(r.Context(), Event{Kind: "owner_logged_in", Subject: subject, About: t.ID, Client: consoleName, Address: s.cfg.Address(r).String()})
	return secret, t, nil
}

// Binding identifies the browser that a session of the console belongs to, by its cookie and
// its name.
func (s *Server) Binding(r *http.Request) string {
	sum := sha256.Sum256([]byte(s.browserValue(r) + "\x00" + r.UserAgent()))
	return hex.EncodeToString(sum[:16])
}

// endSessions ends the sessions of the console in the browser of a request.
func (s *Server) endSessions(r *http.Request, subject principal.Owner) error {
	all, err := s.Sessions(r.Context(), subject)
	for _, t := range all {
		if t.Grant.ClientKey != s.Binding(r) {
			continue
		}
		if one := s.Revoke(r.Context(), subject, t.ID); one != nil && !errors.Is(one, ErrNotFound) {
			err = errors.Join(err, one)
		}
	}
	return err
}

// Session returns the live session of the console with a secret, or ErrNotFound. The caller
// checks that it belongs to the browser.
func (s *Server) Session(ctx context.Context, secret string) (Token, error) {
	t, err := s.store.Token(ctx, HashOf(secret), time.Now())
	if err == nil && !t.Grant.Console {
		err = ErrNotFound
	}
	return t, err
}

// Sessions lists the sessions of the console, newest first.
func (s *Server) Sessions(ctx context.Context, subject principal.Owner) ([]Token, error) {
	all, err := s.store.Tokens(ctx, subject, time.Now())
	return slices.DeleteFunc(all, func(t Token) bool { return !t.Grant.Console }), err
}

// EndSession ends a session of the console, and with it the browser's login at the consent
// page. w is of the browser itself, or nil.
func (s *Server) EndSession(w http.ResponseWriter, r *http.Request, subject principal.Owner, id string) error {
	err := s.Revoke(r.Context(), subject, id)
	if w != nil {
		s.forgetBrowser(w, r)
	}
	return err
}

// forgetBrowser ends the browser's logins at the consent page. The console's pages do not receive
// that cookie, so they are found by the browser.
func (s *Server) forgetBrowser(w http.ResponseWriter, r *http.Request) {
	s.clearLogin(w)
	browser := s.browserValue(r)
	all, err := s.store.Tokens(r.Context(), SoleOwner, time.Now())
	if browser == "" || err != nil {
		return
	}
	for _, t := range all {
		if t.Grant.Login && !t.Grant.Console && t.Grant.ClientKey == fingerprint(browser) {
			_ = s.store.Revoke(r.Context(), t.Grant.Subject, t.ID) // it has ended either way
		}
	}
}

// Browser returns the value that identifies the browser, or "". With a w it sets a new one if
// there is none, which the browser sends from the next request on.
func (s *Server) Browser(w http.ResponseWriter, r *http.Request) string {
	value := s.browserValue(r)
	if value == "" && w != nil {
		value = randomText(16)
		http.SetCookie(w, s.cookie(browserCookie, "/", value, loginTTL))
	}
	return value
}

// Address returns the address that a request counts against.
func (s *Server) Address(r *http.Request) string { return s.cfg.Address(r).String() }

// Secure reports whether cookies are sent over https only.
func (s *Server) Secure() bool { return s.secure }

// BaseURL returns the prefix of every published address.
func (s *Server) BaseURL() string { return s.cfg.BaseURL }

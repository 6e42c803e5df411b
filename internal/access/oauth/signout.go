package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"candela/internal/access/upstream"
	"candela/internal/kit/bucket"
)

// Kinds of fingerprints of what the provider names.
const (
	sessionKey = "sid"
	subKey     = "sub"
)

// upstreamKey returns the fingerprint of a session or subject of the identity provider.
func upstreamKey(kind, value string) string { return fingerprint(kind + "\x00" + value) }

// maxSignOuts bounds what is remembered about logouts: more than the rate limit admits.
const maxSignOuts = 16_384

// signOuts remembers the logouts that the provider reported: their ids, against repetition,
// and whom they concern, because a code may be on its way to the client. It is safe for
// concurrent use.
type signOuts struct {
	mu    sync.Mutex
	seen  map[string]time.Time // by id of the message: when it can be forgotten
	ended map[string]time.Time // by fingerprint: when it ended
}

func newSignOuts() *signOuts {
	return &signOuts{seen: map[string]time.Time{}, ended: map[string]time.Time{}}
}

// take remembers a message, and reports false if it was seen before or there is no room.
func (o *signOuts) take(id string, until, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for known, until := range o.seen {
		if !now.Before(until) {
			delete(o.seen, known)
		}
	}
	if _, again := o.seen[id]; again || len(o.seen) >= maxSignOuts {
		return false
	}
	o.seen[id] = until
	return true
}

// forget lets a message be taken again whose logout failed.
func (o *signOuts) forget(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, id)
}

// end remembers for as long as a code lives that a session or a subject has signed out.
func (o *signOuts) end(key string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for known, at := range o.ended {
		if now.Sub(at) > CodeTTL+time.Minute {
			delete(o.ended, known)
		}
	}
	o.ended[key] = now
}

// endedSince reports whether the sign-in of a grant has ended since a time.
func (o *signOuts) endedSince(g Grant, since time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range []string{g.Session, g.Sub} {
		if at, ok := o.ended[key]; ok && key != "" && !at.Before(since) {
			return true
		}
	}
	return false
}

// ServeSignOut answers POST /signin/logout: the identity provider reports over the back
// channel that a session ended. OpenID Connect Back-Channel Logout 1.0, 2.8.
func (s *Server) ServeSignOut(w http.ResponseWriter, r *http.Request) {
	s = s.pinned()
	e := s.signOut(w, r)
	if e != nil {
		s.writeError(w, r, e)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

func (s *Server) signOut(w http.ResponseWriter, r *http.Request) *Error {
	now := time.Now()
	if wait := bucket.Take(s.limits.signOut, now); wait > 0 {
		return slowDown(wait)
	}
	if mediaType(r) != "application/x-www-form-urlencoded" {
		return invalidRequest("the logout must be application/x-www-form-urlencoded")
	}
	body, e := readBody(w, r)
	if e != nil {
		return e
	}
	p, e := parseForm(string(body))
	if e != nil {
		return e
	}
	over, err := s.cfg.SignIn.Provider.Logout(r.Context(), p.get("logout_token"))
	if err != nil {
		s.limitedLog.LogAttrs(r.Context(), slog.LevelWarn, "[OAuth] logout refused", slog.Any("error", err), slog.String("address", s.cfg.Address(r).String()))
		return invalidRequest("logout_token is not acceptable")
	}
	if !s.signOuts.take(over.ID, over.Expires, now) {
		return invalidRequest("logout_token was used before")
	}
	if err := s.endSignIn(r.Context(), over, now); err != nil {
		s.signOuts.forget(over.ID)
		s.log.LogAttrs(r.Context(), levelOf(r.Context()), "[OAuth] logout failed", slog.Any("error", err))
		return invalidRequest("the logout failed; see the server's log")
	}
	return nil
}

// endSignIn ends the logins of a session, or of all sessions of a subject if none is named,
// and the tokens that were approved in them.
func (s *Server) endSignIn(ctx context.Context, over upstream.Ended, now time.Time) error {
	key, of := upstreamKey(subKey, over.Sub), func(g Grant) string { return g.Sub }
	if over.Session != "" {
		key, of = upstreamKey(sessionKey, over.Session), func(g Grant) string { return g.Session }
	}
	if !s.cfg.SignIn.KeepTokens {
		s.signOuts.end(key, now)
	}
	owner := over.Owner
	if s.cfg.SignIn.Owners != nil {
		owner = "" // the person may act as another owner
	}
	found, err := s.find(ctx, owner, func(t Token) bool { return of(t.Grant) == key && (t.Grant.Login || !s.cfg.SignIn.KeepTokens) }, now)
	if err != nil {
		return err
	}
	logins, tokens := 0, 0
	for _, t := range found {
		if one := s.store.Revoke(ctx, t.Grant.Subject, t.ID); one != nil && !errors.Is(one, ErrNotFound) {
			err = errors.Join(err, one)
			continue
		}
		if t.Grant.Login {
			logins++
		} else {
			tokens++
		}
		_ = s.audit.note(ctx, Event{Kind: "token_revoked", Subject: t.Grant.Subject, About: t.ID})
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "[OAuth] signed out by the identity provider", slog.Int("logins", logins), slog.Int("tokens", tokens))
	return err
}

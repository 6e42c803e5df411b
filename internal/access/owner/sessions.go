// Package owner keeps the owner's sessions in browsers: who is logged in to the console, from
// which browser, how recently the passphrase was entered, and how much a session may ask for.
//
// A session is a token of the authorization server with a cookie of its own. It is bound to
// the browser that logged in, it ends after twelve hours or two without use, and it opens
// nothing but the console. What this process knows about its use is kept in memory: after a
// restart, or at another replica, a dangerous act asks for the passphrase again.
package owner

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"candela/internal/access/oauth"
	"candela/internal/kit/bucket"
	"candela/internal/kit/principal"
)

// Lifetimes and limits.
const (
	Unused     = 2 * time.Hour    // a session without a request ends
	Recently   = 15 * time.Minute // a passphrase counts as entered just now
	MaxStreams = 4                // open at once, of a session

	lifetime  = 12 * time.Hour
	maxKnown  = 256 // sessions whose use is remembered
	maxNotice = 400 // bytes
	cookie    = "candela_console"
)

// Errors that are not failures.
var (
	ErrNoSession = errors.New("not logged in")
	ErrNoBrowser = errors.New("the browser sent no cookie; cookies must be allowed for this page")
)

// Sessions are the owner's sessions. It is safe for concurrent use.
type Sessions struct {
	logins *oauth.Server
	now    func() time.Time

	mu    sync.Mutex
	known map[string]*usage // by id of the session
}

// usage is what this process knows about a session.
type usage struct {
	first, last, confirmed time.Time
	agent, address         string
	posts, reads           *rate.Limiter
	streams                int
	notice                 string
}

// New returns the sessions that logins keeps.
func New(logins *oauth.Server, now func() time.Time) *Sessions {
	return &Sessions{logins: logins, now: now, known: map[string]*usage{}}
}

// Session is a live session in the browser of a request.
type Session struct {
	ID      string
	Subject principal.Owner
	Since   time.Time
	Expires time.Time
	Key     string // identifies the session as the key of a token does
	secret  string
}

// FormToken returns the token of the session's form that is sent to a path. The path names the
// act and what it is about, so the form of one order carries out nothing for another.
func (s Session) FormToken(path string) string { return sign(s.secret, "form "+path) }

// Validates reports whether a form that was sent to a path carries the session's token for it.
func (s Session) Validates(path, token string) bool { return same(token, s.FormToken(path)) }

// Login checks the passphrase and starts a session in the browser of the request. An earlier
// session of the browser ends: a session that somebody planted there never becomes the owner's.
func (s *Sessions) Login(w http.ResponseWriter, r *http.Request, passphrase string) (Session, error) {
	browser := s.logins.Browser(nil, r)
	if browser == "" {
		return Session{}, ErrNoBrowser
	}
	subject, err := s.logins.Identify(r, passphrase)
	if err != nil {
		return Session{}, err
	}
	if before, err := s.Of(r); err == nil {
		_ = s.logins.EndSession(nil, r, before.Subject, before.ID) // replaced in any case
	}
	secret, t, err := s.logins.StartSession(w, r, subject)
	if err != nil {
		return Session{}, err
	}
	http.SetCookie(w, s.cookie(secret, lifetime))
	s.with(t.ID, r, func(u *usage) { u.confirmed = s.now() })
	return session(t, secret), nil
}

// Of returns the session of the request's browser, or ErrNoSession. Other errors mean that it
// is unknown.
func (s *Sessions) Of(r *http.Request) (Session, error) {
	c, err := r.Cookie(s.cookieName())
	browser := s.logins.Browser(nil, r)
	if err != nil || browser == "" {
		return Session{}, ErrNoSession
	}
	t, err := s.logins.Session(r.Context(), c.Value)
	switch {
	case errors.Is(err, oauth.ErrNotFound):
		return Session{}, ErrNoSession
	case err != nil:
		return Session{}, err
	case !same(t.Grant.ClientKey, s.logins.Binding(r)):
		return Session{}, ErrNoSession
	}
	idle := false
	s.with(t.ID, nil, func(u *usage) { idle = s.now().Sub(u.last) > Unused })
	if idle {
		_ = s.logins.EndSession(nil, r, t.Grant.Subject, t.ID) // it has ended either way
		return Session{}, ErrNoSession
	}
	s.with(t.ID, r, func(*usage) {})
	return session(t, c.Value), nil
}

// Live reports whether a session has not ended. It does not count as a use.
func (s *Sessions) Live(ctx context.Context, of Session) bool {
	_, err := s.logins.Session(ctx, of.secret)
	return !errors.Is(err, oauth.ErrNotFound)
}

// Logout ends the session of the browser.
func (s *Sessions) Logout(w http.ResponseWriter, r *http.Request, of Session) error {
	http.SetCookie(w, s.cookie("", -time.Second))
	return s.logins.EndSession(w, r, of.Subject, of.ID)
}

// Confirm checks the passphrase again, for a dangerous act.
func (s *Sessions) Confirm(r *http.Request, of Session, passphrase string) error {
	subject, err := s.logins.Identify(r, passphrase)
	if err != nil {
		return err
	}
	if subject != of.Subject {
		return ErrNoSession
	}
	s.with(of.ID, r, func(u *usage) { u.confirmed = s.now() })
	return nil
}

// Confirmed reports whether the passphrase was entered recently.
func (s *Sessions) Confirmed(of Session) bool {
	recently := false
	s.with(of.ID, nil, func(u *usage) { recently = s.now().Sub(u.confirmed) < Recently })
	return recently
}

// Browser is a browser in which the owner is logged in.
type Browser struct {
	ID      string
	Agent   string // such as "Firefox on Linux"; "" if this process has not seen it
	Address string
	Since   time.Time
	Used    time.Time // zero if this process has not seen it
	Expires time.Time
}

// List returns the browsers in which the owner is logged in, newest first.
func (s *Sessions) List(ctx context.Context, subject principal.Owner) ([]Browser, error) {
	tokens, err := s.logins.Sessions(ctx, subject)
	all := make([]Browser, 0, len(tokens))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tokens {
		b := Browser{ID: t.ID, Since: t.Issued, Expires: t.Expires}
		if u := s.known[t.ID]; u != nil {
			b.Agent, b.Address, b.Used = u.agent, u.address, u.last
		}
		all = append(all, b)
	}
	return all, err
}

// End ends a session by its id.
func (s *Sessions) End(r *http.Request, subject principal.Owner, id string) error {
	return s.logins.EndSession(nil, r, subject, id)
}

// EndOthers ends all sessions but one, and returns how many.
func (s *Sessions) EndOthers(r *http.Request, keep Session) (int, error) {
	all, err := s.logins.Sessions(r.Context(), keep.Subject)
	ended := 0
	for _, t := range all {
		if t.ID == keep.ID {
			continue
		}
		if one := s.logins.EndSession(nil, r, keep.Subject, t.ID); one != nil {
			err = errors.Join(err, one)
			continue
		}
		ended++
	}
	return ended, err
}

// LoginToken returns the token of the login form, which has no session yet. It sets the
// browser's cookie if there is none.
func (s *Sessions) LoginToken(w http.ResponseWriter, r *http.Request) string {
	return sign(s.logins.Browser(w, r), "login")
}

// ValidatesLogin reports whether a login form was made for the browser.
func (s *Sessions) ValidatesLogin(r *http.Request, token string) bool {
	browser := s.logins.Browser(nil, r)
	return browser != "" && same(token, sign(browser, "login"))
}

// Secure reports whether the console is reached over https.
func (s *Sessions) Secure() bool { return s.logins.Secure() }

// cookie returns the cookie of a session, which other sites' requests never carry.
func (s *Sessions) cookie(value string, age time.Duration) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // G124: Secure follows the base URL, and a browser drops such a cookie over http
		Name: s.cookieName(), Value: value, Path: "/", MaxAge: int(age.Seconds()),
		HttpOnly: true, Secure: s.logins.Secure(), SameSite: http.SameSiteStrictMode,
	}
}

func (s *Sessions) cookieName() string {
	if s.logins.Secure() {
		return "__Host-" + cookie
	}
	return cookie
}

func session(t oauth.Token, secret string) Session {
	return Session{ID: t.ID, Subject: t.Grant.Subject, Since: t.Issued, Expires: t.Expires, Key: t.Key, secret: secret}
}

func sign(key, purpose string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("candela console " + purpose))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func same(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// with calls do with the usage of a session. With a request it counts as used.
func (s *Sessions) with(id string, r *http.Request, do func(*usage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.known[id]
	if u == nil {
		s.forgetOne()
		now := s.now()
		u = &usage{first: now, last: now, posts: postRate().Limiter(), reads: readRate().Limiter()}
		s.known[id] = u
	}
	if r != nil {
		u.last = s.now()
		u.agent, u.address = Describe(r.UserAgent()), s.logins.Address(r)
	}
	do(u)
}

// forgetOne makes room for a session.
func (s *Sessions) forgetOne() {
	if len(s.known) < maxKnown {
		return
	}
	oldest := ""
	for id, u := range s.known {
		if oldest == "" || u.last.Before(s.known[oldest].last) {
			oldest = id
		}
	}
	delete(s.known, oldest)
}

func postRate() bucket.Rate { return bucket.Rate{Burst: 60, Every: time.Second} }
func readRate() bucket.Rate { return bucket.Rate{Burst: 40, Every: 50 * time.Millisecond} }

// TakePost counts a form, and returns how long to wait if there were too many.
func (s *Sessions) TakePost(of Session) (wait time.Duration) {
	s.with(of.ID, nil, func(u *usage) { wait = bucket.Take(u.posts, s.now()) })
	return wait
}

// TakeRead counts a page or a part of one, and returns how long to wait if there were too many.
func (s *Sessions) TakeRead(of Session) (wait time.Duration) {
	s.with(of.ID, nil, func(u *usage) { wait = bucket.Take(u.reads, s.now()) })
	return wait
}

// OpenStream counts a stream until it is closed, and reports false if the session has too many.
func (s *Sessions) OpenStream(of Session) (closed func(), ok bool) {
	s.with(of.ID, nil, func(u *usage) {
		if ok = u.streams < MaxStreams; ok {
			u.streams++
		}
	})
	return func() { s.with(of.ID, nil, func(u *usage) { u.streams = max(0, u.streams-1) }) }, ok
}

// Leave leaves a notice for the next page of the session.
func (s *Sessions) Leave(of Session, notice string) {
	s.with(of.ID, nil, func(u *usage) { u.notice = notice[:min(len(notice), maxNotice)] })
}

// Notice returns the notice that was left, once.
func (s *Sessions) Notice(of Session) (notice string) {
	s.with(of.ID, nil, func(u *usage) { notice, u.notice = u.notice, "" })
	return notice
}

// Describe names a browser and its system from what it calls itself.
func Describe(agent string) string {
	first := func(names ...string) string {
		at := slices.IndexFunc(names, func(name string) bool { return strings.Contains(agent, strings.Split(name, "=")[0]) })
		if at < 0 {
			return ""
		}
		_, name, renamed := strings.Cut(names[at], "=")
		if !renamed {
			name = names[at]
		}
		return name
	}
	browser := cmp.Or(first("Edg=Edge", "OPR/=Opera", "Firefox", "FxiOS=Firefox", "Chrome", "CriOS=Chrome", "Safari", "curl"), "A browser")
	if system := first("iPhone", "iPad", "Android", "Windows", "Mac OS=macOS", "CrOS=ChromeOS", "Linux"); system != "" {
		return browser + " on " + system
	}
	return browser
}

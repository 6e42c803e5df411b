package hostdesk

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"candela/internal/access/door"
	"candela/internal/access/oauth"
	"candela/internal/kit/bucket"
	"candela/lib/fault"
)

// Lifetimes and limits of sessions. They are kept in memory: a restart ends them, and so a change of the passphrase does.
const (
	lifetime    = 8 * time.Hour
	unused      = 30 * time.Minute
	namesTime   = 15 * time.Minute
	formTime    = 10 * time.Minute
	maxSessions = 32
	maxForms    = 256
	maxWho      = 60 // bytes

	cookie = "candela_host"
)

// session is one login of somebody of the host.
type session struct {
	secret, who string
	since       time.Time

	mu     sync.Mutex
	used   time.Time
	names  time.Time // until when names are shown
	notice string
}

func (s *session) formToken(path string) string {
	mac := hmac.New(sha256.New, []byte(s.secret))
	mac.Write([]byte("candela host form " + path))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (s *session) validates(path, token string) bool {
	return hmac.Equal([]byte(token), []byte(s.formToken(path)))
}

func (s *session) namesUntil() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names
}

// leave leaves a notice for the next page; take returns it, once.
func (s *session) leave(notice string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice = notice
}

func (s *session) take() (notice string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	notice, s.notice = s.notice, ""
	return notice
}

// sessions are all logins, and the forms of logins that may still come. It is safe for concurrent use.
type sessions struct {
	now   func() time.Time
	guess *bucket.Set[netip.Addr]
	all   *rate.Limiter // guesses from everywhere

	mu    sync.Mutex
	live  map[[sha256.Size]byte]*session
	forms map[string]time.Time
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{
		now: now, live: map[[sha256.Size]byte]*session{}, forms: map[string]time.Time{},
		guess: bucket.NewSet[netip.Addr](bucket.Rate{Burst: 5, Every: 3 * time.Minute}, 4096), all: bucket.Rate{Burst: 30, Every: 2 * time.Second}.Limiter(),
	}
}

// of returns the live session of a secret, nil if there is none. It counts as a use.
func (s *sessions) of(secret string) *session {
	if secret == "" {
		return nil
	}
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	name := sha256.Sum256([]byte(secret))
	in := s.live[name]
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if now.Sub(in.since) > lifetime || now.Sub(in.used) > unused {
		delete(s.live, name)
		return nil
	}
	in.used = now
	return in
}

// begin starts a session. The one that is unused longest makes room.
func (s *sessions) begin(who string) *session {
	now := s.now()
	in := &session{secret: rand.Text() + rand.Text(), who: who, since: now, used: now}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.live) >= maxSessions {
		var oldest [sha256.Size]byte
		var last time.Time
		for name, one := range s.live {
			one.mu.Lock()
			if last.IsZero() || one.used.Before(last) {
				oldest, last = name, one.used
			}
			one.mu.Unlock()
		}
		delete(s.live, oldest)
	}
	s.live[sha256.Sum256([]byte(in.secret))] = in
	return in
}

func (s *sessions) end(in *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, sha256.Sum256([]byte(in.secret)))
}

// newForm returns the token of a login form, which is good for one login.
func (s *sessions) newForm() string {
	now, token := s.now(), rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	for old, until := range s.forms {
		if now.After(until) || len(s.forms) >= maxForms {
			delete(s.forms, old)
		}
	}
	s.forms[token] = now.Add(formTime)
	return token
}

func (s *sessions) takeForm(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.forms[token]
	delete(s.forms, token)
	return ok && !s.now().After(until)
}

func (d *Desk) cookieName() string {
	if d.secure() {
		return "__Secure-" + cookie
	}
	return cookie
}

func (d *Desk) cookieOf(r *http.Request) string {
	c, err := r.Cookie(d.cookieName())
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie sets the cookie of a session, which requests of other sites and for other paths never carry.
func (d *Desk) setCookie(w http.ResponseWriter, secret string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // G124: Secure follows the base URL, and a browser drops such a cookie over http
		Name: d.cookieName(), Value: secret, Path: Root, MaxAge: int(age.Seconds()), HttpOnly: true, Secure: d.secure(), SameSite: http.SameSiteStrictMode,
	})
}

// check compares a passphrase. Guesses are bounded for each address, and for all.
func (d *Desk) check(r *http.Request, passphrase string) error {
	now, from := d.cfg.Now(), bucket.Network(d.cfg.Address(r))
	wait := d.sessions.guess.Take(from, now)
	if wait == 0 {
		if wait = bucket.Take(d.sessions.all, now); wait > 0 {
			d.sessions.guess.GiveBack(from, now)
		}
	}
	if wait > 0 {
		e := fault.New(fault.Unavailable, "slow_down", "Too many attempts. Try again in %s.", max(wait.Round(time.Second), time.Second))
		e.RetryAfter = wait
		return e
	}
	_, err := d.cfg.Passphrase.Authenticate(r.Context(), passphrase)
	switch {
	case err == nil:
		d.sessions.guess.Forget(from)
		return nil
	case errors.Is(err, oauth.ErrWrongPassphrase):
		d.cfg.Log.WarnContext(r.Context(), "[Host] wrong passphrase", "address", from.String())
		return fault.New(fault.Unauthorized, "wrong_passphrase", "The passphrase is wrong.")
	}
	return err
}

// enter checks the passphrase and starts a session in the name that somebody gives, which nobody checks.
func (d *Desk) enter(r *http.Request, passphrase, who string) (*session, error) {
	if err := d.check(r, passphrase); err != nil {
		return nil, err
	}
	if who = fault.Clean(who, maxWho); who == "" {
		who = "host"
	}
	if err := d.cfg.Desk.NoteLogin(r.Context(), who); err != nil {
		return nil, err // nobody is let in of whom the audit log knows nothing
	}
	d.cfg.Log.InfoContext(r.Context(), "[Host] logged in", "who", who, "address", d.cfg.Address(r).String())
	return d.sessions.begin(who), nil
}

func (d *Desk) showLogin(w http.ResponseWriter, r *http.Request) {
	if d.sessions.of(d.cookieOf(r)) != nil {
		http.Redirect(w, r, Root+"/", http.StatusSeeOther)
		return
	}
	d.loginForm(w, r, http.StatusOK, "")
}

func (d *Desk) loginForm(w http.ResponseWriter, r *http.Request, status int, mistake string) {
	d.render(r.Context(), w, status, "login", "page", map[string]any{
		"Token": d.sessions.newForm(), "Mistake": mistake, "Host": d.base.Host, "Theme": theme(r), "Who": fault.Clean(r.PostFormValue("who"), maxWho),
	})
}

// login starts a session in a browser. The one that it had ends.
func (d *Desk) login(w http.ResponseWriter, r *http.Request) {
	if !door.SameOrigin(d.base, r) {
		http.Error(w, "The form was sent by another site. You are not logged in.", http.StatusForbidden)
		return
	}
	if !door.ReadForm(w, r, maxForm) {
		return
	}
	if !d.sessions.takeForm(r.PostFormValue("token")) {
		d.loginForm(w, r, http.StatusForbidden, "The form had expired or was used. Enter the passphrase again.")
		return
	}
	in, err := d.enter(r, r.PostFormValue("passphrase"), r.PostFormValue("who"))
	if err != nil {
		d.loginForm(w, r, door.StatusOf(err), d.public(r.Context(), err))
		return
	}
	if before := d.sessions.of(d.cookieOf(r)); before != nil {
		d.sessions.end(before)
	}
	d.setCookie(w, in.secret, lifetime)
	http.Redirect(w, r, Root+"/", http.StatusSeeOther)
}

func (d *Desk) logout(v *visit) {
	d.sessions.end(v.in)
	d.setCookie(v.w, "", -time.Second)
	http.Redirect(v.w, v.r, Root+"/login", http.StatusSeeOther)
}

// showNames shows names for a while, or hides them.
func (d *Desk) showNames(v *visit) {
	until := time.Time{}
	if v.r.PostFormValue("show") == "yes" {
		if err := d.cfg.Desk.NoteNames(v.ctx(), v.in.who, 0); err != nil {
			d.fail(v, err)
			return
		}
		until = v.now.Add(namesTime)
	}
	v.in.mu.Lock()
	v.in.names = until
	v.in.mu.Unlock()
	d.back(v, v.r.PostFormValue("to"))
}

package owner_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/owner"
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"

// scene has sessions and a browser's requests at them.
type scene struct {
	*oauthtest.Scene

	sessions *owner.Sessions
	now      time.Time
	serve    func(w http.ResponseWriter, r *http.Request)
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{Scene: oauthtest.New(t, nil), now: time.Now()}
	s.sessions = owner.New(s.Server, func() time.Time { return s.now })
	pages := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/here" {
			pages.ServeHTTP(w, r)
			return
		}
		s.serve(w, r)
	})
	return s
}

// here calls do with a request of a browser.
func (s *scene) here(b *oauthtest.Browser, agent string, do func(w http.ResponseWriter, r *http.Request)) {
	s.TB.Helper()
	s.serve = do
	b.Do(http.MethodGet, "/here", "", http.Header{"User-Agent": {agent}})
}

// login logs a browser in.
func (s *scene) login(b *oauthtest.Browser) (in owner.Session) {
	s.TB.Helper()
	s.here(b, firefox, func(w http.ResponseWriter, r *http.Request) { s.sessions.LoginToken(w, r) })
	s.here(b, firefox, func(w http.ResponseWriter, r *http.Request) {
		var err error
		if in, err = s.sessions.Login(w, r, oauthtest.Passphrase); err != nil {
			s.TB.Fatal(err)
		}
	})
	return in
}

// of returns the session of a browser.
func (s *scene) of(b *oauthtest.Browser, agent string) (in owner.Session, err error) {
	s.TB.Helper()
	s.here(b, agent, func(_ http.ResponseWriter, r *http.Request) { in, err = s.sessions.Of(r) })
	return in, err
}

func TestSessions_AreOfOneBrowser(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.Browser()
	s.here(b, firefox, func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.sessions.Login(w, r, oauthtest.Passphrase); !errors.Is(err, owner.ErrNoBrowser) {
			t.Errorf("without a cookie: %v", err)
		}
	})
	in := s.login(b)
	if got, err := s.of(b, firefox); err != nil || got.ID != in.ID || !got.Validates("/a", in.FormToken("/a")) || got.Validates("/a", "another") || got.Validates("/a", in.FormToken("/b")) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.of(b, "curl/8"); !errors.Is(err, owner.ErrNoSession) {
		t.Errorf("the cookies in another browser: %v", err)
	}
	if _, err := s.of(s.Browser(), firefox); !errors.Is(err, owner.ErrNoSession) {
		t.Errorf("a browser without cookies: %v", err)
	}
	// A new login ends the session that was there before, which somebody may have planted.
	again := s.login(b)
	if s.sessions.Live(t.Context(), in) || !s.sessions.Live(t.Context(), again) {
		t.Error("the earlier session lives, or the later does not")
	}
	s.here(b, firefox, func(w http.ResponseWriter, r *http.Request) {
		if err := s.sessions.Logout(w, r, again); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.of(b, firefox); !errors.Is(err, owner.ErrNoSession) {
		t.Errorf("after the logout: %v", err)
	}
}

func TestSessions_EndUnusedAndAskAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.Browser()
	in := s.login(b)
	s.now = s.now.Add(owner.Recently - time.Second)
	if !s.sessions.Confirmed(in) {
		t.Error("the passphrase was entered just now")
	}
	s.now = s.now.Add(time.Second)
	if s.sessions.Confirmed(in) {
		t.Error("the passphrase was entered long ago")
	}
	s.here(b, firefox, func(_ http.ResponseWriter, r *http.Request) {
		if err := s.sessions.Confirm(r, in, "not the passphrase"); err == nil || s.sessions.Confirmed(in) {
			t.Error("a wrong passphrase confirms")
		}
		if err := s.sessions.Confirm(r, in, oauthtest.Passphrase); err != nil || !s.sessions.Confirmed(in) {
			t.Errorf("the passphrase does not confirm: %v", err)
		}
	})
	s.now = s.now.Add(owner.Unused)
	if _, err := s.of(b, firefox); err != nil {
		t.Errorf("after two hours: %v", err)
	}
	s.now = s.now.Add(owner.Unused + time.Second)
	if _, err := s.of(b, firefox); !errors.Is(err, owner.ErrNoSession) || s.sessions.Live(t.Context(), in) {
		t.Errorf("after more than two hours: %v", err)
	}
}

func TestSessions_AreListedEndedAndBounded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first, second := s.Browser(), s.Browser()
	one, two := s.login(first), s.login(second)
	all, err := s.sessions.List(t.Context(), one.Subject)
	if err != nil || len(all) != 2 || all[0].Agent != "Firefox on Linux" {
		t.Errorf("%+v, %v", all, err)
	}
	for range owner.MaxStreams {
		if _, ok := s.sessions.OpenStream(one); !ok {
			t.Fatal("a stream was refused")
		}
	}
	if _, ok := s.sessions.OpenStream(one); ok {
		t.Error("one stream too many")
	}
	if closed, ok := s.sessions.OpenStream(two); !ok {
		t.Error("streams of one session count in another")
	} else {
		closed()
	}
	posts := 0
	for s.sessions.TakePost(one) == 0 {
		posts++
	}
	if posts != 60 || s.sessions.TakePost(two) != 0 {
		t.Errorf("%d forms at once", posts)
	}
	s.sessions.Leave(one, "done")
	if s.sessions.Notice(two) != "" || s.sessions.Notice(one) != "done" || s.sessions.Notice(one) != "" {
		t.Error("a notice is for one session, once")
	}
	s.here(second, firefox, func(_ http.ResponseWriter, r *http.Request) {
		if n, err := s.sessions.EndOthers(r, two); n != 1 || err != nil {
			t.Errorf("%d ended, %v", n, err)
		}
	})
	if s.sessions.Live(t.Context(), one) || !s.sessions.Live(t.Context(), two) {
		t.Error("the other session lives, or the own does not")
	}
}

// A logout on the consent page ends the session of the console in that browser, and no other.
func TestConsent_LogoutEndsTheConsole(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b, elsewhere := s.Browser(), s.Browser()
	in, other := s.login(b), s.login(elsewhere)
	same := http.Header{"User-Agent": {firefox}}
	page := b.Do(http.MethodGet, "/authorize?"+oauthtest.Query(s.Known()).Encode(), "", same)
	out := b.Do(http.MethodPost, "/consent", oauthtest.Form(t, page, "decision", "logout", "passphrase", "").Encode(), same)
	if out.Status != http.StatusOK {
		t.Fatalf("%d %s", out.Status, out.Body)
	}
	if _, err := s.of(b, firefox); !errors.Is(err, owner.ErrNoSession) || s.sessions.Live(t.Context(), in) {
		t.Errorf("the console is open after the logout: %v", err)
	}
	if !s.sessions.Live(t.Context(), other) {
		t.Error("another browser was logged out")
	}
	if all, err := s.Server.Sessions(t.Context(), oauth.SoleOwner); err != nil || len(all) != 1 {
		t.Errorf("%d sessions, %v", len(all), err)
	}
}

package oauth_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/lib/fault"
)

func TestConsent_SecondVisitNoPassphrase(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	b := s.Browser()
	first := b.Decide(b.Open(Query(s.Known())))
	page := b.Open(Query(s.Register(uris("https://other.example/cb")), "redirect_uri", "https://other.example/cb"))
	if strings.Contains(string(page.Body), "type=\"password\"") {
		t.Error("the passphrase is asked for again")
	}
	Documented(t, b.Decide(page, "passphrase", ""))
	for _, cookie := range (&http.Response{Header: first.Header}).Cookies() {
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path == "/" || cookie.Domain != "" || cookie.Secure {
			t.Errorf("cookie %+v", cookie)
		}
	}
	secure := New(t, func(c *oauth.Config) { c.BaseURL = "https://candela.example" })
	browser := secure.Browser()
	r := browser.Open(Query(secure.Known()))
	for _, cookie := range (&http.Response{Header: r.Header}).Cookies() {
		if !strings.HasPrefix(cookie.Name, "__Host-") || !cookie.Secure {
			t.Errorf("cookie %+v over https", cookie)
		}
	}
	if got := r.Header.Get("Strict-Transport-Security"); got == "" {
		t.Error("the browser may come back without https")
	}
	r = browser.Decide(r)
	for _, cookie := range (&http.Response{Header: r.Header}).Cookies() {
		if !strings.HasPrefix(cookie.Name, "__Secure-") || !cookie.Secure {
			t.Errorf("cookie %+v over https", cookie)
		}
	}
}

// A login that was copied out of its browser logs nobody in.
func TestConsent_LoginIsOfOneBrowser(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c, b := s.Known(), s.Browser()
	login := (&http.Response{Header: b.Decide(b.Open(Query(c))).Header}).Cookies()[0]
	for name, other := range map[string]*Browser{"another": s.Browser(), "the same": b} {
		page := other.Do(http.MethodGet, "/authorize?"+Query(c).Encode(), "", http.Header{"Cookie": {other.Cookie() + "; " + login.Name + "=" + login.Value}})
		if asked := strings.Contains(string(page.Body), `type="password"`); asked != (name == "another") {
			t.Errorf("%s browser is asked for the passphrase: %t", name, asked)
		}
	}
	if _, err := s.Server.Authorize(t.Context(), login.Value); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("a login is a token for clients: %v", err)
	}
}

func TestConsent_LoginIsListedAndRevoked(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c, b := s.Known(), s.Browser()
	b.Decide(b.Open(Query(c)))
	list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner)
	if err != nil || len(list) != 1 || !list[0].Grant.Login {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := s.Server.Revoke(t.Context(), oauth.SoleOwner, list[0].ID); err != nil {
		t.Fatal(err)
	}
	if page := b.Open(Query(c)); !strings.Contains(string(page.Body), `type="password"`) {
		t.Error("the login outlives its revocation")
	}
}

func TestConsent_LogOut(t *testing.T) {
	t.Parallel()
	s := New(t, func(c *oauth.Config) { c.Trading = oauth.PaperTrading })
	c, b := s.Known(), s.Browser()
	b.Decide(b.Open(Query(c)))
	copied := b.Cookie()
	page := b.Open(Query(c))
	if !strings.Contains(string(page.Body), "Log out") {
		t.Fatalf("no way to log out: %s", page.Body)
	}
	out := b.Decide(page, "decision", "logout", "scope", "read", "ttl", "1h", "passphrase", "")
	if out.Status != http.StatusOK || !strings.Contains(string(out.Body), `type="password"`) {
		t.Errorf("after it: %d %s", out.Status, out.Body)
	}
	_, scope := radios(out, "scope")
	_, ttl := radios(out, "ttl")
	if scope != "read" || ttl != "1h" {
		t.Errorf("%s for %s is checked", scope, ttl)
	}
	if r := b.Decide(out, "passphrase", ""); r.Status != http.StatusUnauthorized {
		t.Errorf("approved without the passphrase: %d", r.Status)
	}
	if again := b.Do(http.MethodGet, "/authorize?"+Query(c).Encode(), "", http.Header{"Cookie": {copied}}); !strings.Contains(string(again.Body), `type="password"`) {
		t.Error("the login's cookie outlives it")
	}
	if list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner); err != nil || len(list) != 0 {
		t.Errorf("still listed: %+v, %v", list, err)
	}
	if r := b.Decide(out, "decision", "logout", "passphrase", ""); r.Status != http.StatusOK {
		t.Errorf("a second time: %d", r.Status)
	}
	if r := b.Decide(out); r.Status != http.StatusSeeOther {
		t.Errorf("with the passphrase: %d", r.Status)
	}
}

// With real money at stake every approval needs the passphrase.
func TestConsent_LiveAsksEachTime(t *testing.T) {
	t.Parallel()
	s := New(t, func(c *oauth.Config) { c.Trading = oauth.LiveTrading })
	c, b := s.Known(), s.Browser()
	b.Decide(b.Open(Query(c)))
	page := b.Open(Query(c))
	if !strings.Contains(string(page.Body), `type="password"`) {
		t.Error("the passphrase is not asked for")
	}
	if r := b.Decide(page, "passphrase", ""); r.Status != http.StatusUnauthorized {
		t.Errorf("approved without the passphrase: %d", r.Status)
	}
	if r := b.Decide(page); r.Status != http.StatusSeeOther {
		t.Errorf("with the passphrase: %d %s", r.Status, r.Body)
	}
}

func TestConsent_LoginExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(t, nil)
		c, b := s.Known(), s.Browser()
		b.Decide(b.Open(Query(c)))
		time.Sleep(12*time.Hour - time.Second)
		if r := b.Decide(b.Open(Query(c)), "passphrase", ""); r.Status != http.StatusSeeOther {
			t.Errorf("%d within 12 hours", r.Status)
		}
		time.Sleep(2 * time.Second)
		Documented(t, b.Decide(b.Open(Query(c)), "passphrase", ""))
	})
}

package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/internal/testkit/fake/oidc"
	"candela/lib/fault"
)

func signOut(s *Scene, token string) Response {
	return s.Do(http.MethodPost, "/signin/logout", "application/x-www-form-urlencoded", url.Values{"logout_token": {token}}.Encode(), nil)
}

// signedIn returns a browser with a login, and a token and a code that were approved in it.
func signedIn(t *testing.T, s *Scene) (b *Browser, c Client, token, code string) {
	t.Helper()
	b, c = s.Browser(), s.Known()
	approve := func(page Response) string { return allow(b, page).Location(t).Query().Get("code") }
	token = s.Redeem(TokenForm(c, approve(b.SignIn(Query(c))))).Text(t, "access_token")
	return b, c, token, approve(b.Open(Query(c)))
}

func TestSignIn_LogoutEndsLoginsAndTokens(t *testing.T) {
	t.Parallel()
	for name, person := range map[string]oidc.Person{"by session": oidc.Ann(), "by subject": {Subject: "0001"}} {
		s, idp := NewSignIn(t, anyone(), nil)
		b, c, token, code := signedIn(t, s)
		bob := oidc.Person{Subject: "0002", Session: "s-bob", Name: "Bob"}
		idp.SignIn(bob)
		_, _, other, _ := signedIn(t, s)
		Documented(t, signOut(s, idp.LogoutToken(person, nil)))
		if _, err := s.Server.Authorize(t.Context(), token); fault.KindOf(err) != fault.Unauthorized {
			t.Errorf("%s: the token lives: %v", name, err)
		}
		if r := s.Redeem(TokenForm(c, code)); r.Status != http.StatusBadRequest {
			t.Errorf("%s: the code lives: %d", name, r.Status)
		}
		if page := b.Open(Query(c)); page.Status != http.StatusSeeOther {
			t.Errorf("%s: the browser is logged in: %d", name, page.Status)
		}
		if _, err := s.Server.Authorize(t.Context(), other); err != nil {
			t.Errorf("%s: the token of somebody else ended: %v", name, err)
		}
	}
}

func TestSignIn_LogoutMayKeepTokens(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), func(c *oauth.Config) { c.SignIn.KeepTokens = true })
	b, c, token, code := signedIn(t, s)
	Documented(t, signOut(s, idp.LogoutToken(oidc.Ann(), nil)))
	if _, err := s.Server.Authorize(t.Context(), token); err != nil {
		t.Errorf("the token ended: %v", err)
	}
	if r := s.Redeem(TokenForm(c, code)); r.Status != http.StatusOK {
		t.Errorf("the code ended: %d", r.Status)
	}
	if page := b.Open(Query(c)); page.Status != http.StatusSeeOther {
		t.Errorf("the browser is logged in: %d", page.Status)
	}
}

func TestSignIn_LogoutRefused(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), func(c *oauth.Config) { c.Limits.SignOut = oauth.Rate{Burst: 100, Every: time.Millisecond} })
	_, _, token, _ := signedIn(t, s)
	used := idp.LogoutToken(oidc.Person{Subject: "0009"}, nil)
	if r := signOut(s, used); r.Status != http.StatusOK || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", r.Status, r.Header)
	}
	for name, logout := range map[string]string{
		"nothing":         "",
		"an ID token":     idp.IDToken(oidc.Ann(), "n"),
		"a repetition":    used,
		"another event":   idp.LogoutToken(oidc.Ann(), func(c map[string]any) { c["events"] = map[string]any{"x": 1} }),
		"for another":     idp.LogoutToken(oidc.Ann(), func(c map[string]any) { c["aud"] = "other" }),
		"with a nonce":    idp.LogoutToken(oidc.Ann(), func(c map[string]any) { c["nonce"] = "n" }),
		"of long ago":     idp.LogoutToken(oidc.Ann(), func(c map[string]any) { c["iat"], c["exp"] = 1, 2 }),
		"more than 16 KB": strings.Repeat("x", 15<<10),
	} {
		r := signOut(s, logout)
		if r.Status != http.StatusBadRequest || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", name, r.Status, r.Header)
		}
		Documented(t, r)
	}
	if r := signOut(s, strings.Repeat("x", 17<<10)); r.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("17 KB: %d", r.Status)
	}
	if _, err := s.Server.Authorize(t.Context(), token); err != nil {
		t.Errorf("the token ended: %v", err)
	}
}

func TestSignIn_LogoutIsLimited(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), func(c *oauth.Config) { c.Limits.SignOut = oauth.Rate{Burst: 10, Every: time.Hour} })
	for range 10 {
		signOut(s, "x")
	}
	Documented(t, signOut(s, idp.LogoutToken(oidc.Ann(), nil)))
}

package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/access/metering"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/upstream"
	"candela/internal/config"
	"candela/internal/store/statedir"
	"candela/internal/testkit/fake/oidc"
	"candela/internal/testkit/porttest"
)

// manyOwners runs the program for owners who sign in at a provider. It returns a scene in front
// of it, its address and that of its admin listener.
func manyOwners(t *testing.T, idp *oidc.Server, home string) (s *oauthtest.Scene, address, admin string) {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(oidc.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	port, admin := porttest.Free(t), "127.0.0.1:"+porttest.Free(t)
	cfg, err := LoadConfig(config.Input{Args: []string{
		"--serve", "--port", port, "--home", home, "--shutdown-timeout", "5m", "--admin-listen", admin,
		"--owners", "oidc", "--oidc-issuer", idp.Issuer(), "--oidc-client-id", oidc.ClientID, "--oidc-client-secret-file", secret, "--oidc-allow", "group:traders",
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, end := inFront(t, cfg, port, "v9.8.7 (commit 0123456789ab)")
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return s, "http://127.0.0.1:" + port, "http://" + admin
}

func TestManyOwners_SignInAndOut(t *testing.T) {
	t.Parallel()
	idp := oidc.New(t)
	s, address, admin := manyOwners(t, idp, filepath.Join(shortDir(t), "home"))
	b, c := s.Browser(), s.Known()
	page := b.SignIn(oauthtest.Query(c))
	if !strings.Contains(string(page.Body), "You are <strong>Ann (ann@example.com)</strong>") {
		t.Fatalf("%d %s", page.Status, page.Body)
	}
	if asked := idp.Asked(); asked.Get("scope") != "openid email profile groups" || !strings.HasSuffix(asked.Get("redirect_uri"), "/signin/callback") {
		t.Errorf("asked with %v", asked)
	}
	code := b.Decide(page, "passphrase", "").Location(t).Query().Get("code")
	token := s.Redeem(oauthtest.TokenForm(c, code)).Text(t, "access_token")
	if !pings(t, address, token) {
		t.Error("the token is not accepted")
	}
	waitFor(t, func() bool {
		_, text := ask(t, http.MethodGet, admin+"/metrics", "", "")
		return strings.Contains(text, "\ncandela_signin_up 1\n")
	})
	if status, _ := ask(t, http.MethodGet, address+"/console", "", ""); status != http.StatusNotFound {
		t.Errorf("there is a console: %d", status)
	}
	out := s.Do(http.MethodPost, "/signin/logout", "application/x-www-form-urlencoded", "logout_token="+idp.LogoutToken(oidc.Ann(), nil), nil)
	if out.Status != http.StatusOK || pings(t, address, token) {
		t.Errorf("after the logout: %d %s", out.Status, out.Body)
	}
	eve := oidc.Person{Subject: "0003", Email: "eve@example.com"}
	idp.SignIn(eve)
	if r := s.Browser().SignIn(oauthtest.Query(s.Known())); r.Status != http.StatusForbidden {
		t.Errorf("eve: %d", r.Status)
	}
	for what, secret := range map[string]string{"token": token, "email": "ann@example.com", "secret": oidc.Secret, "passphrase": "no owner passphrase"} {
		if strings.Contains(s.Log.String(), secret) {
			t.Errorf("the log has the %s", what)
		}
	}
}

// The server starts without its provider, is ready, and says that nobody can sign in.
func TestManyOwners_StartWithoutTheProvider(t *testing.T) {
	t.Parallel()
	idp := oidc.New(t)
	idp.Lie(oidc.Lies{Down: true})
	s, _, admin := manyOwners(t, idp, filepath.Join(shortDir(t), "home"))
	if r := s.Browser().Open(oauthtest.Query(s.Known())); r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", r.Status, r.Header)
	}
	waitFor(t, func() bool {
		return strings.Contains(s.Log.String(), "identity provider does not answer; nobody can sign in")
	})
	if status, text := ask(t, http.MethodGet, admin+"/readyz", "", ""); status != http.StatusOK {
		t.Errorf("not ready: %d %s", status, text)
	}
	if _, text := ask(t, http.MethodGet, admin+"/metrics", "", ""); !strings.Contains(text, "\ncandela_signin_up 0\n") {
		t.Error("the metric does not say that the provider is down")
	}
}

// Calls of owners are counted, and written when the program ends.
func TestManyOwners_UseIsCounted(t *testing.T) {
	t.Parallel()
	idp, home := oidc.New(t), filepath.Join(shortDir(t), "home")
	want := metering.Line{Owner: upstream.OwnerID(idp.Issuer(), oidc.Ann().Subject), Calls: 3, Failed: 1}
	t.Cleanup(func() { // after the program has ended
		var got metering.Line
		for line, err := range metering.Read(filepath.Join(home, statedir.UsageName), time.Time{}, time.Time{}) {
			if err != nil || line.Owner != want.Owner {
				t.Errorf("%+v, %v", line, err)
			}
			got.Calls += line.Calls
			got.Failed += line.Failed
			got.Milliseconds += line.Milliseconds
		}
		if got.Calls != want.Calls || got.Failed != want.Failed || got.Milliseconds == 0 {
			t.Errorf("counted %+v, want %+v and some milliseconds", got, want)
		}
	})
	s, address, _ := manyOwners(t, idp, home)
	b, c := s.Browser(), s.Known()
	code := b.Decide(b.SignIn(oauthtest.Query(c)), "passphrase", "").Location(t).Query().Get("code")
	token := s.Redeem(oauthtest.TokenForm(c, code)).Text(t, "access_token")
	for _, call := range [][2]string{{"list_indicators", `{}`}, {"generate_chart", `{"bars":200}`}, {"generate_chart", `{"bars":0}`}, {"no_such_tool", `{}`}} {
		if status, text, _ := sendCall(t.Context(), http.DefaultClient, address, token, call[0], call[1]); status != http.StatusOK {
			t.Errorf("%s: %d %s", call[0], status, text)
		}
	}
}

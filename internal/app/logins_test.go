package app

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/config"
	"candela/internal/operate/commands"
	"candela/internal/store/loginfile"
	"candela/internal/store/statedir"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/porttest"
	"candela/lib/fault"
)

// persistent is a state directory in which servers with --persist-logins are started.
type persistent struct {
	*testing.T
	home, port, url string
	environ         []string
}

func newPersistent(t *testing.T) *persistent {
	t.Helper()
	hash, err := oauth.HashPassphrase(oauthtest.Passphrase, oauthtest.Cost())
	if err != nil {
		t.Fatal(err)
	}
	port := porttest.Free(t)
	return &persistent{T: t, home: filepath.Join(shortDir(t), "home"), port: port, url: "http://localhost:" + port, environ: []string{"CANDELA_OWNER_PASSWORD=" + hash}}
}

func (p *persistent) config(args ...string) *config.Config {
	p.Helper()
	args = append([]string{"--serve", "--persist-logins", "--port", p.port, "--home", p.home, "--shutdown-timeout", "5m"}, args...)
	cfg, err := LoadConfig(config.Input{Args: args, Environ: p.environ})
	if err != nil {
		p.Fatal(err)
	}
	return cfg
}

func (p *persistent) start(args ...string) (s *oauthtest.Scene, stop func()) {
	p.Helper()
	s, end := inFront(p.T, p.config(args...), p.port, "test")
	return s, func() {
		p.Helper()
		if err := end(); err != nil {
			p.Error(err)
		}
	}
}

// TestPersistLogins_ClientNoticesNothing restarts the server. The token, its subscription and
// the registration stay; the form and the login of a browser do not.
func TestPersistLogins_ClientNoticesNothing(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	p := newPersistent(t)
	trade := []string{"--trade", "--binance-url", venue.URL}
	s, stop := p.start(trade...)
	client, browser := s.Known(), s.Browser()
	code := browser.Decide(browser.Open(oauthtest.Query(client))).Location(t).Query().Get("code")
	token := s.Redeem(oauthtest.TokenForm(client, code)).Text(t, "access_token")
	use(t, p.url, token, "subscribe_notifications", `{"symbols":["ETHUSDT"]}`)
	old := browser.Open(oauthtest.Query(client))
	if strings.Contains(string(old.Body), `name="passphrase"`) {
		t.Error("the browser is not logged in")
	}
	stop()

	s, stop = p.start(trade...)
	defer stop()
	browser = browser.At(s)
	if got := browser.Decide(old); got.Status != http.StatusBadRequest {
		t.Errorf("a form from before the restart: %d", got.Status)
	}
	page := browser.Open(oauthtest.Query(client))
	if !registered(s, client) || !strings.Contains(string(page.Body), `name="passphrase"`) {
		t.Errorf("the registration or the login of the browser: %d", page.Status)
	}
	if got := s.Redeem(oauthtest.TokenForm(client, code)); got.Status != http.StatusBadRequest {
		t.Errorf("a code from before the restart: %d", got.Status)
	}
	// Another token of the same client asks first, and does not get the subscription.
	other := s.Redeem(oauthtest.TokenForm(client, browser.Decide(page).Location(t).Query().Get("code"))).Text(t, "access_token")
	if got := use(t, p.url, other, "list_subscriptions", `{}`); strings.Contains(got, "ETHUSDT") {
		t.Errorf("another token has the subscription: %s", got)
	}
	if got := use(t, p.url, token, "list_subscriptions", `{}`); !strings.Contains(got, "ETHUSDT") {
		t.Errorf("the token has lost its subscription: %s", got)
	}
}

// TestPersistLogins_TwoServers starts a second server in the state directory.
func TestPersistLogins_TwoServers(t *testing.T) {
	t.Parallel()
	p := newPersistent(t)
	s, stop := p.start()
	token := s.Token()
	err := Run(t.Context(), p.config(), Deps{Stderr: io.Discard, Services: Wired()})
	if !statedir.IsLocked(err) {
		t.Errorf("the second server: %v", err)
	}
	if !pings(t, p.url, token) {
		t.Error("the first server has lost the token")
	}
	if _, err := commands.RevokeStored(p.home, fault.New(fault.Unavailable, "x", "no answer")); err == nil || err.Error() != "no answer" {
		t.Errorf("the command of another process: %v", err)
	}
	stop()
	if n, err := loginfile.Count(p.home, time.Now()); n != 1 || err != nil {
		t.Errorf("%d clients, %v", n, err)
	}
}

// TestPersistLogins_FailedStartWritesNothing has a policy that cannot be read.
func TestPersistLogins_FailedStartWritesNothing(t *testing.T) {
	t.Parallel()
	p := newPersistent(t)
	if err := os.MkdirAll(p.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.home, statedir.PolicyName), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), p.config("--trade"), Deps{Stderr: io.Discard, Services: Wired()}); err == nil {
		t.Error("it starts")
	}
	if loginfile.Stored(p.home) {
		t.Error("it has written logins")
	}
}

// TestPersistLogins_DamagedFileStopsTheStart has another program write the file.
func TestPersistLogins_DamagedFileStopsTheStart(t *testing.T) {
	t.Parallel()
	p := newPersistent(t)
	_, stop := p.start()
	stop()
	path := filepath.Join(p.home, loginfile.FileName)
	if err := os.WriteFile(path, []byte("candela logins 1\n..."), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it would stop at once if it started
	err := Run(ctx, p.config(), Deps{Stderr: io.Discard, Services: Wired()})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove it") {
		t.Error(err)
	}
	if ended, err := Commands(p.config(), io.Discard).RevokeAll(t.Context()); err != nil || ended.Clients != 0 || loginfile.Stored(p.home) {
		t.Errorf("revoke-all does not remove a damaged file: %+v, %v", ended, err)
	}
}

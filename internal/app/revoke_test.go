package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/config"
	"candela/internal/operate/control"
	"candela/internal/store/replica/natstest"
	"candela/internal/testkit/porttest"
	"candela/lib/fault"
)

// pings reports whether a token is good at a server.
func pings(t *testing.T, url, token string) bool {
	t.Helper()
	status, _ := ask(t, http.MethodPost, url+"/mcp", token, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	return status == http.StatusOK
}

// registered reports whether a server knows a client id. In a browser the owner could
// approve an unknown one, a program is refused.
func registered(s *oauthtest.Scene, c oauthtest.Client) bool {
	s.TB.Helper()
	return s.Do(http.MethodGet, "/authorize?"+oauthtest.Query(c).Encode(), "", "", nil).Status == http.StatusOK
}

// streamEnds waits until the stream of a token that has ended is closed.
func streamEnds(t *testing.T, log *oauthtest.Log) {
	t.Helper()
	waitFor(t, func() bool { return strings.Contains(log.String(), `reason="token ended"`) })
}

// TestRevokeAll_OnOneNode ends what a client, its stream and a browser have.
func TestRevokeAll_OnOneNode(t *testing.T) {
	t.Parallel()
	hash, err := oauth.HashPassphrase(oauthtest.Passphrase, oauthtest.Cost())
	if err != nil {
		t.Fatal(err)
	}
	port, home := porttest.Free(t), filepath.Join(shortDir(t), "home")
	cfg, err := LoadConfig(config.Input{Args: []string{"--serve", "--port", port, "--home", home, "--shutdown-timeout", "5m"}, Environ: []string{"CANDELA_OWNER_PASSWORD=" + hash}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Commands(cfg, io.Discard).RevokeAll(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("without a server: %v", err)
	}
	s, end := inFront(t, cfg, port, "test")
	defer func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	}()
	url := "http://localhost:" + port
	first, second, client := s.Token(), s.Token(), s.Known()
	_, leave := follow(t, url, first)
	defer leave()
	if ended, err := Commands(cfg, io.Discard).RevokeAll(t.Context()); err != nil || ended.Clients != 2 {
		t.Fatalf("%+v, %v", ended, err)
	}
	if pings(t, url, first) || pings(t, url, second) {
		t.Error("a token is still good")
	}
	if registered(s, client) {
		t.Error("a registration is still good")
	}
	if ended, err := Commands(cfg, io.Discard).RevokeAll(t.Context()); err != nil || ended.Clients != 0 {
		t.Fatalf("again: %+v, %v", ended, err)
	}
	if !pings(t, url, s.Token()) {
		t.Error("nobody is let in any more")
	}
	streamEnds(t, s.Log)
}

// TestRevokeAll_WhereNobodyIsLetIn asks a program on stdio.
func TestRevokeAll_WhereNobodyIsLetIn(t *testing.T) {
	t.Parallel()
	home := shortDir(t)
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- control.Server{Home: home, Log: slog.New(slog.DiscardHandler)}.Run(ctx, t.Context(), func() { close(ready) })
	}()
	<-ready
	if _, err := Commands(&config.Config{Home: home}, io.Discard).RevokeAll(t.Context()); fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "lets nobody in") {
		t.Error(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRevokeAll_OverReplicas ends all logins by the socket of a replica, and from a
// machine where none runs.
func TestRevokeAll_OverReplicas(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	a, b := c.start(), c.start()
	elsewhere, err := LoadConfig(config.Input{
		Args: append([]string{"--home", filepath.Join(t.TempDir(), "elsewhere"), "--nats-url", c.nats, "--cluster-secret-file", natstest.SecretFile(t)}, c.extra[:2]...), Inspect: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	at := *elsewhere
	at.Home = b.home
	for where, cfg := range map[string]*config.Config{"by the server": &at, "at all replicas": elsewhere} {
		token, client := a.Token(), a.Known()
		_, leave := follow(t, a.url, token)
		ended, err := Commands(cfg, io.Discard).RevokeAll(t.Context())
		if err != nil || ended.Clients != 1 || !strings.Contains(ended.Where, where) {
			t.Fatalf("%+v, %v", ended, err)
		}
		for _, r := range []*replica{a, b} {
			waitFor(t, func() bool { return !pings(t, r.url, token) })
			// Replica b reads the token from the store. Its own key shows that it has.
			waitFor(t, func() bool { return !registered(r.Scene, client) })
		}
		leave()
	}
	token := b.Token()
	if !pings(t, a.url, token) || !pings(t, b.url, token) {
		t.Error("nobody is let in any more")
	}
	a.stop()
	b.stop()
	if ended, err := Commands(elsewhere, io.Discard).RevokeAll(t.Context()); err != nil || ended.Clients != 1 {
		t.Errorf("while none runs: %+v, %v", ended, err)
	}
	if pings(t, c.start().url, token) {
		t.Error("a token outlived that")
	}
}

// TestCluster_AChangedPassphraseEndsAllLogins changes the passphrase in a rolling
// restart of the whole program.
func TestCluster_AChangedPassphraseEndsAllLogins(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	a, b := c.start(), c.start()
	stolen := a.Token()
	_, leave := follow(t, b.url, stolen)
	defer leave()
	b.stop() // as a rolling restart does: one after the other
	_, leaveAlso := follow(t, a.url, stolen)
	defer leaveAlso()

	changed := c.with("another horse another staple")
	first := changed.start()
	if pings(t, first.url, stolen) {
		t.Error("the token is good at the replica with the new passphrase")
	}
	if log := first.Log.String(); !strings.Contains(log, "all logins revoked") || !strings.Contains(log, "passphrase changed") {
		t.Errorf("the log does not say so: %s", log)
	}
	waitFor(t, func() bool { return !pings(t, a.url, stolen) })
	decide := func(r *replica, passphrase string) int {
		browser := r.Browser()
		return browser.Decide(browser.Open(oauthtest.Query(r.Known())), "passphrase", passphrase).Status
	}
	waitFor(t, func() bool { return strings.Contains(a.Log.String(), "sign-in disabled on this replica") })
	for _, passphrase := range []string{c.passphrase, changed.passphrase} {
		if got := decide(a, passphrase); got != http.StatusServiceUnavailable {
			t.Errorf("the replica with the former passphrase: %d", got)
		}
	}
	if got := decide(first, c.passphrase); got != http.StatusUnauthorized {
		t.Errorf("the former passphrase at the new replica: %d", got)
	}
	if got := decide(first, changed.passphrase); got != http.StatusSeeOther {
		t.Errorf("the new passphrase: %d", got)
	}
	streamEnds(t, a.Log)
	a.stop()

	// The last of the roll ends nothing.
	client := first.Known()
	browser := first.Browser()
	code := browser.Decide(browser.Open(oauthtest.Query(client)), "passphrase", changed.passphrase).Location(t).Query().Get("code")
	token := first.Redeem(oauthtest.TokenForm(client, code)).Text(t, "access_token")
	second := changed.start()
	if !pings(t, first.url, token) || !pings(t, second.url, token) {
		t.Error("the second replica with the new passphrase ended a login")
	}
	for _, r := range []*replica{a, b, first, second} {
		for _, secret := range []string{stolen, token, c.passphrase, changed.passphrase, "argon2id"} {
			if strings.Contains(r.Log.String(), secret) {
				t.Errorf("a secret is in the log: %s", secret)
			}
		}
	}
}

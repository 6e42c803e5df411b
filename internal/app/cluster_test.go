package app

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"candela/internal/cluster/natstest"
	"candela/internal/config"
	fakebinance "candela/internal/fake/binance"
	"candela/internal/oauth"
	"candela/internal/oauth/oauthtest"
)

// sharedServers starts three NATS servers for all tests that want them, once.
var sharedServers = sync.OnceValues(func() (*natstest.Cluster, error) {
	dir, err := os.MkdirTemp("", "candela-app")
	if err != nil {
		return nil, err
	}
	c, err := natstest.Start(dir, 3)
	if err == nil {
		afterTests = append(afterTests, c.Stop)
	}
	afterTests = append(afterTests, func() { _ = os.RemoveAll(dir) })
	return c, err
})

// afterTests is what runs when all tests are over.
var afterTests []func()

// replica is one of several programs that share servers.
type replica struct {
	*oauthtest.Scene
	home string
	url  string
	stop func()
}

// cast is a set of replicas.
type cast struct {
	t     *testing.T
	nats  string
	extra []string
}

// newCast returns replicas of an installation of their own at the shared servers.
func newCast(t *testing.T, extra ...string) cast {
	t.Helper()
	servers, err := sharedServers()
	if err != nil {
		t.Fatal(err)
	}
	return cast{t, servers.URL(), append([]string{"--nats-prefix", "t" + rand.Text()}, extra...)}
}

// start runs a replica.
func (c cast) start() *replica {
	t := c.t
	t.Helper()
	hash, err := oauth.HashPassphrase(oauthtest.Passphrase, oauthtest.Cost())
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{home: filepath.Join(shortDir(t), "home")}
	port := freePort(t)
	cfg, err := config.Load(config.Input{
		Args:    append([]string{"--serve", "--port", port, "--base-url", "http://localhost:9315", "--home", r.home, "--nats-url", c.nats}, c.extra...),
		Environ: []string{"CANDELA_OWNER_PASSWORD=" + hash},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done, ready, log := make(chan error, 1), make(chan struct{}), &oauthtest.Log{}
	deps := Deps{Version: "test", Stderr: &signalOn{text: "msg=ready", found: ready, to: log}, Services: Wired()}
	go func() { done <- Run(ctx, cfg, deps) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	r.url = "http://127.0.0.1:" + port
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:" + port})
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	r.Scene = &oauthtest.Scene{TB: t, Handler: proxy, Log: log}
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// TestCluster_OneReplicaWorksEndToEnd lets a client in, fires an alert, and finds
// everything again after a restart in another state directory: the token, what
// fired, and what still waits.
func TestCluster_OneReplicaWorksEndToEnd(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	c := newCast(t, "--trade", "--binance-url", venue.URL)
	first := c.start()
	token := first.Token()
	use(t, first.url, token, "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1},"note":"fires"}`)
	use(t, first.url, token, "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":99999999},"note":"waits"}`)
	first.stop()
	if strings.Contains(first.Log.String(), token) {
		t.Error("the token is in the log")
	}

	second := c.start()
	if list := use(t, second.url, token, "list_alerts", `{}`); strings.Count(list, `\"alert_id\"`) != 1 || !strings.Contains(list, "waits") {
		t.Errorf("the alerts are %s", list)
	}
	if polled := use(t, second.url, token, "get_notifications", `{"wait_seconds":0}`); !strings.Contains(polled, "fires") {
		t.Errorf("polled %s", polled)
	}
	second.stop()
}

// TestCluster_AnyReplicaTakesTheNextStep registers a client at one replica, approves
// it at another and redeems its code at a third; the token is good at all of them,
// and at none after the owner has thrown the client out.
func TestCluster_AnyReplicaTakesTheNextStep(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	a, b, d := c.start(), c.start(), c.start()
	client := a.Known()
	token := d.Redeem(oauthtest.TokenForm(client, b.Code(client))).Text(t, "access_token")
	works := func(r *replica) bool {
		status, _ := ask(t, http.MethodPost, r.url+"/mcp", token, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		return status == http.StatusOK
	}
	for i, r := range []*replica{a, b, d} {
		if !works(r) {
			t.Errorf("the token is not good at replica %d", i)
		}
	}
	clients, err := Clients(t.Context(), b.home)
	if err != nil || len(clients) != 1 {
		t.Fatalf("%v, %v", clients, err)
	}
	if err := Revoke(t.Context(), b.home, clients[0].ID); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*replica{a, b, d} {
		waitFor(t, func() bool { return !works(r) })
	}
}

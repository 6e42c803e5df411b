package app

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/config"
	"candela/internal/operate/control"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/statedir"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/longtest"
	"candela/internal/testkit/porttest"
	"candela/lib/fault"
)

// replica is one of several programs that share servers.
type replica struct {
	*oauthtest.Scene
	home string
	url  string
	stop func()       // which must go well
	end  func() error // which may not
}

// cast is a set of replicas.
type cast struct {
	t          *testing.T
	nats       string
	extra      []string
	passphrase string
	hash       string // of it, the same for all and cheap
}

// with returns the cast after the passphrase was changed.
func (c cast) with(passphrase string) cast {
	c.t.Helper()
	var err error
	c.passphrase = passphrase
	if c.hash, err = oauth.HashPassphrase(passphrase, oauthtest.Cost()); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// newCast returns replicas of an installation of their own at the shared servers.
func newCast(t *testing.T, extra ...string) cast {
	t.Helper()
	servers, err := natsServers.Servers()
	if err != nil {
		t.Fatal(err)
	}
	return cast{t: t, nats: servers.URL(), extra: append([]string{"--nats-prefix", "t" + rand.Text()}, extra...)}.with(oauthtest.Passphrase)
}

// start runs a replica.
func (c cast) start() *replica {
	c.t.Helper()
	return c.startWith("")
}

// startWith runs a replica with a policy, "" for the default.
func (c cast) startWith(policy string) *replica {
	t := c.t
	t.Helper()
	r := &replica{home: filepath.Join(shortDir(t), "home")}
	if policy != "" {
		writePolicy(t, r.home, policy)
	}
	port := porttest.Free(t)
	cfg, err := LoadConfig(config.Input{
		Args:    append([]string{"--serve", "--port", port, "--base-url", "http://localhost:9315", "--home", r.home, "--nats-url", c.nats, "--cluster-secret-file", natstest.SecretFile(c.t)}, c.extra...),
		Environ: []string{"CANDELA_OWNER_PASSWORD=" + c.hash, "CANDELA_SHUTDOWN_TIMEOUT=5m"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://127.0.0.1:" + port
	r.Scene, r.end = inFront(t, cfg, port, "test")
	r.stop = func() {
		if err := r.end(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { _ = r.end() })
	return r
}

// seenBy lets a member come that never takes anything over, and waits until a replica
// has seen it. A replica sees the members in their order. It returns the member's name.
func (c cast) seenBy(r *replica) (name string) {
	t := c.t
	t.Helper()
	cfg := conn.Config{URL: c.nats, Prefix: c.extra[slices.Index(c.extra, "--nats-prefix")+1], Secret: natstest.Secret()}
	conn, err := conn.ConnectWait(t.Context(), cfg, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	name = "sentinel-" + rand.Text()
	members, err := member.Join(t.Context(), conn, member.Info{Name: name}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer members.Close()
	waitFor(t, func() bool { return strings.Contains(r.Log.String(), name) })
	return name
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
	if !statedir.IsReplica(first.home) {
		t.Error("the state directory does not say that a replica used it")
	}
	if strings.Contains(first.Log.String(), token) {
		t.Error("the token is in the log")
	}

	second := c.start()
	if list := use(t, second.url, token, "list_alerts", `{}`); strings.Count(list, `"alert_id"`) != 1 || !strings.Contains(list, "waits") {
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
	var clients []control.Client
	waitFor(t, func() bool { // the list is of what this replica has heard of
		var err error
		if clients, err = control.Clients(t.Context(), b.home, ""); err != nil {
			t.Fatal(err)
		}
		return len(clients) == 2 // and the login that approved it
	})
	newest := slices.MaxFunc(clients, func(a, b control.Client) int { return a.Approved.Compare(b.Approved) })
	if err := control.Revoke(t.Context(), b.home, newest.ID); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*replica{a, b, d} {
		waitFor(t, func() bool { return !works(r) })
	}
}

// TestCluster_OneThatCannotStartInterruptsNobody starts replicas whose port is taken,
// again and again, as an orchestrator would.
func TestCluster_OneThatCannotStartInterruptsNobody(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	c := newCast(t, "--trade", "--binance-url", venue.URL)
	first := c.start()
	waitFor(t, func() bool { return strings.Contains(first.Log.String(), "shard acquired") })
	_, port, _ := strings.Cut(strings.TrimPrefix(first.url, "http://"), ":")
	for range longtest.Pick(2, 4) {
		cfg, err := LoadConfig(config.Input{
			Args:    append([]string{"--serve", "--port", port, "--base-url", "http://localhost:9315", "--home", filepath.Join(shortDir(t), "home"), "--nats-url", c.nats, "--cluster-secret-file", natstest.SecretFile(t)}, c.extra...),
			Environ: []string{"CANDELA_OWNER_PASSWORD=" + c.hash},
		})
		if err != nil {
			t.Fatal(err)
		}
		var log oauthtest.Log
		if err := Run(t.Context(), cfg, Deps{Version: "test", Stderr: &log, Services: Wired()}); err == nil {
			t.Fatal("two replicas listen at one port")
		}
		// By its own log: the first one may see so short a visit only when it is over.
		if !strings.Contains(log.String(), "replica joined") {
			t.Errorf("the replica did not get so far as to take part:\n%s", log.String())
		}
	}
	c.seenBy(first) // and with it everyone who came before
	if strings.Contains(first.Log.String(), "shard released") {
		t.Error("a replica that never started took something over")
	}
}

// TestCluster_ReplicasShareAlertsAndTheAccount uses three replicas as one server, and
// stops them one after the other: what was set at one is listed at all, an order that
// was placed at one is everyone's, and the last one left has it all.
func TestCluster_ReplicasShareAlertsAndTheAccount(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1, Knows: func(string) bool { return true }}))
	t.Cleanup(venue.Close)
	c := newCast(t, "--trade", "--binance-url", venue.URL)
	all := []*replica{c.start(), c.start(), c.start()}
	token := all[0].Token()
	symbols := []string{"BTCUSDT", "ETHUSDT", "SOLUSDT", "BNBUSDT", "XRPUSDT", "DOGEUSDT"}
	var keys []string // of the orders that were filled
	placed := 0
	for i, symbol := range symbols {
		at := all[i%3].url
		use(t, at, token, "set_alert", `{"symbol":"`+symbol+`","condition":{"price_above":0.0001},"note":"fires"}`)
		use(t, at, token, "set_alert", `{"symbol":"`+symbol+`","condition":{"price_above":99999999},"note":"waits"}`)
	}
	for i, r := range all {
		if list := use(t, r.url, token, "list_alerts", `{}`); strings.Count(list, `"alert_id"`) != len(symbols) {
			t.Errorf("replica %d lists %s", i, list)
		}
		key, orders := buy(t, r.url, token, "order "+strconv.Itoa(i))
		keys, placed = append(keys, key), placed+orders
	}
	polled := 0
	waitFor(t, func() bool {
		polled += strings.Count(use(t, all[polled%3].url, token, "get_notifications", `{"wait_seconds":0}`), `"alert_id"`)
		return polled >= len(symbols)
	})
	if polled != len(symbols) {
		t.Errorf("%d notifications of %d alerts", polled, len(symbols))
	}
	for left := 3; left > 0; left-- {
		for i, r := range all[3-left:] {
			orders := useAgain(t, r.url, token, "get_orders", `{}`)
			if n, filled := strings.Count(orders, `"order_id"`), strings.Count(orders, `"status":"filled"`); n != placed || filled != len(keys) {
				t.Fatalf("with %d left, %d lists %d orders of which %d are filled, want %d and %d: %s", left, i, n, filled, placed, len(keys), orders)
			}
			if list := useAgain(t, r.url, token, "list_alerts", `{}`); strings.Count(list, `"note":"waits"`) != len(symbols) {
				t.Errorf("with %d left, %d lists %s", left, i, list)
			}
			// The order of before, and not another.
			for _, key := range keys {
				useAgain(t, r.url, token, "place_order", smallOrder(key))
			}
		}
		all[3-left].stop()
	}
}

// smallOrder is the arguments of a small purchase with a key.
func smallOrder(key string) string {
	return fmt.Sprintf(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"idempotency_key":%q}`, key)
}

// buy places small orders one after the other until one is filled, and returns its key and how many it
// took. On a busy machine an order may be on its way for longer than a call waits for it, or be recorded
// and not sent because it waited for too long.
func buy(t *testing.T, url, token, name string) (key string, placed int) {
	t.Helper()
	placed = 1
	waitFor(t, func() bool {
		key = name + " " + strconv.Itoa(placed)
		status, text := ask(t, http.MethodPost, url+"/mcp", token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"place_order","arguments":`+smallOrder(key)+`}}`)
		switch isError := strings.Contains(text, `"isError":true`); {
		case status == http.StatusOK && !isError:
			return strings.Contains(text, `"status":"filled"`)
		case strings.Contains(text, `"code":"not_sent"`):
			placed++
		case !strings.Contains(text, `"retryable":true`):
			t.Fatalf("place_order: %d %s", status, text)
		}
		return false
	})
	return key, placed
}

// TestCluster_TheOwnerHaltsTheTradingReplica halts from another machine, by the socket of
// a replica that does not trade, and while no replica runs.
func TestCluster_TheOwnerHaltsTheTradingReplica(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	c := newCast(t, "--trade", "--binance-url", venue.URL)
	a, b := c.start(), c.start()
	token := a.Token()
	passes := func(r *replica) bool { return orderPasses(t, r, token) }
	elsewhere := c.elsewhere()
	want := func(state control.TradingState, err error, level, where string) {
		t.Helper()
		if err != nil || state.Level != level || !strings.Contains(state.Where, where) {
			t.Fatalf("%+v, %v, want %s %s", state, err, level, where)
		}
	}
	waitFor(t, func() bool { return passes(a) })
	state, err := Commands(elsewhere, io.Discard).Halt(t.Context(), "enough")
	want(state, err, "HALTED", "in the replica that trades")
	if passes(a) || passes(b) {
		t.Error("an order passes though trading is halted")
	}
	for _, r := range []*replica{a, b} {
		at := *elsewhere
		at.Home = r.home
		state, err = resumeReplicas(t, &at)
		want(state, err, "ACTIVE", "in the program that runs there")
		waitFor(t, func() bool { return passes(a) })
		waitFor(t, func() bool { return passes(b) })
		state, err = Commands(&at, io.Discard).Halt(t.Context(), "")
		want(state, err, "HALTED", "in the program that runs there")
	}
	state, err = resumeReplicas(t, elsewhere)
	want(state, err, "ACTIVE", "in the replica that trades")
	a.stop()
	b.stop()
	state, err = Commands(elsewhere, io.Discard).Halt(t.Context(), "")
	want(state, err, "HALTED", "no replica is running")
	if d := c.start(); passes(d) {
		t.Error("an order passes though trading was halted before the start")
	}
}

// TestCluster_OneOnAnotherAccountRefusesToStart starts a replica on Binance's testnet
// beside one on paper.
func TestCluster_OneOnAnotherAccountRefusesToStart(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	c := newCast(t, "--trade", "--binance-url", venue.URL)
	first := c.start()
	cfg, err := LoadConfig(config.Input{
		Args: append([]string{
			"--serve", "--port", porttest.Free(t), "--base-url", "http://localhost:9315", "--home", filepath.Join(shortDir(t), "home"), "--nats-url", c.nats, "--cluster-secret-file", natstest.SecretFile(t), "--broker", "binance",
		}, c.extra...),
		Environ: []string{"CANDELA_OWNER_PASSWORD=" + c.hash, "CANDELA_BINANCE_API_KEY=" + fakebinance.Key, "CANDELA_BINANCE_API_SECRET=" + fakebinance.Secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = Run(t.Context(), cfg, Deps{Version: "test", Stderr: io.Discard, Services: Wired()})
	f := fault.Of(err)
	if f == nil || f.Code != "another_account" || !strings.Contains(f.Message, "configured for account owner/binance-testnet") || !strings.Contains(f.Message, "trades on owner.") {
		t.Errorf("it ends with %v", err)
	}
	seen := c.seenBy(first)
	for line := range strings.Lines(first.Log.String()) {
		if strings.Contains(line, "replica joined") && !strings.Contains(line, seen) {
			t.Errorf("it took part before it was refused: %s", line)
		}
	}
}

// TestCluster_AStopHandsOverAndClosesStreams stops the replica at which a client
// listens: its alerts and the account are let go before the stream ends, the stream
// ends with a word when to come back, and at another replica nothing is missed.
func TestCluster_AStopHandsOverAndClosesStreams(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	admin := porttest.Free(t)
	c := newCast(t, "--trade", "--binance-url", venue.URL)
	watched := c
	watched.extra = append(slices.Clone(c.extra), "--admin-listen", "127.0.0.1:"+admin)
	a := watched.start()
	b := c.start()
	token := a.Token()
	// A replica that becomes the owner of the account compares it with the venue, and is
	// not ready until it has. When that happens depends on the order in which they join.
	var status int
	var text string
	defer func() {
		if t.Failed() {
			t.Logf("a last said whether it was ready: %d %s", status, text)
		}
	}()
	waitFor(t, func() bool {
		status, text = ask(t, http.MethodGet, "http://127.0.0.1:"+admin+"/readyz", "", "")
		return status == http.StatusOK && strings.Contains(text, `"nats":{"ready":true}`)
	})
	next, leave := follow(t, a.url, token)
	use(t, a.url, token, "subscribe_notifications", `{}`)
	use(t, b.url, token, "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":2.5},"note":"first"}`)
	wantNotice(t, next(), `2\.5`, "first")
	for _, want := range []string{"candela_cluster_members 2\n", "candela_cluster_connected 1\n", `candela_cluster_calls_total{outcome="done"}`} {
		waitFor(t, func() bool { // a hears of b when b's heartbeat comes by
			_, metrics := ask(t, http.MethodGet, "http://127.0.0.1:"+admin+"/metrics", "", "")
			return strings.Contains(metrics, want)
		})
	}
	a.stop()
	leave()
	log := a.Log.String()
	ended := strings.Index(log, `msg="stream closed"`)
	if ended < 0 || !strings.Contains(log[ended:], `reason="server stops"`) {
		t.Fatalf("the stream did not end with the server: %s", log)
	}
	if strings.Contains(log[ended:], "shard released") || strings.Contains(log, "drain incomplete") {
		t.Errorf("something was handed over after the stream had ended: %s", log)
	}
	use(t, b.url, token, "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":3.5},"note":"second"}`)
	next, leave = follow(t, b.url, token)
	defer leave()
	wantNotice(t, next(), `3\.5`, "second")
}

// TestCluster_AStopDoesNotWaitForServersThatAreGone takes the servers away first: the
// stream still ends with the server, within half of the time for a stop.
func TestCluster_AStopDoesNotWaitForServersThatAreGone(t *testing.T) {
	t.Parallel()
	servers, err := natstest.Start(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Stop)
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	extra := []string{"--nats-prefix", "p", "--nats-allow-single", "--trade", "--binance-url", venue.URL, "--shutdown-timeout", "24s"}
	c := cast{t: t, nats: servers.URL(), extra: extra}.with(oauthtest.Passphrase)
	r := c.start()
	_, leave := follow(t, r.url, r.Token())
	defer leave()
	servers.Kill(0)
	if err := r.end(); err != nil {
		t.Logf("the stop reports: %v", err) // for example a write that failed
		if strings.Contains(err.Error(), "not stopped within") {
			t.Error("the second half of the time was not enough for everything else")
		}
	}
	log := r.Log.String()
	if !strings.Contains(log, `reason="server stops"`) {
		t.Errorf("the stream did not end with the server: %s", log)
	}
	// It gave up when no server could be reached, before its time was over.
	if !strings.Contains(log, `take over after a timeout" error="The shared store is unavailable.`) {
		t.Errorf("it went on for another reason: %s", log)
	}
}

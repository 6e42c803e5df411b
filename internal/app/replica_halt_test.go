package app

import (
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/config"
	"candela/internal/operate/control"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/statedir"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/lib/fault"
)

// elsewhere is the configuration of a command at a machine without a replica.
func (c cast) elsewhere() *config.Config {
	c.t.Helper()
	cfg, err := LoadConfig(config.Input{
		Args: append([]string{"--home", filepath.Join(c.t.TempDir(), "elsewhere"), "--nats-url", c.nats, "--cluster-secret-file", natstest.SecretFile(c.t)}, c.extra[:2]...), Inspect: true,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return cfg
}

// orderPasses reports whether a small order is taken at a replica.
func orderPasses(t *testing.T, r *replica, token string) bool {
	t.Helper()
	_, text := ask(t, http.MethodPost, r.url+"/mcp", token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"place_order","arguments":{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"idempotency_key":"`+rand.Text()+`"}}}`)
	return !strings.Contains(text, `"isError":true`)
}

// resumeReplicas resumes, and retries while it is asked to: a replica that does not
// answer within two seconds is enough for that.
func resumeReplicas(t *testing.T, cfg *config.Config) (state control.TradingState, err error) {
	t.Helper()
	waitFor(t, func() bool {
		state, err = Commands(cfg, io.Discard).Resume(t.Context())
		f := fault.Of(err)
		return err == nil || f == nil || !f.Retryable
	})
	return state, err
}

// putHaltFile puts a halt file into a state directory.
func putHaltFile(t *testing.T, home string) (path string, remove func()) {
	t.Helper()
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(home, statedir.HaltName)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// TestCluster_HaltFilesAreNamed puts a halt file beside each of two replicas: wherever
// the owner asks, the file and its replica are named.
func TestCluster_HaltFilesAreNamed(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	c := newCast(t, "--trade", "--binance-url", venue.URL)
	a, b := c.start(), c.start()
	token, elsewhere := a.Token(), c.elsewhere()
	resume := func(home string) error {
		at := *elsewhere
		at.Home = home
		_, err := resumeReplicas(t, &at)
		return err
	}
	waitFor(t, func() bool { return orderPasses(t, a, token) })
	for _, r := range []*replica{a, b} {
		path, remove := putHaltFile(t, r.home)
		named := path + " at the replica "
		waitFor(t, func() bool { return !orderPasses(t, a, token) })
		for _, home := range []string{a.home, b.home} {
			wantStatus(t, home, "owner_halt by the file "+named)
		}
		for _, home := range []string{a.home, b.home, elsewhere.Home} {
			err := resume(home)
			if f := fault.Of(err); f == nil || f.Kind != fault.Conflict || !strings.Contains(f.Message, named) || !strings.Contains(f.Message, r.url[strings.LastIndex(r.url, ":"):]+" halts trading: remove it first") {
				t.Errorf("resumed from %s: %v", home, err)
			}
		}
		remove()
		if err := resume(elsewhere.Home); err != nil {
			t.Errorf("resumed without the file: %v", err)
		}
	}
	if _, err := Commands(elsewhere, io.Discard).Halt(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	path, remove := putHaltFile(t, a.home) // which is not why trading is halted
	wantStatus(t, b.home, "by candela halt: enough; lifted with candela resume. The file "+path+" at the replica ")
	remove()
	_, remove = putHaltFile(t, elsewhere.Home) // of a replica that does not run
	if err := resume(elsewhere.Home); fault.Of(err) == nil || fault.Of(err).Code != "halt_file" {
		t.Errorf("resumed beside the file of a replica that does not run: %v", err)
	}
	remove()
}

// wantStatus waits until the status at a state directory says why trading is halted.
func wantStatus(t *testing.T, home, why string) {
	t.Helper()
	var s control.Status
	var err error
	defer func() {
		if t.Failed() {
			t.Logf("the status at %s is %+v, %v", home, s, err)
		}
	}()
	waitFor(t, func() bool {
		s, err = Commands(&config.Config{Home: home}, io.Discard).ReadStatus(t.Context())
		return err == nil && len(s.Accounts) == 1 && s.Accounts[0].Level == "HALTED" && strings.Contains(s.Accounts[0].Why, why)
	})
}

// TestCluster_AWordThatNobodyTakes is said while a replica takes part that never comes
// to trade.
func TestCluster_AWordThatNobodyTakes(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	cfg := c.elsewhere()
	conn, err := Runtime{Config: cfg, Log: cfg.Log.Logger(io.Discard)}.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	members, err := member.Join(t.Context(), conn, member.Info{Name: "starts", Account: accountOwner}, cfg.Log.Logger(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(members.Close)
	for name, say := range map[string]func() (control.TradingState, error){
		"Try again, or create the file HALT": func() (control.TradingState, error) { return Commands(cfg, io.Discard).Halt(t.Context(), "") },
		"nothing was done. Try again":        func() (control.TradingState, error) { return Commands(cfg, io.Discard).Resume(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := say()
			f := fault.Of(err)
			if f == nil || f.Code != "nobody_trades" || !f.Retryable || !strings.Contains(f.Message, name) || strings.Contains(f.Message, statedir.HaltName) != strings.Contains(name, statedir.HaltName) {
				t.Errorf("got %v", err)
			}
		})
	}
}

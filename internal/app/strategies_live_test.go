package app

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/operate/control"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/deploy"
	"candela/internal/work/strategies"
)

// TestStrategies_BesideABroker runs strategies on paper and on the account of a broker in one program: each is announced to its
// own desk, a halt and a policy are for both, and what was started goes on after a restart.
func TestStrategies_BesideABroker(t *testing.T) { //nolint:tparallel // its parts use one state directory
	t.Parallel()
	home := filepath.Join(t.TempDir(), "own")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(home, "keys")
	if err := os.WriteFile(keys, []byte(fakebinance.Key+"\n"+fakebinance.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	defer venue.Close()
	settings := []string{"--strategies", "live", "--broker", "binance", "--binance-key-file", keys, "--binance-trade-url", venue.URL, "--paper-cash", "USDT=5000"}
	act := func(act, name string, how strategies.How) (strategies.View, error) {
		v, reached, err := control.ActOnStrategy(t.Context(), home, act, name, how)
		if !reached {
			t.Fatal("no program runs")
		}
		return v, err
	}
	capped := strategies.Limits{Cap: decimal.NewFromInt(100)}
	t.Run("first", func(t *testing.T) { //nolint:paralleltest // the next part goes on from it
		p := startIn(t, home, settings...)
		script, _ := json.Marshal(walkStrategy)
		for _, name := range []string{"at-broker", "on-paper"} {
			if text, failed := p.settled("propose_deployment", fmt.Sprintf(`{"name":%q,"symbol":"BTCUSDT","interval":"5m","bars":%d,"script":%s}`, name, 500+len(name), script)); failed || !strings.Contains(text, `"entries_with_stop":`) {
				t.Fatal(text)
			}
		}
		if v, err := act("start", "at-broker", strategies.How{Stage: "live", Limits: capped}); err != nil || v.Stage != "live" {
			t.Fatalf("%+v %v", v, err)
		}
		if v, err := act("start", "on-paper", strategies.How{Stage: "paper", Limits: capped}); err != nil || v.Stage != "paper" {
			t.Fatalf("%+v %v", v, err)
		}
		if s, _, err := control.Halt(t.Context(), home, "both"); err != nil || s.Level != "HALTED" {
			t.Fatalf("%+v %v", s, err)
		}
		if s, _, err := control.Resume(t.Context(), home); err != nil || s.Level != "ACTIVE" {
			t.Fatalf("%+v %v", s, err)
		}
		if err := os.WriteFile(filepath.Join(home, "policy.toml"), []byte("max_open_orders = 7\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, _, err := control.ApplyPolicy(t.Context(), home); err != nil || len(s.Changes) != 1 {
			t.Fatalf("%+v %v", s, err)
		}
		shown, _, err := control.ShowStrategy(t.Context(), home, "on-paper")
		var gates []string
		for _, g := range shown.Gates {
			gates = append(gates, fmt.Sprint(g.Name, " ", g.Met))
		}
		if err != nil || len(gates) != 7 || gates[0] != "proven false" || gates[4] != "venue true" {
			t.Errorf("%v %v", gates, err)
		}
		// Play money needs no proof but that it is computed again and that the venue takes it.
		if v, err := act("promote", "on-paper", strategies.How{Limits: capped}); err != nil || v.Stage != "live" {
			t.Errorf("%+v %v", v, err)
		}
	})
	p := startIn(t, home, settings...)
	if text, failed := p.call("list_deployments", "{}"); failed || strings.Count(text, `"stage":"live"`) != 2 || strings.Contains(text, "are not sent") {
		t.Errorf("after a restart: %s", text)
	}
	for _, name := range []string{"at-broker", "on-paper"} {
		if v, err := act("stop", name, strategies.How{Close: true}); err != nil || v.State != string(deploy.Stopped) {
			t.Errorf("%+v %v", v, err)
		}
	}
}

package app

import (
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/config"
	"candela/internal/operate/control"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/statedir"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/porttest"
	"candela/lib/fault"
)

// writePolicy writes the policy of a state directory.
func writePolicy(t *testing.T, home, text string) {
	t.Helper()
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, statedir.PolicyName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// statusAt returns the status that a replica reports.
func statusAt(t *testing.T, home string) control.Status {
	t.Helper()
	s, reached, err := control.ReadStatus(t.Context(), home)
	if err != nil || !reached || s.Policy == nil {
		t.Fatalf("the status at %s: %+v, %v, %v", home, s, reached, err)
	}
	return s
}

// TestCluster_OnePolicyForAllReplicas starts replicas with policies that differ, one of them looser, and
// changes the policy while they run.
func TestCluster_OnePolicyForAllReplicas(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	c := newCast(t, "--trade", "--binance-url", venue.URL)
	first, second := c.start(), c.start()
	token := first.Token()
	for _, text := range []string{`max_order_notional = "none"`, "max_order_notional = 1", "approval_above = 1", `[symbol."binance:BTCUSDT"]` + "\nmax_order_quantity = 1"} {
		home := filepath.Join(shortDir(t), "home")
		writePolicy(t, home, text)
		cfg, err := LoadConfig(config.Input{
			Args:    append([]string{"--serve", "--port", porttest.Free(t), "--base-url", "http://localhost:9315", "--home", home, "--nats-url", c.nats, "--cluster-secret-file", natstest.SecretFile(t)}, c.extra...),
			Environ: []string{"CANDELA_OWNER_PASSWORD=" + c.hash},
		})
		if err != nil {
			t.Fatal(err)
		}
		err = Run(t.Context(), cfg, Deps{Version: "test", Stderr: io.Discard, Services: Wired()})
		if f := fault.Of(err); f == nil || f.Code != "other_policy" || !strings.Contains(f.Message, "candela policy apply") {
			t.Errorf("with %q it ends with %v", text, err)
		}
	}
	waitFor(t, func() bool { return orderPasses(t, second, token) })
	before := statusAt(t, first.home)
	if before.Replica == "" || before.Replica != statusAt(t, second.home).Replica {
		t.Errorf("the replica that trades is %q and %q", before.Replica, statusAt(t, second.home).Replica)
	}

	writePolicy(t, first.home, "max_order_notional = 1")
	if _, _, err := control.ApplyPolicy(t.Context(), first.home); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("applied with one new file: %v", err)
	}
	for _, r := range []*replica{first, second} {
		if now := statusAt(t, r.home); now.Policy.Fingerprint != before.Policy.Fingerprint {
			t.Errorf("%s has the policy %s", r.home, now.Policy.Fingerprint)
		}
		waitFor(t, func() bool { return orderPasses(t, r, token) })
	}

	writePolicy(t, second.home, "# the same\nmax_order_notional = 1.0")
	applied, _, err := control.ApplyPolicy(t.Context(), first.home)
	if err != nil || applied.Fingerprint == before.Policy.Fingerprint || len(applied.Changes) != 1 {
		t.Fatalf("applied: %+v, %v", applied, err)
	}
	for _, r := range []*replica{first, second} {
		if now := statusAt(t, r.home); now.Policy.Fingerprint != applied.Fingerprint || now.Policy.Differs {
			t.Errorf("%s has the policy %+v", r.home, now.Policy)
		}
		if orderPasses(t, r, token) {
			t.Errorf("an order that the new policy forbids passed at %s", r.home)
		}
	}
	third := c.startWith("max_order_notional = 1")
	if orderPasses(t, third, token) {
		t.Error("an order that the policy forbids passed at a third replica")
	}
}

package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/e2e/remote"
	"candela/internal/testkit/longtest"
)

var policyPairs = flag.Int("policy-pairs", longtest.Pick(1, 12), "how many pairs of differing policies four replicas meet")

// TestPolicy_OfFourReplicas holds that no order passes which the policy in force forbids, whatever a replica
// has in its file: a differing file is not put in force, a replica with one does not start beside the
// others, and a takeover changes nothing.
func TestPolicy_OfFourReplicas(t *testing.T) {
	t.Parallel()
	s := newSite(t, 4, true, options{trade: true})
	clients := make(map[*replica]*remote.Client)
	for i, r := range s.replicas {
		clients[r] = s.visitor(i, r, s.owner)
		s.enter(t.Context(), clients[r])
	}
	largest := []int{10, 20, 40, 80} // of an order, in USDT
	pairs := 0
	for _, inForce := range largest {
		for i, other := range largest {
			if inForce == other || pairs == *policyPairs {
				continue
			}
			pairs++
			s.policyOf(inForce, s.replicas...)
			until(t, time.Minute, fmt.Sprintf("all have the policy of %d", inForce), func() bool {
				_, err := s.run(s.replicas[0], "policy", "apply") // refused while a killed replica is not forgotten
				return err == nil
			})
			at := s.replicas[(pairs+i)%len(s.replicas)]
			s.policyOf(other, at)
			if out, err := s.run(at, "policy", "apply"); err == nil {
				t.Errorf("%s put its policy of %d in force beside %d:\n%s", at.name, other, inForce, out)
			}
			s.denies(clients, inForce, fmt.Sprintf("files-%d", pairs))
			at.kill()
			before := len(at.tail(1 << 20))
			at.start(t)
			if !at.wait(time.Minute) || !strings.Contains(at.tail(1 << 20)[before:], "The policy of this replica is") {
				t.Errorf("%s runs with its policy of %d beside %d", at.name, other, inForce)
			}
			desk := s.replicas[(pairs+i+1)%len(s.replicas)]
			desk.kill() // one of the others, which may trade
			desk.start(t)
			others := maps.Clone(clients)
			delete(others, at)
			s.denies(others, inForce, fmt.Sprintf("takeover-%d", pairs))
			s.policyOf(inForce, at)
			s.healthy()
		}
	}
	t.Logf("%d pairs of policies", pairs)
}

// policyOf writes a policy with the largest order that it allows.
func (s *site) policyOf(largest int, at ...*replica) {
	s.Helper()
	for _, r := range at {
		r.allow(s.TB)
		path := filepath.Join(r.home, "policy.toml")
		text, err := os.ReadFile(path)
		if err = errors.Join(err, os.WriteFile(path, fmt.Appendf(text, "max_order_notional = %d\n", largest), 0o600)); err != nil {
			s.Fatal(err)
		}
	}
}

// denies asks each client for an order that is larger than the policy allows, and for one that is not.
func (s *site) denies(clients map[*replica]*remote.Client, largest int, key string) {
	s.Helper()
	for r, c := range clients {
		place := func(amount float64, name string) error {
			d := &deal{key: fmt.Sprintf("%s-%s-%s", key, r.name, name), symbol: "C00USDT", side: "buy"}
			d.quantity = quantityFor(amount, s.tape.At(d.symbol, time.Now().Unix()).C)
			var err error
			defer func() {
				if s.Failed() {
					s.Logf("order %s: %v", d.key, err)
				}
			}()
			until(s.TB, time.Minute, "the order is answered", func() bool {
				if !r.running() {
					r.start(s.TB) // as a supervisor would
				}
				_, err = c.Call(s.Context(), "place_order", d.arguments())
				refusal, ok := errors.AsType[*remote.RefusalError](err)
				return err == nil || ok && (refusal.Code == "order_denied" || refusal.Code == "not_sent")
			})
			return err
		}
		refusal, ok := errors.AsType[*remote.RefusalError](place(1.5*float64(largest), "large"))
		if !ok || refusal.Code != "order_denied" || !strings.Contains(refusal.Message, "max_order_notional") {
			s.Errorf("an order of more than %d at %s: %+v", largest, r.name, refusal)
		}
		if err := place(0.8*float64(largest), "small"); err != nil {
			s.Errorf("an order of less than %d at %s: %v", largest, r.name, err)
		}
	}
}

// run runs a command beside a replica.
func (s *site) run(at *replica, args ...string) (string, error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs.Path(s.TB, build.Candela, ""), append(args, "--home", at.home)...)
	cmd.Env = []string{"HOME=" + s.dir}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/e2e/remote"
	"candela/internal/store/receipt"
	"candela/internal/testkit/longtest"
)

// TestReceipts_OfReplicas places orders at three replicas, kills the one that trades between them, and takes the receipt of each
// order at every replica, by the tool and by the command. The published keys of each verify all.
func TestReceipts_OfReplicas(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, true, options{trade: true, flags: []string{"--toolsets", "account"}})
	s.policyOf(40, s.replicas...)
	until(t, time.Minute, "the policy is in force", func() bool {
		_, err := s.run(s.replicas[0], "policy", "apply")
		return err == nil
	})
	clients := make(map[*replica]*remote.Client)
	for i, r := range s.replicas {
		clients[r] = s.visitor(i, r, s.owner)
		s.enter(t.Context(), clients[r])
	}
	var ids []string
	for round := range longtest.Pick(2, 8) {
		for i, r := range s.replicas {
			ids = append(ids, s.placed(clients[r], fmt.Sprintf("receipt-%d-%d", round, i)))
		}
		s.alert(clients[s.replicas[round%3]], fmt.Sprintf("audit-%d", round))
		s.replicas[round%3].kill() // the event of the alert is moved by another if this one had to
		ids = append(ids, s.placed(clients[s.replicas[(round+1)%3]], fmt.Sprintf("beside-%d", round)))
		s.replicas[round%3].start(t)
		s.healthy()
	}
	for i, r := range s.replicas {
		published := s.published(r)
		keys, err := receipt.ParseKeys(published)
		if err != nil || len(keys) != 1 {
			t.Fatalf("%s publishes %s: %v", r.name, published, err)
		}
		for n, id := range ids {
			var text string
			if (n+i)%2 == 0 {
				file := filepath.Join(t.TempDir(), id)
				if out, err := s.run(r, append([]string{"receipt", id, "--out", file}, s.servers.flags()...)...); err != nil {
					t.Fatalf("%s: %v\n%s", r.name, err, out)
				}
				if out, err := s.run(r, append([]string{"receipt", "verify", file}, s.servers.flags()...)...); err != nil || !strings.HasPrefix(out, "Valid: order "+id) {
					t.Errorf("%s: %v\n%s", r.name, err, out)
				}
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				text = string(data)
			} else {
				answer, err := clients[r].Call(t.Context(), "get_account", `{"receipt":"`+id+`"}`)
				if err != nil {
					t.Fatalf("%s: %v", r.name, err)
				}
				var found struct{ Receipt string }
				if err := json.Unmarshal(answer, &found); err != nil {
					t.Fatal(err)
				}
				text = found.Receipt
			}
			d, err := receipt.Parse([]byte(text))
			if err == nil {
				_, err = receipt.Verify(d, keys)
			}
			if err != nil || d.Receipt.Policy == nil || d.Receipt.Policy.Seq == 0 {
				t.Errorf("order %s at %s: %v\n%s", id, r.name, err, text)
			}
		}
	}
	t.Logf("%d receipts of %d orders verify", 3*len(ids), len(ids))
	for _, r := range s.replicas {
		s.audited(r, len(ids))
	}
	g := &gate{site: s, clients: clients}
	g.conditions()
	g.reasons()
}

// apply writes a policy with more lines at all replicas and puts it in force.
func (s *site) apply(more string) (string, error) {
	s.Helper()
	s.policyOf(40, s.replicas...)
	for _, r := range s.replicas {
		path := filepath.Join(r.home, "policy.toml")
		text, err := os.ReadFile(path)
		if err = errors.Join(err, os.WriteFile(path, append(text, more...), 0o600)); err != nil {
			s.Fatal(err)
		}
	}
	return s.run(s.replicas[0], "policy", "apply")
}

// applied waits until such a policy is in force.
func (s *site) applied(more string) {
	s.Helper()
	until(s.TB, time.Minute, "the policy is in force", func() bool {
		_, err := s.apply(more)
		return err == nil
	})
}

// gate places orders at replicas until they are answered as a test wants.
type gate struct {
	*site
	clients map[*replica]*remote.Client
	n       int
}

// answers places orders at a replica, with reasons unless these are empty, until want accepts an answer.
func (g *gate) answers(r *replica, because, what string, want func(text string, err error) bool) {
	g.Helper()
	until(g.TB, time.Minute, what+" at "+r.name, func() bool {
		g.n++
		d := &deal{key: fmt.Sprintf("condition-%d", g.n), symbol: "C00USDT", side: "buy"}
		d.quantity = quantityFor(20, g.tape.At(d.symbol, time.Now().Unix()).C)
		arguments := d.arguments()
		if because != "" {
			arguments = strings.TrimSuffix(arguments, "}") + `,"because":[` + because + "]}"
		}
		text, err := g.clients[r].Call(g.Context(), "place_order", arguments)
		return want(string(text), err)
	})
}

// denied returns what waits for a denial by a rule. No order may pass.
func (g *gate) denied(rule string) func(text string, err error) bool {
	return func(text string, err error) bool {
		if err == nil {
			g.Errorf("an order passed that the rule %s denies: %s", rule, text)
		}
		return err == nil || strings.Contains(err.Error(), rule)
	}
}

// passes returns what waits for an order with reasons that are true, in a member of the answer.
func passes(member string) func(text string, err error) bool {
	return func(text string, err error) bool {
		return err == nil && strings.Contains(text, `"`+member+`"`) && strings.Contains(text, `"true":true`)
	}
}

// during kills the replica that trades, and does something at the others while it is gone.
func (g *gate) during(check func(r *replica)) {
	g.Helper()
	for range longtest.Pick(1, 3) {
		var gone *replica
		until(g.TB, time.Minute, "a replica trades", func() bool {
			for _, r := range g.replicas {
				if page, err := r.read(g.Context(), "/metrics"); err == nil && strings.Contains(page, "\ncandela_broker_reconciled 1\n") {
					gone = r
				}
			}
			return gone != nil
		})
		gone.kill()
		for _, r := range g.replicas {
			if r != gone {
				check(r)
			}
		}
		gone.start(g.TB)
		g.healthy()
	}
}

const (
	isFalse = `{"interval":"1m","value":{"price":"close","op":">","value":99999999}}`
	isTrue  = `{"interval":"1m","value":{"price":"close","op":">","value":0.00000001}}`
)

// conditions puts conditions of the owner's own in force: one that is false denies entries at every replica, also after a takeover, one that is
// true lets them pass, and one that can never be true is refused.
func (g *gate) conditions() {
	g.Helper()
	condition := func(text string) string {
		return "[[entry_condition]]\nside = \"buy\"\ninterval = \"1m\"\ncondition = " + text + "\n"
	}
	g.applied(condition(`{ value = { price = "close", op = ">", value = 99999999 } }`))
	for _, r := range g.replicas {
		g.answers(r, "", "an order is denied", g.denied("entry_condition"))
	}
	g.during(func(r *replica) {
		g.answers(r, "", "an order is denied while a replica is gone", g.denied("entry_condition"))
	})
	g.applied(condition(`{ value = { price = "close", op = ">", value = 0.00000001 } }`))
	for _, r := range g.replicas {
		g.answers(r, "", "an order passes", passes("entry_conditions"))
	}
	if out, err := g.apply(condition(`{ value = { indicator = "rsi", op = ">", value = 100 } }`)); err == nil || !strings.Contains(out, "can never be true") {
		g.Errorf("an impossible condition is put in force: %v\n%s", err, out)
	}
}

// reasons has the owner require reasons: without any, or with a false one, no replica sends an entry, also after a takeover; with true ones each does, and the
// receipt of such an order has them.
func (g *gate) reasons() {
	g.Helper()
	g.applied("require_evidence = \"entries\"\n")
	check := func(r *replica) {
		g.answers(r, "", "an order without a reason is denied", g.denied("require_evidence"))
		g.answers(r, isTrue+","+isFalse, "an order with a false reason is denied", g.denied("evidence"))
		var id struct {
			ID string `json:"order_id"`
		}
		g.answers(r, isTrue, "an order with a true reason passes", func(text string, err error) bool {
			return passes("evidence")(text, err) && json.Unmarshal([]byte(text), &id) == nil
		})
		if out := g.must(r, "receipt", id.ID); !strings.Contains(out, `\"evidence\":[{\"interval\":\"1m\"`) || !strings.Contains(out, `\"true\":true`) {
			g.Errorf("%s: the receipt has no evidence: %s", r.name, out)
		}
	}
	for _, r := range g.replicas {
		check(r)
	}
	g.during(check)
}

// alert sets an alert that does not fire.
func (s *site) alert(c *remote.Client, note string) {
	s.Helper()
	until(s.TB, time.Minute, "the alert is set", func() bool {
		_, err := c.Call(s.Context(), "set_alert", `{"symbol":"C00USDT","condition":{"price_above":99999999},"note":"`+note+`"}`)
		return err == nil
	})
}

// audited waits until the audit log has each order, and the logins and alerts, once, and checks its chains.
func (s *site) audited(r *replica, placed int) {
	s.Helper()
	until(s.TB, time.Minute, "the audit log is complete", func() bool {
		out, err := s.run(r, append([]string{"audit", "list", "--json", "--last", "5000"}, s.servers.flags()...)...)
		if err != nil {
			return false
		}
		kinds := make(map[string]int)
		for line := range strings.Lines(out) {
			var e struct{ Kind string }
			if json.Unmarshal([]byte(line), &e) == nil {
				kinds[e.Kind]++
			}
		}
		return kinds["order_created"] == placed && kinds["alert_set"] >= longtest.Pick(2, 8) && kinds["owner_logged_in"] > 0 && kinds["token_issued"] == 3 && kinds["client_approved"] == 3
	})
	if out, err := s.run(r, append([]string{"audit", "verify"}, s.servers.flags()...)...); err != nil || !strings.Contains(out, "unbroken") {
		s.Errorf("%v\n%s", err, out)
	}
}

// published returns the keys of receipts as a replica serves them.
func (s *site) published(r *replica) []byte {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.balancer.url()+receipt.KeysPath, nil)
	if err != nil {
		s.Fatal(err)
	}
	answer, err := r.backend.http.RoundTrip(request)
	if err != nil {
		s.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != http.StatusOK {
		s.Fatalf("%s: %s, %v", r.name, answer.Status, err)
	}
	return text
}

// placed places an order and returns its ID.
func (s *site) placed(c *remote.Client, key string) string {
	s.Helper()
	d := &deal{key: key, symbol: "C00USDT", side: "buy"}
	d.quantity = quantityFor(20, s.tape.At(d.symbol, time.Now().Unix()).C)
	var answer struct {
		ID string `json:"order_id"`
	}
	until(s.TB, time.Minute, "the order is answered", func() bool {
		text, err := c.Call(s.Context(), "place_order", d.arguments())
		return err == nil && json.Unmarshal(text, &answer) == nil && answer.ID != ""
	})
	return answer.ID
}

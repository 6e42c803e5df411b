package cluster

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/e2e/remote"
	"candela/internal/store/receipt"
)

// person is an owner who signs in at every replica.
type person struct {
	name    string
	id      string // as an owner
	clients []*remote.Client
	orders  []string
	alerts  int
}

// chainLink is a chain as commands print it.
type chainLink struct {
	Events uint64 `json:"events"`
	Hash   string `json:"hash"`
}

// TestAudit_OfManyOwners has people sign in, set alerts and place orders at three replicas, one of which is killed. The log, which any replica reads, has each event
// once. An export has the chains of the log and nothing of another; a receipt is its owner's alone. After an erasure the stream AUDIT has nothing of the owner, the
// order stream has what it had, and both verify.
func TestAudit_OfManyOwners(t *testing.T) {
	t.Parallel()
	o := manyOwners(t)
	o.flags = append(o.flags, "--toolsets", "account")
	s := newSite(t, 3, true, o)
	var all []*person
	for i := range 2 {
		p := &person{name: fmt.Sprintf("person %d", i)}
		for n, r := range s.replicas {
			c := s.visitor(3*i+n, r, &remote.Owner{Person: p.name})
			s.enter(t.Context(), c)
			p.clients = append(p.clients, c)
		}
		all = append(all, p)
	}
	s.identify(all)
	for n, r := range s.replicas {
		for _, p := range all {
			s.alert(p.clients[n], fmt.Sprintf("%s at %s", p.name, r.name))
			p.alerts++
			p.orders = append(p.orders, s.placed(p.clients[n], fmt.Sprintf("%s-%d", strings.ReplaceAll(p.name, " ", "-"), n)))
		}
		if n == 1 { // the events of both are moved by another if this one had to
			s.replicas[0].kill()
			s.replicas[0].start(t)
		}
	}
	s.healthy()
	for n, r := range s.replicas {
		s.exported(r, all[n%2], all[(n+1)%2])
		s.receiptsApart(n, all[0], all[1])
		s.receiptsApart(n, all[1], all[0])
	}
	gone, stays := all[0], all[1]
	kept := filepath.Join(t.TempDir(), "receipt.json")
	s.must(s.replicas[1], "receipt", gone.orders[0], "--out", kept)
	s.erased(gone)
	s.must(s.replicas[2], "receipt", "verify", kept)
	s.must(s.replicas[2], "receipt", gone.orders[1]) // its orders are in the order stream
	s.exported(s.replicas[1], stays, gone)
	if out, err := s.run(s.replicas[1], append([]string{"owners", "resume", gone.id}, s.servers.flags()...)...); err == nil {
		t.Errorf("an erased owner is resumed: %s", out)
	}
}

// must runs a command of the cluster beside a replica.
func (s *site) must(at *replica, args ...string) string {
	s.Helper()
	out, err := s.run(at, append(args, s.servers.flags()...)...)
	if err != nil {
		s.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// identify finds the IDs of people.
func (s *site) identify(all []*person) {
	s.Helper()
	out, err := s.run(s.replicas[1], "owners", "list", "--json", "--personal")
	if err != nil {
		s.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		var o struct{ Owner, Subject string }
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			s.Fatal(err)
		}
		for _, p := range all {
			if p.name == o.Subject {
				p.id = o.Owner
			}
		}
	}
	for _, p := range all {
		if p.id == "" {
			s.Fatalf("%s is not among %s", p.name, out)
		}
	}
}

// chainsOf returns the chains of an owner by audit verify: of orders, and of all else.
func (s *site) chainsOf(at *replica, id string) (ofOrders, others chainLink) {
	s.Helper()
	var found struct {
		OK            bool
		Breaks        []any
		Owner, Others chainLink
	}
	out, err := s.run(at, append([]string{"audit", "verify", "--json", "--owner", id}, s.servers.flags()...)...)
	if err = errors.Join(err, json.Unmarshal([]byte(out), &found)); err != nil || !found.OK {
		s.Fatalf("%v: %s", err, out)
	}
	return found.Owner, found.Others
}

// listed counts the events of the log by owner and kind, and by the stream that they are in.
func (s *site) listed(at *replica) map[string]int {
	s.Helper()
	counts := make(map[string]int)
	for line := range strings.Lines(s.must(at, "audit", "list", "--json", "--last", "5000")) {
		var e struct{ Owner, Kind, Log, Subject string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.Fatal(err)
		}
		counts[e.Owner+" "+e.Kind]++
		counts[e.Log+" of "+e.Owner]++
		counts[e.Kind+" "+e.Subject]++
	}
	return counts
}

// receiptsApart takes the receipts of a person's orders at a replica, as the person and as another, whom the order is answered as one that never was.
func (s *site) receiptsApart(n int, p, other *person) {
	s.Helper()
	at := s.replicas[n]
	keys, err := receipt.ParseKeys(s.published(at))
	if err != nil {
		s.Fatal(err)
	}
	ask := func(by *person, id string) (text string, err error) {
		answer, err := by.clients[n].Call(s.Context(), "get_account", `{"receipt":"`+id+`"}`)
		if err != nil {
			return "", err
		}
		var found struct{ Receipt string }
		return found.Receipt, json.Unmarshal(answer, &found)
	}
	for _, id := range p.orders {
		text, err := ask(p, id)
		d, wrong := receipt.Parse([]byte(text))
		if err = cmp.Or(err, wrong); err == nil {
			_, err = receipt.Verify(d, keys)
		}
		if err != nil || strings.Contains(text, other.id) {
			s.Errorf("%s: the receipt of order %s of %s: %v\n%s", at.name, id, p.name, err, text)
		}
		const never = "0198f3c2-0000-7000-8000-000000000000"
		_, foreign := ask(other, id)
		_, unknown := ask(other, never)
		if foreign == nil || unknown == nil || strings.ReplaceAll(foreign.Error(), id, never) != unknown.Error() {
			s.Errorf("%s: %s asks for order %s of %s: %v\none that never was: %v", at.name, other.name, id, p.name, foreign, unknown)
		}
	}
}

// exported waits until the log has what a person did, and compares it with an export, which has nothing of another person.
func (s *site) exported(at *replica, p, other *person) {
	s.Helper()
	want := map[string]int{"order_created": len(p.orders), "alert_set": p.alerts, "client_approved": len(p.clients), "token_issued": len(p.clients)}
	until(s.TB, time.Minute, "the log is complete", func() bool {
		counts := s.listed(at)
		for kind, n := range want {
			if counts[p.id+" "+kind] != n {
				return false
			}
		}
		return true
	})
	var to string
	var manifest struct {
		Audit       chainLink         `json:"audit"`
		AuditOrders chainLink         `json:"audit_orders"`
		Sums        map[string]string `json:"sha256"`
	}
	until(s.TB, time.Minute, "an export has the chains of the log", func() bool { // which may grow meanwhile
		to = filepath.Join(s.TempDir(), "export")
		if out, err := s.run(at, "owners", "export", p.id, "--to", to); err != nil {
			s.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(to, "manifest.json"))
		if err = errors.Join(err, json.Unmarshal(text, &manifest)); err != nil {
			s.Fatal(err)
		}
		ofOrders, others := s.chainsOf(at, p.id)
		return manifest.AuditOrders == ofOrders && manifest.Audit == others
	})
	for _, name := range []string{"owners", "alerts", "orders", "fills", "journal", "audit", "audit_orders"} {
		if _, there := manifest.Sums[name+".jsonl"]; !there {
			s.Errorf("the export lacks %s: %v", name, slices.Sorted(maps.Keys(manifest.Sums)))
		}
	}
	for name := range manifest.Sums {
		text, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			s.Fatal(err)
		}
		for _, foreign := range append([]string{other.id, other.name}, other.orders...) {
			if strings.Contains(string(text), foreign) {
				s.Errorf("%s: the file %s of %s has %s of %s", at.name, name, p.name, foreign, other.name)
			}
		}
	}
	rows, err := os.ReadFile(filepath.Join(to, "orders.jsonl"))
	if err != nil {
		s.Fatal(err)
	}
	for _, id := range p.orders {
		if strings.Count(string(rows), `"id":"`+id+`","key"`) != 1 {
			s.Errorf("the export lacks order %s: %s", id, rows)
		}
	}
}

// erased erases a person and checks what is left.
func (s *site) erased(p *person) {
	s.Helper()
	at := s.replicas[2]
	if out, err := s.run(at, "owners", "suspend", p.id); err != nil {
		s.Fatalf("%v\n%s", err, out)
	}
	before := s.listed(s.replicas[0])
	ofOrders, _ := s.chainsOf(at, p.id)
	out, err := s.run(at, "owners", "erase", p.id, "--yes")
	var proof struct {
		Events   uint64 `json:"events"`
		LastHash string `json:"last_hash"`
	}
	if err = errors.Join(err, json.Unmarshal([]byte(out), &proof)); err != nil || proof.Events == 0 || len(proof.LastHash) != 64 {
		s.Fatalf("%v: %s", err, out)
	}
	for _, r := range s.replicas {
		var counts map[string]int
		until(s.TB, time.Minute, "the erasure is in the log", func() bool {
			counts = s.listed(r)
			return counts["owner_erased "+p.id] == 1
		})
		now, others := s.chainsOf(r, p.id)
		if counts["others of "+p.id] != 0 || others.Events != 0 {
			s.Errorf("%s: the stream AUDIT has %d events of an erased owner", r.name, counts["others of "+p.id])
		}
		if now.Events < ofOrders.Events || counts["orders of "+p.id] < before["orders of "+p.id] {
			s.Errorf("%s: the order stream has %+v of an erased owner, and had %+v", r.name, now, ofOrders)
		}
		// Each link that it had is still there.
		s.must(r, "audit", "verify", "--owner", p.id, "--expect", fmt.Sprintf("%d:%s", ofOrders.Events, ofOrders.Hash))
	}
	s.Logf("erased: %d events of AUDIT; the order stream keeps %d", proof.Events, ofOrders.Events)
}

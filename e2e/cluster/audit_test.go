package cluster

import (
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
// once. An export has the chains of the log. After an erasure the stream AUDIT has nothing of the owner, the order stream has what it had, and both verify.
func TestAudit_OfManyOwners(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, true, manyOwners(t))
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
		s.exported(r, all[n%2])
	}
	gone, stays := all[0], all[1]
	kept := filepath.Join(t.TempDir(), "receipt.json")
	s.must(s.replicas[1], "receipt", gone.orders[0], "--out", kept)
	s.erased(gone)
	s.must(s.replicas[2], "receipt", "verify", kept)
	s.must(s.replicas[2], "receipt", gone.orders[1]) // its orders are in the order stream
	s.exported(s.replicas[1], stays)
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

// exported waits until the log has what a person did, and compares it with an export.
func (s *site) exported(at *replica, p *person) {
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
	ofOrders, others := s.chainsOf(at, p.id)
	to := filepath.Join(s.TempDir(), "export")
	if out, err := s.run(at, "owners", "export", p.id, "--to", to); err != nil {
		s.Fatalf("%v\n%s", err, out)
	}
	var manifest struct {
		Audit       chainLink         `json:"audit"`
		AuditOrders chainLink         `json:"audit_orders"`
		Sums        map[string]string `json:"sha256"`
	}
	text, err := os.ReadFile(filepath.Join(to, "manifest.json"))
	if err = errors.Join(err, json.Unmarshal(text, &manifest)); err != nil {
		s.Fatal(err)
	}
	if manifest.AuditOrders != ofOrders || manifest.Audit != others {
		s.Errorf("%s: the export has %+v and %+v, the log %+v and %+v", at.name, manifest.AuditOrders, manifest.Audit, ofOrders, others)
	}
	for _, name := range []string{"owners", "alerts", "orders", "fills", "journal", "audit", "audit_orders"} {
		if _, there := manifest.Sums[name+".jsonl"]; !there {
			s.Errorf("the export lacks %s: %v", name, slices.Sorted(maps.Keys(manifest.Sums)))
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

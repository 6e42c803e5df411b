package cluster

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"candela/e2e/remote"
	"candela/internal/testkit/fake/oidc"
	"candela/internal/testkit/longtest"
)

var owners = flag.Int("owners", longtest.Pick(20, 200), "how many owners there are in the run with many")

// tenants are owners who sign in at a provider, each with a client that sets alerts, listens and
// polls.
type tenants struct {
	*people
	clients []*remote.Client
	polled  []map[string]int // by owner and alert; people.mu guards it
}

// manyOwners returns the options of replicas whose owners sign in at a provider of the test.
func manyOwners(tb testing.TB) options {
	tb.Helper()
	idp := oidc.New(tb)
	at, err := url.Parse(idp.Issuer())
	if err != nil {
		tb.Fatal(err)
	}
	secret := filepath.Join(tb.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(oidc.Secret+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	return options{provider: at.Host, flags: []string{
		"--owners", "oidc", "--oidc-issuer", idp.Issuer(), "--oidc-client-id", oidc.ClientID, "--oidc-client-secret-file", secret, "--oidc-allow", "anyone",
	}}
}

// newTenants lets the owners in, some at a time, and has each listen and all be polled for.
func (s *site) newTenants(n, symbols int) *tenants {
	s.Helper()
	t := &tenants{people: s.newPeople(symbols), clients: make([]*remote.Client, n), polled: make([]map[string]int, n)}
	t.apart, t.heard = true, make([]map[string][]heard, n)
	for i := range n {
		t.heard[i], t.polled[i] = map[string][]heard{}, map[string]int{}
	}
	const doors = 6
	var group sync.WaitGroup
	for door := range doors {
		group.Go(func() {
			for i := door; i < n && !s.Failed(); i += doors {
				c := s.visitor(i, nil, &remote.Owner{Person: "person " + strconv.Itoa(i)})
				t.letIn(c)
				s.subscribe(t.ctx, c)
				t.clients[i] = c
			}
		})
	}
	group.Wait()
	if s.Failed() {
		s.FailNow()
	}
	for i, c := range t.clients {
		t.busy.Go(func() { t.stayTuned(c, i, nil) })
	}
	for first := range 4 {
		t.busy.Go(func() { t.pollAll(first, 4) })
	}
	return t
}

// pollAll polls for every fourth owner, again and again.
func (t *tenants) pollAll(first, step int) {
	for t.ctx.Err() == nil {
		for i := first; i < len(t.clients); i += step {
			answer, err := t.call(t.clients[i], "get_notifications", `{}`)
			if err != nil {
				t.mu.Lock()
				t.lost = append(t.lost, time.Now())
				t.mu.Unlock()
				t.pause(100 * time.Millisecond)
				continue
			}
			t.takePolled(answer, nil)
			t.count(i, answer)
		}
		t.pause(200 * time.Millisecond)
	}
}

// count notes what one owner polled.
func (t *tenants) count(owner int, answer json.RawMessage) {
	var got []struct {
		ID string `json:"alert_id"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Error(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range got {
		t.polled[owner][n.ID]++
	}
}

// crossed counts what an owner heard or polled, or is listed, that is another's.
func (t *tenants) crossed() (n int) {
	t.Helper()
	t.mu.Lock()
	whose := map[string]int{}
	for _, a := range t.sets {
		if a.id != "" {
			whose[a.id] = a.owner
		}
	}
	foreign := func(owner int, id, how string) {
		if of, known := whose[id]; known && of != owner {
			if n++; n <= 10 {
				t.Errorf("CROSSED: owner %d %s the alert %s of owner %d", owner, how, id, of)
			}
		}
	}
	for i := range t.clients {
		for id := range t.heard[i] {
			foreign(i, id, "heard of")
		}
		for id := range t.polled[i] {
			foreign(i, id, "polled")
		}
	}
	t.mu.Unlock()
	for i, c := range t.clients {
		var list []struct {
			ID string `json:"alert_id"`
		}
		until(t.TB, time.Minute, "an owner lists alerts", func() bool {
			answer, err := t.call(c, "list_alerts", `{}`)
			return err == nil && json.Unmarshal(answer, &list) == nil
		})
		for _, a := range list {
			foreign(i, a.ID, "is listed")
		}
	}
	return n
}

// faultsOfOwners are those of a run with many owners: in the short form a replica and the leader of
// the alerts at once.
func (t *tenants) faultsOfOwners() [][]kind {
	if !brief() {
		return t.net.schedule(*rounds, *only, t.dice)
	}
	return [][]kind{{{killReplica, (*people).killReplica}, {killLeader, (*people).killLeader}}}
}

// TestFaults_ManyOwnersStayApart lets things happen to three replicas while alerts of many owners
// fall due. Every alert that was acknowledged and was due has fired once, its owner heard of it and
// polled it, and nobody else did.
func TestFaults_ManyOwnersStayApart(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, true, manyOwners(t))
	p := s.newTenants(*owners, 60)
	defer p.leave()
	stop := p.setWith(*many, setEvery, func(int) func(*rand.Rand, bool) bool {
		return func(rng *rand.Rand, _ bool) bool {
			owner := rng.IntN(len(p.clients))
			return p.setFor(p.clients[owner], owner, rng, false)
		}
	})
	var faults []fault
	for _, kinds := range p.faultsOfOwners() {
		if !brief() {
			p.pause(500*time.Millisecond + p.within(2*time.Second))
		}
		faults = append(faults, p.happen(kinds...))
	}
	stop()
	p.awaitDue(*many*5/10, 0)
	r := p.judge(p.settle(), faults)
	p.judgeDenials(faults)
	crossed := p.crossed()
	t.Logf("%d owners, %d faults, %d crossed; %s", *owners, len(faults), crossed, r)
	if r.doubled+r.pushedTwice > 0 {
		t.Errorf("DOUBLED: %d alerts, %d notifications", r.doubled, r.pushedTwice)
	}
	if r.due < *many*4/10 {
		t.Errorf("only %d of %d alerts were due: too few to say anything", r.due, *many)
	}
}

package cluster

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candela/e2e/remote"
	"candela/internal/testkit/longtest"
)

var freezes = flag.Int("freezes", longtest.Pick(3, 200), "how often a replica is stopped around a revocation")

// freeze is a replica that was stopped while a login was revoked elsewhere.
type freeze struct {
	whom    string
	began   time.Time // when the client whose login it was came in
	stopped time.Time
	acked   time.Time // when the revocation was acknowledged
	resumed time.Time
	waiting int64 // calls without an answer then
	over    time.Time
}

// scattered spreads requests over all replicas.
type scattered struct {
	*site

	turn *atomic.Uint64
}

// RoundTrip implements http.RoundTripper.
func (s scattered) RoundTrip(r *http.Request) (*http.Response, error) {
	return s.replicas[s.turn.Add(1)%uint64(len(s.replicas))].backend.http.RoundTrip(r)
}

// eager is a client that places orders and sets alerts without a pause, whatever is answered.
type eager struct {
	*people

	c       *remote.Client
	busy    sync.WaitGroup
	over    atomic.Bool
	waiting atomic.Int64
	did     [2]atomic.Int64 // orders and alerts that were acknowledged
}

// start begins to call.
func (e *eager) start(round int) {
	const workers = 6
	for i := range workers {
		e.busy.Go(func() {
			for n := 0; !e.over.Load(); n++ {
				name, arguments := "set_alert", fmt.Sprintf(`{"symbol":%q,"condition":{"price_above":1e9},"note":"freeze %d"}`, e.symbol(n%dealt), round)
				if n%2 == 0 {
					name, arguments = "place_order", e.smallOrder(fmt.Sprintf("freeze-%d-%d-%d", round, i, n), n)
				}
				ctx, cancel := context.WithTimeout(e.ctx, time.Minute)
				e.waiting.Add(1)
				if _, err := e.c.Call(ctx, name, arguments); err == nil {
					e.did[n%2].Add(1)
				}
				e.waiting.Add(-1)
				cancel()
				e.pause(time.Millisecond * time.Duration(20+rand.N(40)))
			}
		})
	}
}

// stop ends the calls when all of them are answered.
func (e *eager) stop() {
	e.over.Store(true)
	e.busy.Wait()
}

// smallOrder returns the arguments of an order: every second one sells what another bought.
func (e *eager) smallOrder(key string, n int) string {
	d := &deal{key: key, symbol: e.symbol(n / 4 % dealt), side: []string{"buy", "sell"}[n/2%2]}
	d.quantity = quantityFor(8, e.tape.At(d.symbol, time.Now().Unix()).C)
	return d.arguments()
}

// TestFreeze_NothingIsDoneForARevokedLogin stops any replica while a client calls all of them, revokes
// the client's login at another one, and lets the first go on. After the acknowledgement of the
// revocation no order reaches the venue and no alert is stored.
func TestFreeze_NothingIsDoneForARevokedLogin(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, true, options{trade: true})
	p := s.newPeople(dealt)
	defer p.leave()
	var all []freeze
	for round := range *freezes {
		all = append(all, p.freeze(round))
	}
	book, err := p.truth()
	if err != nil {
		t.Fatal(err)
	}
	last, err := p.servers.last(t.Context(), alerts)
	if err != nil {
		t.Fatal(err)
	}
	until(t, time.Minute, "the judge has read all alerts", func() bool { return p.observer.reached() >= last })
	orders, set, wrong := 0, 0, 0
	for _, f := range all {
		did := f.judge(book, p.observer)
		orders, set = orders+did.orders, set+did.alerts
		for _, text := range did.late {
			if wrong++; wrong <= 10 {
				t.Errorf("%s, stopped for %v, revoked after %v: %s", f.whom, f.resumed.Sub(f.stopped).Round(time.Millisecond), f.acked.Sub(f.stopped).Round(time.Millisecond), text)
			}
		}
		if f.waiting == 0 {
			t.Errorf("%s: no call waited for the replica that was stopped", f.whom)
		}
	}
	t.Logf("%d freezes, %d orders and %d alerts before the revocations, %d changes after them", len(all), orders, set, wrong)
	if orders < len(all) || set < len(all) {
		t.Errorf("too few orders or alerts to say anything")
	}
}

// freeze is one round.
func (p *people) freeze(round int) freeze {
	p.Helper()
	f := freeze{began: time.Now()}
	e := &eager{people: p, c: &remote.Client{
		Base: p.balancer.url(), Name: fmt.Sprintf("eager %d", round), Owner: p.owner, HTTP: remote.Plain(scattered{p.site, new(atomic.Uint64)}),
	}}
	p.enter(p.ctx, e.c)
	victim := p.any()
	clear(p.down)
	other := p.replicas[p.dice.IntN(len(p.replicas))]
	for other == victim {
		other = p.replicas[p.dice.IntN(len(p.replicas))]
	}
	id := p.clientID(other, e.c.Name)
	e.start(round)
	until(p.TB, time.Minute, "an order and an alert are acknowledged", func() bool { return e.did[0].Load() > 0 && e.did[1].Load() > 0 })
	p.pause(100*time.Millisecond + p.within(300*time.Millisecond))
	f.whom, f.stopped = victim.name, time.Now()
	victim.signal(sigStop)
	p.pause(p.within(200 * time.Millisecond))
	p.candela(other, "auth", "revoke", id)
	f.acked = time.Now()
	long := p.within(300 * time.Millisecond)
	if p.dice.IntN(5) == 0 {
		long = p.away() // until others take its place
	}
	p.pause(long)
	f.waiting, f.resumed = e.waiting.Load(), time.Now()
	victim.signal(sigCont)
	p.pause(500 * time.Millisecond)
	e.stop()
	p.healthy()
	f.over = time.Now()
	return f
}

// done is what happened for the client of a freeze.
type done struct {
	orders, alerts int // before the acknowledgement
	late           []string
}

// judge returns what the venue and the stream of alerts show of a freeze. One client is there at a time.
func (f freeze) judge(book venueBook, seen *observer) (d done) {
	for _, o := range book.Orders {
		switch {
		case o.Created.Before(f.began) || o.Created.After(f.over):
		case o.Created.After(f.acked):
			d.late = append(d.late, fmt.Sprintf("order %s came %v after it, %v after the replica went on", o.ClientID, o.Created.Sub(f.acked), o.Created.Sub(f.resumed)))
		default:
			d.orders++
		}
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for id, a := range seen.alerts {
		switch {
		case a.stored.Before(f.began) || a.stored.After(f.over):
		case a.stored.After(f.acked):
			d.late = append(d.late, fmt.Sprintf("alert %s was stored %v after it, %v after the replica went on", id, a.stored.Sub(f.acked), a.stored.Sub(f.resumed)))
		default:
			d.alerts++
		}
	}
	return d
}

// clientID returns the ID of a client as a replica lists it.
func (p *people) clientID(at *replica, name string) (id string) {
	p.Helper()
	until(p.TB, time.Minute, "the client "+name+" is listed", func() bool {
		for line := range strings.Lines(p.candela(at, "auth", "list")) {
			if strings.HasSuffix(strings.TrimSpace(line), fmt.Sprintf("%q", name)) {
				id, _, _ = strings.Cut(line, " ")
			}
		}
		return id != ""
	})
	return id
}

// candela runs a command in the state directory of a replica.
func (p *people) candela(at *replica, args ...string) string {
	p.Helper()
	out, err := p.run(at, args...)
	if err != nil {
		p.Fatalf("candela %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

package cluster

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"candela/e2e/remote"
)

var (
	many   = flag.Int("alerts", 500, "how many alerts are acknowledged")
	rounds = flag.Int("rounds", 1, "how often everything happens")
	only   = flag.String("only", "", "a text in the names of the faults that happen, \"\" for all")
)

// each is how long alerts go on being set for each fault.
const each = 8 * time.Second

// TestFaults_NothingIsLostOrDoneTwice lets everything happen to three replicas and
// their servers, some of it at the same time, while alerts fall due and orders are
// placed. In the end every alert that was acknowledged and that the venue's prices or
// the signals over them made due has fired once, and everyone was told; and every
// order that was acknowledged is in the venue's book once.
func TestFaults_NothingIsLostOrDoneTwice(t *testing.T) { // alone: what it measures is in seconds
	s := newSite(t, 3, true, options{trade: true})
	p := s.newPeople(60)
	defer p.leave()
	o := s.servers.watch(t, alerts)
	listeners := p.listen(6)
	p.poll(3)
	schedule := s.net.schedule(*rounds, *only)
	over := make(chan struct{})
	p.busy.Go(func() {
		defer close(over)
		p.setAlerts(*many, time.Duration(len(schedule))*each)
	})
	stopTrading := p.trade()
	var faults []fault
	for _, kinds := range schedule {
		p.pause(500*time.Millisecond + rand.N(2*time.Second))
		f := p.happen(kinds...)
		p.judgeTokens(listeners, &f)
		faults = append(faults, f)
	}
	<-over
	p.awaitDue(o, *many*6/10, *many/40)
	stopTrading()
	r := p.judge(o, p.settle(o), faults)
	a := p.judgeAccount(faults)
	p.judgeDenials(faults)
	t.Log(r)
	t.Log(a)
	if r.doubled+r.pushedTwice > 0 {
		t.Errorf("DOUBLED: %d alerts, %d notifications", r.doubled, r.pushedTwice)
	}
	if r.due < *many/2 || r.signals < *many/50 {
		t.Errorf("only %d of %d alerts were due, and %d on signals: too few to say anything", r.due, *many, r.signals)
	}
	if a.acked < 5*len(faults) || a.denied+a.late > a.acked/2 {
		t.Errorf("only %d orders were acknowledged, %d denied and %d too late: too few to say anything", a.acked, a.denied, a.late)
	}
}

// judgeTokens checks what a restart means to clients: tokens live as long as one
// server or replica does, subscriptions for ever.
func (p *people) judgeTokens(listeners []*remote.Client, f *fault) {
	p.Helper()
	for _, c := range listeners {
		until(p.TB, 2*time.Minute, c.Name+" is still subscribed after "+f.kind, func() bool {
			answer, err := p.call(c, "list_subscriptions", `{}`)
			return err == nil && subscribed(answer)
		})
	}
}

// ended reports whether a token that was refused had ended with a full restart.
func (d denial) ended(f fault) bool {
	return f.kind == fullRestart && d.since.Before(f.healed) && d.at.After(f.began)
}

// judgeDenials checks that tokens were refused that are from before a full restart and
// no others, and then those of all clients.
func (p *people) judgeDenials(faults []fault) {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range faults {
		refused := map[string]bool{}
		for _, d := range p.no {
			if d.ended(f) {
				refused[d.who] = true
			}
		}
		if f.kind == fullRestart && len(refused) < 9 {
			p.Errorf("after a full restart the tokens of %d clients were refused: %v", len(refused), refused)
		}
	}
	for _, d := range p.no {
		if !slices.ContainsFunc(faults, d.ended) {
			p.Errorf("at %s the token of %s was refused, and nothing was restarted since %s", d.at.Format("15:04:05"), d.who, d.since.Format("15:04:05"))
		}
	}
}

func subscribed(answer []byte) bool {
	return bytes.Contains(answer, []byte(`"subscribed":true`))
}

// TestUnguarded_FiresTwice is the run above with a build that writes without
// comparing. It must fail, or the other one proves nothing.
func TestUnguarded_FiresTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, true, options{tags: "unguarded"})
	p := s.newPeople(60)
	defer p.leave()
	o := s.servers.watch(t, alerts)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	p.busy.Go(func() { p.setAlerts(100_000, 100_000*100*time.Millisecond) })
	stops := 0
	for twice := 0; twice == 0; _, twice = o.fired() {
		if ctx.Err() != nil {
			fired, _ := o.fired()
			t.Fatalf("%d alerts fired, none of them twice, after %d faults", fired, stops)
		}
		k := s.net.kinds()
		p.happen([]kind{k[1], k[4]}[stops%2]) // a replica that does not know that others took over
		stops++
	}
	fired, twice := o.fired()
	t.Logf("without comparing, %d of %d alerts fired twice after %d faults", twice, fired, stops)
}

package cluster

import (
	"bytes"
	"flag"
	"slices"
	"testing"
	"time"

	"candela/e2e/remote"
	"candela/internal/testkit/longtest"
)

var (
	many   = flag.Int("alerts", longtest.Pick(100, 500), "how many alerts are acknowledged at least")
	rounds = flag.Int("rounds", longtest.Pick(0, 4), "how often everything happens, each by itself; 0 for once and some of it at the same time")
	only   = flag.String("only", "", "a text in the names of the faults that happen, \"\" for all")
)

// brief reports whether everything happens once, and for no longer than it takes to
// have its effect.
func brief() bool { return *rounds == 0 && *only == "" }

// setEvery is how much time lies between two alerts that are set.
const setEvery = 140 * time.Millisecond

// TestFaults_NothingIsLostOrDoneTwice lets everything happen to three replicas and
// their servers, some of it at the same time, while alerts fall due and orders are
// placed. In the end every alert that was acknowledged and that the venue's prices or
// the signals over them made due has fired once and was published to everyone; every
// order that was acknowledged is in the venue's book once; and everyone who asked for order
// events heard of it once.
func TestFaults_NothingIsLostOrDoneTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, true, options{trade: true})
	p := s.newPeople(60)
	defer p.leave()
	listeners := p.listen(6)
	p.poll(3)
	stopSetting := p.setAlerts(*many, setEvery)
	stopTrading := p.trade()
	var faults []fault
	for _, kinds := range s.net.schedule(*rounds, *only, p.dice) {
		if !brief() {
			p.pause(500*time.Millisecond + time.Duration(p.dice.Int64N(int64(2*time.Second))))
		}
		f := p.happen(kinds...)
		p.judgeTokens(listeners, &f)
		faults = append(faults, f)
	}
	stopSetting()
	signals := *many / 40
	if brief() {
		// A minute may or may not close meanwhile. If one does, all that it shows is
		// judged as in a long run.
		signals = 0
	}
	p.awaitDue(*many*6/10, signals)
	stopTrading()
	r := p.judge(p.settle(), faults)
	a := p.judgeAccount(faults)
	events := p.judgeEvents(a)
	p.judgeDenials(faults)
	if brief() {
		p.judgeSpans(faults)
	}
	t.Log(r)
	t.Log(a)
	t.Log(events)
	if r.doubled+r.pushedTwice > 0 {
		t.Errorf("DOUBLED: %d alerts, %d notifications", r.doubled, r.pushedTwice)
	}
	if r.due < *many/2 || r.signals+r.compounds < signals*4/5 {
		t.Errorf("only %d of %d alerts were due, and %d of %d on bars: too few to say anything", r.due, *many, r.signals+r.compounds, signals)
	}
	if a.acked < longtest.Pick(5*len(faults), 1000) || a.denied+a.late > a.acked/2 {
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

package cluster

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// fault is something that happened.
type fault struct {
	kind, whom    string
	began, healed time.Time // healed when every replica was ready again
}

// kind is something that can happen.
type kind struct {
	name  string
	begin func(p *people) outage
}

// outage is something that has begun to happen.
type outage struct {
	whom  string
	lasts time.Duration // in a long run
	heal  func()        // ends it; nil for what is over
	// known reports whether those that are left know of it; nil for what is over. A brief
	// run waits for it.
	known func() bool
}

// Names of what happens.
const (
	killReplica = "kill -9 of a replica"
	stopReplica = "SIGSTOP of a replica"
	termReplica = "SIGTERM of a replica"
	cutReplica  = "a replica cut off from NATS"
	killLeader  = "kill -9 of the leader of ALERTS"
	stopLeader  = "SIGSTOP of the leader of ALERTS"
	cutLeader   = "the leader of ALERTS cut off"
	rolling     = "rolling restart"
	fullRestart = "full restart"
)

// kinds are all that happen alone, in the order of a short run.
func (n *network) kinds() []kind {
	all := []kind{
		{killReplica, (*people).killReplica},
		{stopReplica, (*people).stopReplica},
		{termReplica, (*people).termReplica},
		{killLeader, (*people).killLeader},
	}
	if n.real() {
		all = append(all, kind{cutReplica, (*people).cutReplica}, kind{cutLeader, (*people).cutLeader})
	} else {
		all = append(all, kind{stopLeader, (*people).stopLeader})
	}
	return append(all, kind{rolling, (*people).roll}, kind{fullRestart, (*people).restart})
}

// quorum is what no short run has time for: two of three servers are gone at once,
// and with them who could decide anything.
func quorum() kind { return kind{"kill -9 of two of three servers", (*people).killTwo} }

// pairs are those that happen at the same time. The first is that of a short run: who
// trades and who keeps the orders are gone at once.
func (n *network) pairs() [][]kind {
	killTrader, stopTrader := kind{"kill -9 of the replica that trades", (*people).killTrader}, kind{"SIGSTOP of the replica that trades", (*people).stopTrader}
	killAny, termAny := kind{killReplica, (*people).killReplica}, kind{termReplica, (*people).termReplica}
	killOrders := kind{"kill -9 of the leader of ORDERS", (*people).killOrders}
	all := [][]kind{
		{killTrader, killOrders},
		{stopTrader, killOrders},
		{killTrader, killAny},
		{stopTrader, killAny},
	}
	if n.real() {
		cutTrader := kind{"the replica that trades cut off", (*people).cutTrader}
		all = append(all, []kind{cutTrader, termAny}, []kind{killTrader, {cutLeader, (*people).cutLeader}})
	}
	return all
}

// brief is every fault once. Some hit two replicas at the same time, which saves a wait:
// the remaining replica notices two failures as fast as one.
func (n *network) brief() (all [][]kind) {
	together := [][]string{{rolling}, {stopReplica, termReplica}, {killReplica, cutReplica}, {killLeader}, {cutLeader}, {stopLeader}, {fullRestart}}
	for _, names := range together {
		some := slices.DeleteFunc(n.kinds(), func(k kind) bool { return !slices.Contains(names, k.name) })
		if len(some) > 0 {
			all = append(all, some)
		}
	}
	return all
}

// schedule returns what happens, in order: for no round the brief one, else everything
// alone in each round, all pairs in every second round, and one of them in the first. Of
// all that only what has a text in its name, if there is one.
func (n *network) schedule(rounds int, only string, dice *rand.Rand) (all [][]kind) {
	if brief() {
		return n.brief()
	}
	for round := range max(1, rounds) {
		var some [][]kind
		for _, k := range n.kinds() {
			some = append(some, []kind{k})
		}
		switch {
		case round == 0:
			some = slices.Insert(some, 3, n.pairs()[0])
		case round%2 == 1:
			some = append(some, n.pairs()...)
		}
		if round > 0 || only != "" {
			some = append(some, []kind{quorum()})
			some = slices.DeleteFunc(some, func(kinds []kind) bool {
				return !slices.ContainsFunc(kinds, func(k kind) bool { return strings.Contains(k.name, only) })
			})
			dice.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		}
		all = append(all, some...)
	}
	return all
}

// within returns a random time that is shorter than a limit.
func (p *people) within(limit time.Duration) time.Duration {
	return time.Duration(p.dice.Int64N(int64(limit)))
}

// away is how long something is gone: longer than it takes to count as dead.
func (p *people) away() time.Duration { return 6*time.Second + p.within(4*time.Second) }

// happen lets things happen at the same time and waits until all is well again.
func (p *people) happen(kinds ...kind) fault {
	p.Helper()
	f := fault{began: time.Now()}
	var names, whom []string
	var all []outage
	for _, k := range kinds {
		one := k.begin(p)
		all, names, whom = append(all, one), append(names, k.name), append(whom, one.whom)
	}
	f.kind, f.whom = strings.Join(names, " and "), strings.Join(whom, " and ")
	if brief() {
		p.awaitEffect(f.kind, f.began, all)
	}
	slices.SortFunc(all, func(a, b outage) int { return cmp.Compare(a.lasts, b.lasts) })
	for _, one := range all {
		if !brief() {
			p.pause(time.Until(f.began.Add(one.lasts)))
		}
		if one.heal != nil {
			one.heal()
		}
	}
	clear(p.down)
	p.servers.settle()
	p.healthy()
	f.healed = time.Now()
	p.Logf("%s: %s, %s, well again after %.1f s", f.began.Format("15:04:05"), f.kind, f.whom, f.healed.Sub(f.began).Seconds())
	return f
}

// trading returns the replica that trades, nil when none does or something happens
// to it.
func (p *people) trading() *replica {
	for _, r := range p.replicas {
		if p.down[r] {
			continue
		}
		if page, err := r.read(p.ctx, "/metrics"); err == nil && strings.Contains(page, "\ncandela_broker_reconciled 1\n") {
			return r
		}
	}
	return nil
}

// trader takes the replica that trades to do something to it, and another where
// nobody knows.
func (p *people) trader() *replica {
	r := p.trading()
	for r == nil || p.down[r] {
		r = p.replicas[p.dice.IntN(len(p.replicas))]
	}
	p.down[r] = true
	return r
}

// any takes a replica to which nothing happens yet: half of the time the one that
// trades, since to lose that one is worst.
func (p *people) any() *replica {
	if p.dice.IntN(2) == 0 {
		return p.trader()
	}
	for {
		if r := p.replicas[p.dice.IntN(len(p.replicas))]; !p.down[r] {
			p.down[r] = true
			return r
		}
	}
}

func (p *people) killReplica() outage { return p.kill(p.any()) }
func (p *people) killTrader() outage  { return p.kill(p.trader()) }

func (p *people) kill(r *replica) outage {
	r.kill()
	return outage{whom: r.name, lasts: p.within(6 * time.Second), heal: func() { r.start(p.TB) }, known: p.tookOver}
}

func (p *people) stopReplica() outage { return p.halt(p.any()) }
func (p *people) stopTrader() outage  { return p.halt(p.trader()) }

func (p *people) halt(r *replica) outage {
	r.signal(sigStop)
	return outage{whom: r.name, lasts: p.away(), heal: func() { r.signal(sigCont) }, known: p.tookOver}
}

func (p *people) termReplica() outage {
	r := p.any()
	took := r.term(p.TB)
	return outage{
		whom: fmt.Sprintf("%s, which took %.1f s to end", r.name, took.Seconds()), lasts: took + p.within(3*time.Second),
		heal: func() { r.start(p.TB) }, known: p.tookOver,
	}
}

func (p *people) killLeader() outage { return p.killServer(alerts) }
func (p *people) killOrders() outage { return p.killServer(orders) }

func (p *people) killServer(stream string) outage {
	one := p.servers.leader(stream)
	one.kill()
	return outage{whom: one.name, lasts: 2*time.Second + p.within(6*time.Second), heal: func() { one.start(p.TB) }, known: p.follows(one, stream)}
}

func (p *people) killTwo() outage {
	first := p.servers.leader(orders)
	second := p.servers.all[p.dice.IntN(len(p.servers.all))]
	for second == first {
		second = p.servers.all[p.dice.IntN(len(p.servers.all))]
	}
	first.kill()
	second.kill()
	return outage{whom: first.name + ", " + second.name, lasts: 3*time.Second + p.within(22*time.Second), heal: func() { // a writer gives up after 20
		first.start(p.TB)
		second.start(p.TB)
	}}
}

func (p *people) stopLeader() outage {
	one := p.servers.leader(alerts)
	one.signal(sigStop)
	return outage{whom: one.name, lasts: p.away(), heal: func() { one.signal(sigCont) }, known: p.follows(one, alerts)}
}

func (p *people) cutReplica() outage { return p.cut(p.any()) }
func (p *people) cutTrader() outage  { return p.cut(p.trader()) }

func (p *people) cut(r *replica) outage {
	r.at.cut(true)
	return outage{whom: r.name, lasts: p.away(), heal: func() { r.at.cut(false) }, known: p.tookOver}
}

func (p *people) cutLeader() outage {
	one := p.servers.leader(alerts)
	one.at.cut(true)
	return outage{whom: one.name, lasts: p.away(), heal: func() { one.at.cut(false) }, known: p.follows(one, alerts)}
}

// roll restarts one replica after the other, as an upgrade does.
func (p *people) roll() outage {
	for _, r := range p.replicas {
		r.term(p.TB)
		r.start(p.TB)
		p.healthy()
	}
	return outage{whom: "each"}
}

// restart kills everything and starts it again.
func (p *people) restart() outage {
	for _, r := range p.replicas {
		r.kill()
	}
	for _, one := range p.servers.all {
		one.kill()
	}
	if !brief() {
		p.pause(time.Second)
	}
	for _, one := range p.servers.all {
		one.start(p.TB)
	}
	p.servers.settle()
	for _, r := range p.replicas {
		r.start(p.TB)
	}
	return outage{whom: "everything"}
}

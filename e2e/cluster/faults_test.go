package cluster

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// fault is something that happened.
type fault struct {
	kind, whom    string
	began, healed time.Time // healed when every replica was ready again
}

// kind is something that can happen.
type kind struct {
	name string
	do   func(p *people) (whom string)
}

// kinds are all of them, in the order of a short run.
func (n *network) kinds() []kind {
	all := []kind{
		{"kill -9 of a replica", (*people).killReplica},
		{"SIGSTOP of a replica", (*people).stopReplica},
		{"SIGTERM of a replica", (*people).termReplica},
		{"kill -9 of the leader of ALERTS", (*people).killLeader},
	}
	if n.real() {
		all = append(all, kind{"a replica cut off from NATS", (*people).cutReplica}, kind{"the leader of ALERTS cut off", (*people).cutLeader})
	} else {
		all = append(all, kind{"SIGSTOP of the leader of ALERTS", (*people).stopLeader})
	}
	return append(all, kind{"rolling restart", (*people).roll}, kind{"full restart", (*people).restart})
}

// away is how long something is gone: longer than it takes to count as dead.
func away() time.Duration { return 6*time.Second + rand.N(4*time.Second) }

// happen lets something happen and waits until all is well again.
func (p *people) happen(k kind) fault {
	p.Helper()
	f := fault{kind: k.name, began: time.Now()}
	f.whom = k.do(p)
	p.servers.settle()
	p.healthy()
	f.healed = time.Now()
	p.Logf("%s: %s, %s, well again after %.1f s", f.began.Format("15:04:05"), f.kind, f.whom, f.healed.Sub(f.began).Seconds())
	return f
}

func (p *people) any() *replica { return p.replicas[rand.IntN(len(p.replicas))] }

func (p *people) killReplica() string {
	r := p.any()
	r.kill()
	p.pause(rand.N(6 * time.Second))
	r.start(p.TB)
	return r.name
}

func (p *people) stopReplica() string {
	r := p.any()
	r.signal(sigStop)
	p.pause(away())
	r.signal(sigCont)
	return r.name
}

func (p *people) termReplica() string {
	r := p.any()
	took := r.term(p.TB)
	p.pause(rand.N(3 * time.Second))
	r.start(p.TB)
	return fmt.Sprintf("%s, which took %.1f s to end", r.name, took.Seconds())
}

func (p *people) killLeader() string {
	one := p.servers.leader(alerts)
	one.kill()
	p.pause(2*time.Second + rand.N(6*time.Second))
	one.start(p.TB)
	return one.name
}

func (p *people) stopLeader() string {
	one := p.servers.leader(alerts)
	one.signal(sigStop)
	p.pause(away())
	one.signal(sigCont)
	return one.name
}

func (p *people) cutReplica() string {
	r := p.any()
	r.at.cut(true)
	p.pause(away())
	r.at.cut(false)
	return r.name
}

func (p *people) cutLeader() string {
	one := p.servers.leader(alerts)
	one.at.cut(true)
	p.pause(away())
	one.at.cut(false)
	return one.name
}

// roll restarts one replica after the other, as an upgrade does.
func (p *people) roll() string {
	for _, r := range p.replicas {
		r.term(p.TB)
		r.start(p.TB)
		p.healthy()
	}
	return "each"
}

// restart kills everything and starts it again.
func (p *people) restart() string {
	for _, r := range p.replicas {
		r.kill()
	}
	for _, one := range p.servers.all {
		one.kill()
	}
	p.pause(time.Second)
	for _, one := range p.servers.all {
		one.start(p.TB)
	}
	p.servers.settle()
	for _, r := range p.replicas {
		r.start(p.TB)
	}
	return "everything"
}

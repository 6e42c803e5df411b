package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// awaitEffect waits until those that are left know what has happened and alerts have
// fallen due meanwhile. Where replicas are gone the others have fired all of those.
func (p *people) awaitEffect(what string, began time.Time, all []outage) {
	p.Helper()
	var known time.Time
	for deadline := time.Now().Add(3 * time.Minute); ; p.pause(100 * time.Millisecond) {
		due, fired := 0, 0
		missing := "not known"
		if !slices.ContainsFunc(all, func(one outage) bool { return one.known != nil && !one.known() }) {
			if known.IsZero() {
				known = time.Now()
			}
			due, fired = p.dueBetween(began, known)
			missing = fmt.Sprintf("known, %d alerts were due by then and %d of them have fired", due, fired)
		}
		switch {
		case due > 0 && (due == fired || len(p.down) == 0):
			return
		case time.Now().After(deadline):
			p.Fatalf("%s has no effect for three minutes: %s", what, missing)
		case due == 0:
			known = time.Time{}
		}
	}
}

// tookOver reports whether the replicas that are left count nobody else, and one of
// them trades.
func (p *people) tookOver() bool {
	left := fmt.Sprintf("\ncandela_cluster_members %d\n", len(p.replicas)-len(p.down))
	for _, r := range p.replicas {
		if p.down[r] {
			continue
		}
		if page, err := r.read(p.ctx, "/metrics"); err != nil || !strings.Contains(page, left) {
			return false
		}
	}
	return !p.trades || p.trading() != nil
}

// follows returns what reports whether another server leads a stream that one led.
func (p *people) follows(one *server, stream string) func() bool {
	return func() bool {
		now := p.servers.leads(stream)
		return now != nil && now != one
	}
}

// dueBetween counts the alerts that fell due in a span, and those of them that have
// fired: by the stream or by a client's notification.
func (p *people) dueBetween(from, to time.Time) (due, fired int) {
	for _, f := range p.fates(to) {
		if f.due.IsZero() || f.due.Before(from) || f.cancelled {
			continue
		}
		due++
		if f.stream != nil && len(f.stream.fired) > 0 || !f.first.IsZero() {
			fired++
		}
	}
	return due, fired
}

// judgeSpans checks that while anything happened alerts fell due and orders were under
// way: else it would say nothing of them.
func (p *people) judgeSpans(faults []fault) {
	p.Helper()
	for _, f := range faults {
		due, _ := p.dueBetween(f.began, f.healed)
		underWay := slices.ContainsFunc(p.deals, func(d *deal) bool { return d.id != "" && d.acked.After(f.began) && d.first.Before(f.healed) })
		if due == 0 || !underWay {
			p.Errorf("during %s %d alerts fell due, and an order was under way: %v", f.kind, due, underWay)
		}
	}
}

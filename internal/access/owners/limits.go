package owners

import (
	"context"
	"fmt"
	"sync"
	"time"

	"candela/internal/access/plan"
	"candela/internal/kit/bucket"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// Limits finds what an owner may have and do. A nil one is for an installation with one owner, which has none.
type Limits struct {
	Plans    *plan.InForce
	Standing func(owner principal.Owner) Standing

	mu     sync.Mutex
	orders map[int]*bucket.Set[principal.Owner] // by orders a minute
}

const (
	// remembered is the number of owners whose rate of orders is tracked, for each rate.
	remembered = 4096
	// maxRates bounds the rates of plans that came and went.
	maxRates = 64
)

// Of returns the plan of an owner.
func (l *Limits) Of(owner principal.Owner) plan.Plan {
	return l.Plans.Table().Of(l.Standing(owner).Plan)
}

// Refused returns what counts that the plan of an owner has refused something, and names the plan; nil where there is none.
func (l *Limits) Refused() func(owner principal.Owner, limit string) (plan string) {
	if l == nil {
		return nil
	}
	return func(owner principal.Owner, limit string) string {
		name := l.Of(owner).Name
		l.Plans.Refused(name, limit)
		return name
	}
}

// Orders returns what admits one more order of an owner; nil where there is no limit.
func (l *Limits) Orders() func(owner principal.Owner) error {
	if l == nil {
		return nil
	}
	return func(owner principal.Owner) error {
		p := l.Of(owner)
		wait := l.rate(p.Orders).Take(owner, time.Now())
		if wait <= 0 {
			return nil
		}
		l.Plans.Refused(p.Name, plan.Orders)
		return overPlan(wait, "Your plan %s has %d orders a minute, and this one was not sent; orders that close a position are not counted. Repeat it later.", p.Name, p.Orders)
	}
}

// rate returns the buckets of a rate of orders.
func (l *Limits) rate(perMinute int) *bucket.Set[principal.Owner] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.orders == nil || len(l.orders) >= maxRates && l.orders[perMinute] == nil {
		l.orders = make(map[int]*bucket.Set[principal.Owner])
	}
	if l.orders[perMinute] == nil {
		l.orders[perMinute] = bucket.NewSet[principal.Owner](bucket.Rate{Burst: perMinute, Every: time.Minute / time.Duration(perMinute)}, remembered)
	}
	return l.orders[perMinute]
}

// Processor returns what admits more work of an owner, by the processor time of this hour; nil where there is no limit. spent returns that time and
// when the next hour begins.
func (l *Limits) Processor(spent func(owner principal.Owner) (time.Duration, time.Time)) func(owner principal.Owner) error {
	if l == nil {
		return nil
	}
	return func(owner principal.Owner) error {
		p := l.Of(owner)
		took, until := spent(owner)
		if took < time.Duration(p.Processor)*time.Second {
			return nil
		}
		l.Plans.Refused(p.Name, plan.Processor)
		return overPlan(time.Until(until), "Your plan %s has %d s of processor time an hour for charts, indicators, scripts and back-tests, and they are used up until %s. "+
			"Alerts, orders and lists go on.", p.Name, p.Processor, until.UTC().Format("15:04 UTC"))
	}
}

// overPlan is the error of what a plan refuses for some time.
func overPlan(wait time.Duration, format string, args ...any) error {
	return &fault.Error{Kind: fault.Unavailable, Code: "plan_limit", Message: fmt.Sprintf(format, args...), Retryable: true, RetryAfter: max(wait, time.Second)}
}

// Alerts returns the limit for the engine; nil where there is none.
func (l *Limits) Alerts() func(owner principal.Owner) (alerts, symbols int) {
	if l == nil {
		return nil
	}
	return func(owner principal.Owner) (alerts, symbols int) {
		p := l.Of(owner)
		return p.Alerts, p.Symbols
	}
}

// Suspended reports for the engine whose alerts must not fire; nil where there is one owner.
func (l *Limits) Suspended() func(owner principal.Owner) bool {
	if l == nil {
		return nil
	}
	return func(owner principal.Owner) bool { return l.Standing(owner).State != Active }
}

// Engine evaluates the alerts of owners.
type Engine interface {
	Suspend(ctx context.Context, owner principal.Owner) error
	Resume(ctx context.Context, owner principal.Owner) error
}

// Standings are those of the owners of one node who are not active or not on the default plan. It
// is safe for concurrent use.
type Standings struct{ known sync.Map } // Standing by owner

// Of returns that of an owner.
func (s *Standings) Of(owner principal.Owner) Standing {
	if known, ok := s.known.Load(owner); ok {
		return known.(Standing) //nolint:forcetypeassert,errcheck // the map holds nothing else
	}
	return Standing{State: Active}
}

// Load reads them from the
func (s *Standings) Load(ctx context.Context, from Records) error {
	all, err := from.Standings(ctx)
	for owner, one := range all {
		s.known.Store(owner, one)
	}
	return err
}

// Set makes a standing take effect at the engine that evaluates all alerts.
func (s *Standings) Set(ctx context.Context, at Engine, owner principal.Owner, now Standing) error {
	before := s.Of(owner)
	if now.Usual() {
		s.known.Delete(owner)
	} else {
		s.known.Store(owner, now)
	}
	switch {
	case before.State == now.State:
		return nil
	case now.State == Active:
		return at.Resume(ctx, owner)
	}
	return at.Suspend(ctx, owner)
}

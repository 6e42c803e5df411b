package owners

import (
	"context"
	"sync"

	"candela/internal/access/plan"
	"candela/internal/kit/principal"
)

// Limits finds what an owner may have and do. A nil one is for an installation with one owner, which has none.
type Limits struct {
	Plans    plan.Table
	Standing func(owner principal.Owner) Standing
}

// Of returns the plan of an owner.
func (l *Limits) Of(owner principal.Owner) plan.Plan { return l.Plans.Of(l.Standing(owner).Plan) }

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

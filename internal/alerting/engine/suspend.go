package engine

import (
	"context"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/lib/market"
)

// Suspend keeps the alerts of an owner from firing. They stay listed and stored. Those that are
// adopted later do not fire either if Config.Suspended says so.
func (e *Engine) Suspend(ctx context.Context, owner principal.Owner) error {
	return e.do(ctx, func(l *loop) {
		l.index.DeactivateOwner(owner)
		for _, a := range l.index.List(owner) {
			l.markAllUnused(&a)
		}
	})
}

// Resume lets the alerts of an owner fire again, on the instruments that this engine evaluates.
// Bars that closed meanwhile do not count.
func (e *Engine) Resume(ctx context.Context, owner principal.Owner, mine func(market.Symbol) bool) error {
	return e.do(ctx, func(l *loop) {
		now := l.cfg.Now()
		added := make(map[alert.Dependency]bool)
		for _, a := range l.index.List(owner) {
			if mine(a.Instrument) && l.index.Activate(a.ID) {
				l.follow(&a, now, 0)
				added[a.Dependency()] = true
			}
		}
		for d := range added {
			l.load(l.track(d))
		}
	})
}

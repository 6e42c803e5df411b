package desk

import (
	"context"
	"slices"
	"time"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// How long an order waits for the verdict on its claims. One that only reduces a position does not need it.
const (
	judgeEntry = 2 * time.Second
	judgeExit  = 200 * time.Millisecond
)

// checkClaims refuses claims where there are no bars to judge them by.
func (d *Desk) checkClaims(r order.Request) error {
	if len(r.Because) == 0 || d.cfg.Judge != nil {
		return nil
	}
	return fault.New(fault.Invalid, "not_supported", "because cannot be judged here: there are no bars. Omit it.").About("because", "", "no because")
}

// judged waits for what was found of the claims of an order, and of the owner's conditions. Both are nil if there are
// none, or no bars.
type judged func() (claims, conditions []order.Evidence)

// judge begins to judge the claims of an order and the owner's conditions.
func (d *Desk) judge(ctx context.Context, s market.Symbol, claims, conditions []order.Claim, closes bool) judged {
	if len(claims)+len(conditions) == 0 || d.cfg.Judge == nil {
		return func() (_, _ []order.Evidence) { return nil, nil }
	}
	all := d.judgeClaims(ctx, s, slices.Concat(claims, conditions), closes)
	return func() (_, _ []order.Evidence) {
		found := all()
		guard.Fresh(d.view.Load().policy, d.cfg.Now(), found)
		return found[:len(claims):len(claims)], found[len(claims):]
	}
}

// judgeClaims begins to judge claims and returns a function that waits for the result.
func (d *Desk) judgeClaims(ctx context.Context, s market.Symbol, claims []order.Claim, closes bool) func() []order.Evidence {
	within := judgeEntry
	if closes {
		within = judgeExit
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	found := make(chan []order.Evidence, 1)
	go func() {
		found <- d.cfg.Judge(ctx, d.cfg.Owner, s, claims)
	}()
	return func() []order.Evidence {
		defer cancel()
		select {
		case all := <-found:
			return all
		case <-ctx.Done():
			return order.Unanswered(claims, "There was no verdict in time.")
		}
	}
}

// conditionsOf returns the owner's conditions for a request. One that surely reduces a position needs none; where the
// quantity is not known yet, the guard decides later.
func (l *loop) conditionsOf(r order.Request, closes bool) []order.Claim {
	if closes && !r.Sizing.SetsQuantity() {
		return nil
	}
	return l.cfg.Policy.EntryClaims(r.Symbol, r.Side)
}

// judgedAgain is what was found of an order that waits for the owner.
type judgedAgain struct{ claims, conditions []order.Evidence }

// judgeWaiting judges the claims of an order that waits again, and the owner's conditions as they are now: those that it
// was asked with at their own bar, as its claims.
func (d *Desk) judgeWaiting(ctx context.Context, o order.Order, p guard.Policy) judgedAgain {
	conditions := p.EntryClaims(o.Symbol, o.Side)
	for i, c := range conditions {
		if e, known := order.Found(o.Conditions, c); known && e.True {
			conditions[i].At = e.Bar
		}
	}
	var found judgedAgain
	found.claims, found.conditions = d.judge(ctx, o.Symbol, order.Again(o.Evidence), conditions, false)()
	return found
}

// markUnreasoned marks an order that passes without the claims that the owner asks for.
func (l *loop) markUnreasoned(p *proposal) {
	if p.asked.Deployment != "" || !guard.LacksEvidence(l.cfg.Policy, p.intent, p.facts) {
		return
	}
	p.asked.NoEvidence = true
	for i := range p.orders {
		if p.orders[i].ID == p.asked.ID {
			p.orders[i].NoEvidence = true
		}
	}
}

// reportUnreasoned reports a marked order to the owner once it is recorded.
func (l *loop) reportUnreasoned(t *callResult) {
	if o := t.order.Order; t.err == nil && o.NoEvidence && l.cfg.Unreasoned != nil {
		l.cfg.Unreasoned(o)
	}
}

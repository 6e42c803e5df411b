package desk

import (
	"context"
	"time"

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

// judgeClaims begins to judge claims and returns a function that waits for the result: nil without claims.
func (d *Desk) judgeClaims(ctx context.Context, s market.Symbol, claims []order.Claim, closes bool) (judged func() []order.Evidence) {
	if len(claims) == 0 || d.cfg.Judge == nil {
		return func() []order.Evidence { return nil }
	}
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

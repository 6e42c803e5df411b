package desk

import (
	"context"
	"fmt"
	"time"

	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// fundingLookback is how far back payments are read: those that are known count once.
const fundingLookback = 30 * 24 * time.Hour

// fetchFunding reads what was paid for positions in perpetual futures. What cannot be read now comes with a
// later reconciliation.
func (q venueQuery) fetchFunding(ctx context.Context, a *venueState) {
	funded, ok := q.broker.(broker.Funded)
	if !ok {
		return
	}
	var err error
	if a.funding, err = funded.Funding(ctx, q.startedAt.Add(-fundingLookback)); err != nil {
		q.log.WarnContext(ctx, "funding failed", "error", err)
	}
}

// recordFunding records the payments that are not known yet, and what stands behind the positions. Where nobody paid
// there is nothing to record.
func (l *loop) recordFunding(a venueState) {
	var events []order.Event
	for _, f := range a.funding {
		if !f.Amount.IsZero() && f.At.After(l.book.Position(f.Symbol).Funded) {
			events = append(events, order.Event{Kind: order.KindFunded, At: l.now(), VenueAt: f.At, Funding: &f})
		}
	}
	_ = l.commit(l.systemCaller(), events...) // the next reconciliation repeats it
	clear(l.margins)
	for _, h := range a.holdings {
		if h.Margin != nil {
			l.margins[h.Symbol] = h
		}
	}
	l.checkLiquidations()
}

// checkForced halts trading when the venue has closed a position by itself, and reads what stands behind a
// position that has changed.
func (l *loop) checkForced(events []order.Event) {
	for _, e := range events {
		if e.Kind != order.KindFill {
			continue
		}
		if _, named := e.Fill.Symbol.Pair(); named && l.reconciliation.succeededOnce {
			l.reconciliation.requested = true
		}
		if e.Fill.Cause != "" {
			l.restrict(l.systemCaller(), guard.Restriction{
				Kind: guard.Liquidated, Subject: e.Fill.Symbol.String(),
				Reason: fmt.Sprintf("%s of %v %v at %v", e.Fill.Cause, e.Fill.Quantity, e.Fill.Symbol, e.Fill.Price),
			})
		}
	}
}

// checkLiquidations restricts trading while a position is near its liquidation.
func (l *loop) checkLiquidations() {
	near := make(map[string]string)
	for s, h := range l.margins {
		quote, _ := l.cfg.Market.LastQuote(s)
		p := order.PricedPosition{Position: l.book.Position(s), Quote: quote, Margin: h.Margin}
		if !p.Quantity.Equal(h.Quantity) {
			continue // it has changed since
		}
		if why, ok := guard.NearLiquidation(l.cfg.Policy, p); ok {
			near[s.String()] = why
		}
	}
	l.restrictFor(guard.NearEnd, near)
}

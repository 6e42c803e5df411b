package desk

import (
	"fmt"
	"slices"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// notReconciledError is returned for orders before the first reconciliation. Nothing is
// recorded and the idempotency key stays unused, because the order may pass a moment
// later.
func (l *loop) notReconciledError() error {
	text := "Still synchronising with the venue after the start; nothing was done. Retry in 1 s."
	if l.reconciliation.lastError != "" {
		text = fmt.Sprintf("The account could not be reconciled with %s since the start: %s. Nothing was done. Open orders can be cancelled; new ones pass after the first reconciliation.",
			l.cfg.Broker.Name(), l.reconciliation.lastError)
	}
	return &fault.Error{Kind: fault.Unavailable, Code: "not_compared", Retryable: true, RetryAfter: time.Second, Message: text}
}

// resumeGrace is how long after a standstill an order may arrive that was requested
// before or during it.
const resumeGrace = 2 * time.Second

// watchClock detects that the process was suspended. It compares wall clock times,
// because the monotonic clock stops with the machine.
func (l *loop) watchClock(now time.Time) {
	if !l.lastTick.IsZero() && now.Sub(l.lastTick) > maxSubmitDelay {
		l.resumedAt = now
		l.cfg.Log.WarnContext(l.drainCtx, "process standstill detected", "since", l.lastTick, "for", now.Sub(l.lastTick))
	}
	l.lastTick = now
}

// checkDelay rejects an order that was requested too long ago. After a standstill the
// time of the request is unknown.
func (l *loop) checkDelay(requestedAt time.Time) error {
	now := l.now()
	l.watchClock(now)
	waited := now.Sub(requestedAt.Round(0))
	stood := now.Sub(l.resumedAt) < resumeGrace
	if waited <= maxSubmitDelay && !stood {
		return nil
	}
	text := fmt.Sprintf("The order was requested %v ago; the limit is %v", waited.Round(time.Second), maxSubmitDelay)
	if stood {
		text = "The program was suspended until a moment ago, so the time of the request is unknown"
	}
	return &fault.Error{
		Kind: fault.Unavailable, Code: "too_late", Retryable: true, RetryAfter: resumeGrace,
		Message: text + ". Nothing was done. Check the price and retry with the same idempotency_key.",
	}
}

// maxDryRuns is how many dry runs are counted.
const maxDryRuns = 1000

// recordDryRun counts a dry run in the order rate, so that a client cannot query the
// guard and the venue without limit.
func (l *loop) recordDryRun(g order.Origin, rule string) {
	now := l.now()
	l.dryRuns = slices.DeleteFunc(l.dryRuns, func(r guard.Recent) bool { return now.Sub(r.At) >= time.Minute })
	if len(l.dryRuns) >= maxDryRuns {
		l.dryRuns = slices.Delete(l.dryRuns, 0, 1)
	}
	if rule == "" {
		rule = "dry_run" // not a duplicate of any order
	}
	l.dryRuns = append(l.dryRuns, guard.Recent{Token: g.Token, At: now, Rule: rule})
}

// withDryRuns adds the dry runs to the recent orders. They count against further dry
// runs, never against an order.
func (l *loop) withDryRuns(r *order.Request, f guard.Facts) guard.Facts {
	if !r.DryRun {
		return f
	}
	f.Recent = append(f.Recent, l.dryRuns...)
	return f
}

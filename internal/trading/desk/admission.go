package desk

import (
	"fmt"
	"slices"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// notReconciledError is what orders get before the account was compared with the venue. No
// order is kept of it, nor its idempotency key: it says nothing about the order, which
// may pass a moment later.
func (l *loop) notReconciledError() error {
	text := "the account is still being compared with the venue, as after every start; nothing was done"
	if l.reconciliation.lastError != "" {
		text = fmt.Sprintf("the account could not be compared with %s since the start: %s. Nothing was done; orders can be cancelled, and others pass after the first comparison",
			l.cfg.Broker.Name(), l.reconciliation.lastError)
	}
	return &fault.Error{Kind: fault.Unavailable, Code: "not_compared", Retryable: true, RetryAfter: time.Second, Message: text}
}

// resumeGrace is how long after a standstill an order may come that was asked for before
// or during it.
const resumeGrace = 2 * time.Second

// watchClock notes when the process goes on after it stood still: it was stopped, or
// the machine slept. Times are without the part that stands still with it.
func (l *loop) watchClock(now time.Time) {
	if !l.lastTick.IsZero() && now.Sub(l.lastTick) > maxSubmitDelay {
		l.resumedAt = now
		l.cfg.Log.WarnContext(l.drainCtx, "the process stood still; orders of that time are not sent", "since", l.lastTick, "for", now.Sub(l.lastTick))
	}
	l.lastTick = now
}

// checkDelay refuses an order that may have been asked for longer ago than an order may
// wait. Of one that came while the process stood still nobody knows how long it waited
// to be read.
func (l *loop) checkDelay(requestedAt time.Time) error {
	now := l.now()
	l.watchClock(now)
	waited := now.Sub(requestedAt.Round(0))
	stood := now.Sub(l.resumedAt) < resumeGrace
	if waited <= maxSubmitDelay && !stood {
		return nil
	}
	text := fmt.Sprintf("the order was asked for %v ago, and one that is not sent within %v is not sent at all", waited.Round(time.Second), maxSubmitDelay)
	if stood {
		text = "the program stood still until a moment ago, so it is not known when the order was asked for"
	}
	return &fault.Error{
		Kind: fault.Unavailable, Code: "too_late", Retryable: true, RetryAfter: resumeGrace,
		Message: text + "; nothing was done: look at the price, and ask again with the same idempotency_key",
	}
}

// maxDryRuns is how many dry runs are remembered. Who makes more within a minute is
// counted by these.
const maxDryRuns = 1000

// recordDryRun remembers a dry run, and the rule that refused it: they count in the rate of
// orders, or a client could ask the guard and the venue without end.
func (l *loop) recordDryRun(g order.Origin, rule string) {
	now := l.now()
	l.dryRuns = slices.DeleteFunc(l.dryRuns, func(r guard.Recent) bool { return now.Sub(r.At) >= time.Minute })
	if len(l.dryRuns) >= maxDryRuns {
		l.dryRuns = slices.Delete(l.dryRuns, 0, 1)
	}
	if rule == "" {
		rule = "dry_run" // it is no order that another could repeat
	}
	l.dryRuns = append(l.dryRuns, guard.Recent{Token: g.Token, At: now, Rule: rule})
}

// withDryRuns adds the dry runs to what the guard knows of a request. They count
// against further dry runs and never against an order.
func (l *loop) withDryRuns(r *order.Request, f guard.Facts) guard.Facts {
	if !r.DryRun {
		return f
	}
	f.Recent = append(f.Recent, l.dryRuns...)
	return f
}

package desk

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// maxDenialsPerMinute limits recorded denials, so that no client can fill the disk.
const maxDenialsPerMinute = 100

// deny records an order that the guard denied.
func (l *loop) deny(caller principal.Caller, g order.Origin, denial *guard.Denial, dry bool) *callResult {
	now := l.now()
	f := denial.Fault()
	f.Code = "order_denied"
	o := order.Order{Origin: g, Status: order.Denied, Reason: denial.Text, Denial: *denial.Record(), Created: now, Updated: now}
	t := &callResult{order: order.Placed{Order: o}, err: f, done: true}
	if dry {
		l.recordDryRun(g, denial.Rule)
	}
	if dry || !l.mayRecordDenial(now) {
		t.order.ID = "" // no order was recorded
		return t
	}
	err := l.commit(caller,
		order.Event{Kind: order.KindCreated, OrderID: g.ID, At: now, Origin: &g},
		order.Event{Kind: order.KindDenied, OrderID: g.ID, At: now, Reason: denial.Text, Denial: denial.Record()})
	if err != nil {
		t.order.ID = ""
		return t // denied even if it cannot be recorded
	}
	t.err = withUsedKey(f, g.Key)
	l.cfg.Log.InfoContext(l.drainCtx, "order denied", "order", g.ID, "rule", denial.Rule, "limit", denial.Limit, "value", denial.Value, "client", g.Client)
	return t
}

// mayRecordDenial reports whether one more denial may be recorded.
func (l *loop) mayRecordDenial(now time.Time) bool {
	for len(l.denials) > 0 && now.Sub(l.denials[0]) >= time.Minute {
		l.denials = l.denials[1:]
	}
	if len(l.denials) >= maxDenialsPerMinute {
		return false
	}
	l.denials = append(l.denials, now)
	return true
}

// notReconciledError is returned for orders before the first reconciliation. Nothing is
// recorded and the idempotency key stays unused, because the order may pass a moment
// later.
func (l *loop) notReconciledError() error {
	text := "Still synchronising with the venue after the start; nothing was done. Retry in 1 s."
	if l.reconciliation.lastError != "" {
		text = fmt.Sprintf("The account could not be reconciled with %s since the start: %s. Nothing was done. Open orders can be cancelled; new ones pass after the first reconciliation.",
			l.cfg.Broker.Name(), l.reconciliation.lastError)
	}
	return fault.New(fault.Unavailable, "not_compared", "%s", text).Retry(time.Second)
}

// resumeGrace is how long after a standstill an order requested before may arrive.
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

// checkDelay rejects an order requested too long ago, or during a standstill.
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
	return fault.New(fault.Unavailable, "too_late", "%s. Nothing was done. Check the price and retry with the same idempotency_key.", text).Retry(resumeGrace)
}

// maxDryRuns is how many dry runs are counted.
const maxDryRuns = 1000

// recordDryRun counts a dry run in the order rate, which limits queries of the guard.
func (l *loop) recordDryRun(g order.Origin, rule string) {
	now := l.now()
	l.dryRuns = slices.DeleteFunc(l.dryRuns, func(r guard.Recent) bool { return now.Sub(r.At) >= time.Minute })
	if len(l.dryRuns) >= maxDryRuns {
		l.dryRuns = slices.Delete(l.dryRuns, 0, 1)
	}
	rule = cmp.Or(rule, "dry_run") // not a duplicate of any order
	l.dryRuns = append(l.dryRuns, guard.Recent{Token: g.Token, At: now, Rule: rule})
}

// withDryRuns adds the dry runs, which count against further dry runs only.
func (l *loop) withDryRuns(r *order.Request, f guard.Facts) guard.Facts {
	if r.DryRun {
		f.Recent = append(f.Recent, l.dryRuns...)
	}
	return f
}

package desk

import (
	"fmt"
	"slices"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// starting is what orders get before the account was compared with the venue. No
// order is kept of it, nor its idempotency key: it says nothing about the order, which
// may pass a moment later.
func (w *writer) starting() error {
	text := "the account is still being compared with the venue, as after every start; nothing was done"
	if w.census.failure != "" {
		text = fmt.Sprintf("the account could not be compared with %s since the start: %s. Nothing was done; orders can be cancelled, and others pass after the first comparison",
			w.cfg.Broker.Name(), w.census.failure)
	}
	return &fault.Error{Kind: fault.Unavailable, Code: "not_compared", Retryable: true, RetryAfter: time.Second, Message: text}
}

// stoodWait is how long after a standstill an order may come that was asked for before
// or during it.
const stoodWait = 2 * time.Second

// watchClock notes when the process goes on after it stood still: it was stopped, or
// the machine slept. Times are without the part that stands still with it.
func (w *writer) watchClock(now time.Time) {
	if !w.beaten.IsZero() && now.Sub(w.beaten) > maxWait {
		w.stood = now
		w.cfg.Log.WarnContext(w.hard, "the process stood still; orders of that time are not sent", "since", w.beaten, "for", now.Sub(w.beaten))
	}
	w.beaten = now
}

// expired refuses an order that may have been asked for longer ago than an order may
// wait. Of one that came while the process stood still nobody knows how long it waited
// to be read.
func (w *writer) expired(asked time.Time) error {
	now := w.now()
	w.watchClock(now)
	waited := now.Sub(asked.Round(0))
	stood := now.Sub(w.stood) < stoodWait
	if waited <= maxWait && !stood {
		return nil
	}
	text := fmt.Sprintf("the order was asked for %v ago, and one that is not sent within %v is not sent at all", waited.Round(time.Second), maxWait)
	if stood {
		text = "the program stood still until a moment ago, so it is not known when the order was asked for"
	}
	return &fault.Error{
		Kind: fault.Unavailable, Code: "too_late", Retryable: true, RetryAfter: stoodWait,
		Message: text + "; nothing was done: look at the price, and ask again with the same idempotency_key",
	}
}

// maxTrials is how many dry runs are remembered. Who makes more within a minute is
// counted by these.
const maxTrials = 1000

// tried remembers a dry run, and the rule that refused it: they count in the rate of
// orders, or a client could ask the guard and the venue without end.
func (w *writer) tried(g order.Origin, rule string) {
	now := w.now()
	w.trials = slices.DeleteFunc(w.trials, func(r guard.Recent) bool { return now.Sub(r.At) >= time.Minute })
	if len(w.trials) >= maxTrials {
		w.trials = slices.Delete(w.trials, 0, 1)
	}
	if rule == "" {
		rule = "dry_run" // it is no order that another could repeat
	}
	w.trials = append(w.trials, guard.Recent{Token: g.Token, At: now, Rule: rule})
}

// withTrials adds the dry runs to what the guard knows of a request. They count
// against further dry runs and never against an order.
func (w *writer) withTrials(r *order.Request, f guard.Facts) guard.Facts {
	if !r.DryRun {
		return f
	}
	f.Recent = append(f.Recent, w.trials...)
	return f
}

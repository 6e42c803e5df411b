package desk

import (
	"cmp"
	"context"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// withUsedKey adds that the key is used up: repeating the call returns the same denial.
func withUsedKey(f *fault.Error, key string) *fault.Error {
	if key != "" {
		f.Retryable, f.RetryAfter = false, 0
		f.Message = strings.TrimSuffix(f.Message, ".") + ". This idempotency_key is used up; use a new one to try again."
	}
	return f
}

// findByKey returns the order of an idempotency key that was used before. It reads the
// store, which has every order, and does not call the venue: a repeat must work while
// the venue is unreachable.
func (d *Desk) findByKey(ctx context.Context, r order.Request) (order.Placed, bool, error) {
	select {
	case <-d.commandsClosed:
		return order.Placed{}, false, errStopping // the store may be closed
	default:
	}
	o, err := d.cfg.Store.OrderByKey(ctx, d.cfg.Owner, r.Key)
	if fault.KindOf(err) == fault.NotFound {
		return order.Placed{}, false, nil
	}
	if err != nil { // the order may be in memory
		if stopped := d.do(ctx, func(l *loop) { o, _ = l.book.ByKey(r.Key) }); stopped != nil || o.ID == "" {
			return order.Placed{}, false, cmp.Or(stopped, err)
		}
	}
	if r, err = d.withVenueSpelling(ctx, o, r); err != nil {
		return order.Placed{}, false, err
	}
	var t *callResult
	if err := d.do(ctx, func(l *loop) {
		if t = l.resultForKey(r); t == nil { // the order is no longer in memory
			t = keyResult(o, r)
		}
		t = l.grouped(t)
	}); err != nil {
		return order.Placed{}, false, err
	}
	p, err := d.awaitSubmit(ctx, t)
	return p, true, err
}

// withVenueSpelling resolves the symbol if that decides whether the request repeats the
// order. If the venue cannot resolve it, the error is returned: a repeat must not be
// rejected as another order.
func (d *Desk) withVenueSpelling(ctx context.Context, o order.Order, r order.Request) (order.Request, error) {
	same := r
	same.Symbol = o.Symbol
	if r.DryRun || r.Matches(o) || !same.Matches(o) {
		return r, nil // the symbol makes no difference
	}
	var err error
	r.Symbol, err = d.cfg.Resolve(ctx, r.Symbol)
	return r, err
}

// resultForKey returns the result for a key that is in use, or nil.
func (l *loop) resultForKey(r order.Request) *callResult {
	o, ok := l.book.ByKey(r.Key)
	if !ok {
		return nil
	}
	t := keyResult(o, r)
	if t.err == nil && !submitFinished(l, o) {
		t.done, t.waiter = false, l.addWaiter(o.ID, submitFinished)
	}
	return t
}

func keyResult(o order.Order, r order.Request) *callResult {
	used := func(allowed, format string, args ...any) *callResult {
		return failed(fault.New(fault.Conflict, "idempotency_key_used", format, args...).About("idempotency_key", r.Key, allowed))
	}
	switch {
	case r.DryRun: // it does not return the existing order
		return used("a key that was not used before, or none",
			"idempotency_key %q was used for order %s (%v); nothing was checked. Omit the key in a dry run, or use a new one.", r.Key, o.ID, o.Status)
	case r.Matches(o):
		return &callResult{order: order.Placed{Order: o}, err: orderError(o), done: true}
	default:
		return used("a key that was not used before",
			"idempotency_key %q was used for order %s (%v %v %v %v%s). Repeat that order exactly, or use a new key.",
			r.Key, o.ID, o.Side, o.Quantity, o.Symbol, o.Type, protectionText(o.Protect))
	}
}

// protectionText names the prices of the legs, after a space.
func protectionText(p order.Protection) string {
	var text strings.Builder
	for _, a := range []struct {
		name  string
		value decimal.Decimal
	}{{"stop_loss", p.StopLoss}, {"stop_loss_limit", p.StopLossLimit}, {"trail_percent", p.TrailPercent}, {"take_profit", p.TakeProfit}} {
		if a.value.IsPositive() {
			text.WriteString(" " + a.name + " " + a.value.String())
		}
	}
	return text.String()
}

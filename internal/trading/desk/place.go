package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/market/provider"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// Place does what a client asks for and returns the order. It waits for the
// venue's answer for a while and then returns the order as it is: submitted or
// uncertain says that the answer is not known. Whoever leaves before that has
// placed the order all the same.
//
// An order that the guard refuses is returned with the refusal as a fault of the
// code order_denied, one that the venue refuses with order_rejected, one that was
// written down and then could not be sent with not_sent. All are kept, and
// the idempotency key stays theirs. All other errors come without an order, nothing
// was sent, and where they are retryable the same key may be used again.
func (d *Desk) Place(ctx context.Context, caller principal.Caller, r order.Request) (order.Order, error) {
	requestedAt := d.cfg.Now()
	caller, err := d.authorize(caller)
	if err != nil {
		return order.Order{}, err
	}
	if r.Key != "" {
		if o, found, err := d.findByKey(ctx, r); found || err != nil {
			return o, err
		}
	}
	symbol, err := d.cfg.Resolve(ctx, r.Symbol)
	if err != nil {
		return order.Order{}, err
	}
	r = r.WithSymbol(symbol)
	d.awaitReconciled(ctx)
	var t *callResult
	if err := d.do(ctx, func(l *loop) { t = l.checkEarly(caller, r) }); err != nil {
		return order.Order{}, err
	}
	if t.done || t.waiter != nil {
		return d.awaitSubmit(ctx, t)
	}
	inst, err := d.cfg.Broker.Instrument(ctx, symbol)
	if err == nil {
		err = checkSymbolSpelling(symbol, inst)
	}
	if err != nil {
		return order.Order{}, err
	}
	// Without a price the guard decides.
	quote, err := d.cfg.Market.Quote(ctx, symbol)
	if ctx.Err() != nil {
		return order.Order{}, ctx.Err()
	}
	if err != nil {
		d.cfg.Log.WarnContext(ctx, "no price for an order", "symbol", symbol.String(), "error", err)
	}
	if err := d.do(ctx, func(l *loop) { t = l.place(caller, r, requestedAt, inst, quote) }); err != nil {
		return order.Order{}, err
	}
	return d.awaitSubmit(ctx, t)
}

// checkSymbolSpelling refuses a symbol that its venue writes in another way, such as BTC-USDT:
// limits, positions and what the venue reports are all by its own name, and under
// a second one an order would pass them by.
func checkSymbolSpelling(s market.Symbol, inst provider.Instrument) error {
	if name := inst.Symbol.Name; name != "" && name != s.Name {
		return fault.Field("symbol", s.String(), "the venue's own spelling for orders, "+name, name)
	}
	return nil
}

// awaitReconciled gives the first comparison with the venue, which no order passes
// before, a moment to be done: clients call as soon as they can.
func (d *Desk) awaitReconciled(ctx context.Context) {
	if d.Status().Reconciled {
		return
	}
	timer := time.NewTimer(startTimeout)
	defer timer.Stop()
	select {
	case <-d.reconciled:
	case <-timer.C:
	case <-ctx.Done():
	case <-d.stopped:
	}
}

// callResult is how far a request has come.
type callResult struct {
	order  order.Order
	err    error
	done   bool    // there is nothing to wait for
	waiter *waiter // for the venue's answer
}

// awaitSubmit waits for the venue's answer about an order that was sent.
func (d *Desk) awaitSubmit(ctx context.Context, t *callResult) (order.Order, error) {
	if t.done {
		return t.order, t.err
	}
	o := d.await(ctx, t)
	return o, orderError(o)
}

// venueAnswered reports whether the venue has said what became of an order.
func venueAnswered(o order.Order) bool {
	return o.Status != order.Submitted && o.Status != order.Uncertain
}

// submitFinished reports whether nothing more will come of sending it: the venue's stream
// may be faster than its answer, which tells more.
func submitFinished(l *loop, o order.Order) bool {
	return venueAnswered(o) && (o.Status.Final() || !l.inFlight[o.ID])
}

// await waits up to answerWait for the venue's answer and returns the order as it is
// then.
func (d *Desk) await(ctx context.Context, t *callResult) order.Order {
	timer := time.NewTimer(resultTimeout)
	defer timer.Stop()
	select {
	case <-t.waiter.done:
		return t.waiter.result
	case <-timer.C:
	case <-ctx.Done():
	case <-d.stopped:
	}
	o := t.order
	// The order exists even if the client has disconnected.
	err := d.do(context.WithoutCancel(ctx), func(l *loop) {
		if now, ok := l.book.Order(o.ID); ok {
			o = now
		}
	})
	if err != nil { // the desk has stopped
		select {
		case <-t.waiter.done:
			return t.waiter.result
		default: // the order as it was recorded
		}
	}
	return o
}

// orderError is the fault of an order that was not done.
func orderError(o order.Order) error {
	switch o.Status {
	case order.Denied:
		return withUsedKey(&fault.Error{
			Kind: fault.Conflict, Code: "order_denied", Value: o.Denial.Value, Allowed: o.Denial.Limit,
			Message: o.Denial.Rule + ": " + o.Reason,
		}, o.Key)
	case order.Rejected:
		if o.NotSent {
			return withUsedKey(&fault.Error{Kind: fault.Unavailable, Code: "not_sent", Message: "the order is over: " + o.Reason}, o.Key)
		}
		return &fault.Error{Kind: fault.Conflict, Code: "order_rejected", Message: fmt.Sprintf("%s did not take the order: %s", o.Broker, o.Reason)}
	default:
		return nil
	}
}

// withUsedKey says of a refusal that was kept that its idempotency key was, too: the same
// call gives the same refusal for ever, even when waiting would help another.
func withUsedKey(f *fault.Error, key string) *fault.Error {
	if key != "" {
		f.Retryable, f.RetryAfter = false, 0
		f.Message += "; the idempotency_key stays with this refusal: take another for another try"
	}
	return f
}

// findByKey returns the order of an idempotency key that was used before. It asks the
// store, which has every order, and not the venue: a repeat must succeed while the venue
// is unreachable.
func (d *Desk) findByKey(ctx context.Context, r order.Request) (order.Order, bool, error) {
	select {
	case <-d.commandsClosed:
		return order.Order{}, false, errStopping // the store may be closed
	default:
	}
	o, err := d.cfg.Store.OrderByKey(ctx, d.cfg.Owner, r.Key)
	if fault.KindOf(err) == fault.NotFound {
		return order.Order{}, false, nil
	}
	if err != nil { // memory may still have it
		if stopped := d.do(ctx, func(l *loop) { o, _ = l.book.ByKey(r.Key) }); stopped != nil || o.ID == "" {
			return order.Order{}, false, cmp.Or(stopped, err)
		}
	}
	if r, err = d.withVenueSpelling(ctx, o, r); err != nil {
		return order.Order{}, false, err
	}
	var t *callResult
	if err := d.do(ctx, func(l *loop) { t = l.resultForKey(r) }); err != nil {
		return order.Order{}, false, err
	}
	if t == nil { // it is no longer in memory
		t = keyResult(o, r)
	}
	o, err = d.awaitSubmit(ctx, t)
	return o, true, err
}

// withVenueSpelling returns the request with its symbol as the venue writes it where that
// may make it the one that was asked before. An error says that the venue cannot tell:
// the request may be a repeat, and must not hear that its key is of another order.
func (d *Desk) withVenueSpelling(ctx context.Context, o order.Order, r order.Request) (order.Request, error) {
	same := r
	same.Symbol = o.Symbol
	if r.DryRun || r.Matches(o) || !same.Matches(o) {
		return r, nil // the symbol is not what decides
	}
	symbol, err := d.cfg.Resolve(ctx, r.Symbol)
	if err != nil {
		return r, err
	}
	r.Symbol = symbol
	return r, nil
}

// resultForKey answers a request whose key has been used; nil when it has not.
func (l *loop) resultForKey(r order.Request) *callResult {
	if r.Key == "" {
		return nil
	}
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
	if r.DryRun {
		// The order that has the key is not what this call has done.
		return &callResult{done: true, err: &fault.Error{
			Kind: fault.Conflict, Code: "idempotency_key_used", Field: "idempotency_key", Value: r.Key, Allowed: "a key that was not used before, or none",
			Message: fmt.Sprintf("idempotency_key: %q is used: it belongs to order %s, which is %v; nothing was checked. Leave the key out of a dry run, or choose another",
				r.Key, o.ID, o.Status),
		}}
	}
	if r.Matches(o) {
		return &callResult{order: o, err: orderError(o), done: true}
	}
	return &callResult{done: true, err: &fault.Error{
		Kind: fault.Conflict, Code: "idempotency_key_used", Field: "idempotency_key", Value: r.Key, Allowed: "a key that was not used before",
		Message: fmt.Sprintf("idempotency_key: %q belongs to order %s, which is %v %v %v %v: repeat it exactly, or choose another key for another order",
			r.Key, o.ID, o.Side, o.Quantity, o.Symbol, o.Type),
	}}
}

// checkEarly judges a request by what needs no price. A refusal here costs no question
// to a venue.
func (l *loop) checkEarly(caller principal.Caller, r order.Request) *callResult {
	if t := l.resultForKey(r); t != nil {
		return t
	}
	if l.state.AwaitsReconciliation() {
		l.cfg.Log.InfoContext(l.drainCtx, "an order came before the account was compared with the venue; its client may ask again", "symbol", r.Symbol.String(), "client", caller.Client)
		return &callResult{done: true, err: l.notReconciledError()}
	}
	g := l.origin(caller, r)
	facts := l.withDryRuns(&r, guard.GatherEarly(l.book, l.now(), r.Symbol))
	if denial := guard.Early(l.cfg.Policy, l.state, intent(g), facts); denial != nil {
		return l.deny(caller, g, denial, r.DryRun)
	}
	return &callResult{}
}

// place judges a request by everything, persists it and sends it.
func (l *loop) place(caller principal.Caller, r order.Request, requestedAt time.Time, inst provider.Instrument, quote order.Quote) *callResult {
	if t := l.resultForKey(r); t != nil {
		return t // another call with the same key came first
	}
	if err := l.checkDelay(requestedAt); err != nil {
		return &callResult{done: true, err: err}
	}
	l.instruments[r.Symbol] = inst
	g := l.origin(caller, r)
	prices := l.prices()
	if known, ok := prices.Quotes[r.Symbol]; !ok || !known.At.After(quote.At) {
		prices.Quotes[r.Symbol] = quote
	}
	facts := l.withDryRuns(&r, guard.Gather(l.cfg.Policy, l.book, prices, r.Symbol, g.Mode))
	if denial := guard.Check(l.cfg.Policy, l.state, intent(g), facts); denial != nil {
		return l.deny(caller, g, denial, r.DryRun)
	}
	now := l.now()
	if r.DryRun {
		l.recordDryRun(g, "")
		g.ID = "" // there is no such order
		return &callResult{done: true, order: order.Order{Origin: g, Status: order.New, Created: now, Updated: now}}
	}
	if len(l.sends.queue) >= maxQueued {
		return &callResult{done: true, err: &fault.Error{
			Kind: fault.Unavailable, Code: "busy", Retryable: true, RetryAfter: time.Second,
			Message: "too many orders wait to be sent; nothing was done with this one",
		}}
	}
	err := l.commit(caller, order.Event{Kind: order.KindCreated, OrderID: g.ID, At: now, Origin: &g}, order.Event{Kind: order.KindSent, OrderID: g.ID, At: now})
	if err != nil {
		return &callResult{done: true, err: persistError(err)}
	}
	o, _ := l.book.Order(g.ID)
	l.queueSubmit(caller, o, requestedAt.Round(0))
	return &callResult{order: o, waiter: l.addWaiter(o.ID, submitFinished)}
}

// persistError is what a client hears when nothing could be persisted.
func persistError(err error) error {
	if f := fault.Of(err); f != nil && f.Kind == fault.Conflict {
		return err
	}
	if errors.Is(err, ErrFenced) {
		return fencedError(err)
	}
	return &fault.Error{
		Kind: fault.Unavailable, Code: "store_failed", Cause: err,
		Message: "the order could not be written down, so it was not sent; trading is halted until the owner has looked at it",
	}
}

// origin makes an order of a request.
func (l *loop) origin(caller principal.Caller, r order.Request) order.Origin {
	return order.Origin{
		Spec: order.Spec{
			ID: id.New(l.cfg.Now()), Owner: l.cfg.Owner, Symbol: r.Symbol, Side: r.Side, Type: r.Type, Quantity: r.Quantity, Price: r.Price,
		},
		Broker: l.cfg.Broker.Name(), Mode: l.cfg.Broker.Mode(), Key: r.Key, Token: caller.Key, Client: caller.Client, RequestedSymbol: r.RequestedSymbol,
	}
}

func intent(g order.Origin) guard.Intent {
	return guard.Intent{Spec: g.Spec, Mode: g.Mode, Key: g.Key, Token: g.Token}
}

// maxDenialsPerMinute is how many refusals are persisted within a minute. Whoever calls a
// thousand times a second must not fill the disk, whichever rule refuses.
const maxDenialsPerMinute = 100

// deny persists an order that the guard refuses.
func (l *loop) deny(caller principal.Caller, g order.Origin, denial *guard.Denial, dry bool) *callResult {
	now := l.now()
	f := denial.Fault()
	f.Code = "order_denied"
	o := order.Order{Origin: g, Status: order.Denied, Reason: denial.Text, Denial: *denial.Record(), Created: now, Updated: now}
	t := &callResult{order: o, err: f, done: true}
	if dry {
		l.recordDryRun(g, denial.Rule)
	}
	if dry || !l.mayRecordDenial(now) {
		t.order.ID = "" // there is no such order
		return t
	}
	err := l.commit(caller,
		order.Event{Kind: order.KindCreated, OrderID: g.ID, At: now, Origin: &g},
		order.Event{Kind: order.KindDenied, OrderID: g.ID, At: now, Reason: denial.Text, Denial: denial.Record()})
	if err != nil {
		t.order.ID = ""
		return t // it is refused whether or not that can be written down
	}
	t.err = withUsedKey(f, g.Key)
	l.cfg.Log.InfoContext(l.drainCtx, "order denied", "order", g.ID, "rule", denial.Rule, "limit", denial.Limit, "value", denial.Value, "client", g.Client)
	return t
}

// mayRecordDenial reports whether one more refusal may be persisted.
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

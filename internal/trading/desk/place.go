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
	asked := d.cfg.Now()
	caller, err := d.own(caller)
	if err != nil {
		return order.Order{}, err
	}
	if r.Key != "" {
		if o, found, err := d.repeated(ctx, r); found || err != nil {
			return o, err
		}
	}
	symbol, err := d.cfg.Resolve(ctx, r.Symbol)
	if err != nil {
		return order.Order{}, err
	}
	r = r.WithSymbol(symbol)
	d.awaitStart(ctx)
	var t *ticket
	if err := d.do(ctx, func(w *writer) { t = w.early(caller, r) }); err != nil {
		return order.Order{}, err
	}
	if t.done || t.wait != nil {
		return d.placed(ctx, t)
	}
	inst, err := d.cfg.Broker.Instrument(ctx, symbol)
	if err == nil {
		err = spelling(symbol, inst)
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
	if err := d.do(ctx, func(w *writer) { t = w.place(caller, r, asked, inst, quote) }); err != nil {
		return order.Order{}, err
	}
	return d.placed(ctx, t)
}

// spelling refuses a symbol that its venue writes in another way, such as BTC-USDT:
// limits, positions and what the venue reports are all by its own name, and under
// a second one an order would pass them by.
func spelling(s market.Symbol, inst provider.Instrument) error {
	if name := inst.Symbol.Name; name != "" && name != s.Name {
		return fault.Field("symbol", s.String(), "the venue's own spelling for orders, "+name, name)
	}
	return nil
}

// awaitStart gives the first comparison with the venue, which no order passes
// before, a moment to be done: clients call as soon as they can.
func (d *Desk) awaitStart(ctx context.Context) {
	if d.Status().Reconciled {
		return
	}
	timer := time.NewTimer(startWait)
	defer timer.Stop()
	select {
	case <-d.compared:
	case <-timer.C:
	case <-ctx.Done():
	case <-d.stopped:
	}
}

// ticket is how far a request has come.
type ticket struct {
	order order.Order
	err   error
	done  bool    // there is nothing to wait for
	wait  *waiter // for the venue's answer
}

// placed waits for the venue's answer about an order that was sent.
func (d *Desk) placed(ctx context.Context, t *ticket) (order.Order, error) {
	if t.done {
		return t.order, t.err
	}
	o := d.await(ctx, t)
	return o, outcome(o)
}

// answered reports whether the venue has said what became of an order.
func answered(o order.Order) bool { return o.Status != order.Submitted && o.Status != order.Uncertain }

// settled reports whether nothing more will come of sending it: the venue's stream
// may be faster than its answer, which tells more.
func settled(w *writer, o order.Order) bool {
	return answered(o) && (o.Status.Final() || !w.flights[o.ID])
}

// await waits up to answerWait for the venue's answer and returns the order as it is
// then.
func (d *Desk) await(ctx context.Context, t *ticket) order.Order {
	timer := time.NewTimer(answerWait)
	defer timer.Stop()
	select {
	case <-t.wait.done:
		return t.wait.answer
	case <-timer.C:
	case <-ctx.Done():
	case <-d.stopped:
	}
	o := t.order
	// The order exists even if the client has disconnected.
	err := d.do(context.WithoutCancel(ctx), func(w *writer) {
		if now, ok := w.book.Order(o.ID); ok {
			o = now
		}
	})
	if err != nil { // the desk has stopped
		select {
		case <-t.wait.done:
			return t.wait.answer
		default: // the order as it was recorded
		}
	}
	return o
}

// outcome is the fault of an order that was not done.
func outcome(o order.Order) error {
	switch o.Status {
	case order.Denied:
		return spent(&fault.Error{
			Kind: fault.Conflict, Code: "order_denied", Value: o.Denial.Value, Allowed: o.Denial.Limit,
			Message: o.Denial.Rule + ": " + o.Reason,
		}, o.Key)
	case order.Rejected:
		if o.NotSent {
			return spent(&fault.Error{Kind: fault.Unavailable, Code: "not_sent", Message: "the order is over: " + o.Reason}, o.Key)
		}
		return &fault.Error{Kind: fault.Conflict, Code: "order_rejected", Message: fmt.Sprintf("%s did not take the order: %s", o.Broker, o.Reason)}
	default:
		return nil
	}
}

// spent says of a refusal that was kept that its idempotency key was, too: the same
// call gives the same refusal for ever, even when waiting would help another.
func spent(f *fault.Error, key string) *fault.Error {
	if key != "" {
		f.Retryable, f.RetryAfter = false, 0
		f.Message += "; the idempotency_key stays with this refusal: take another for another try"
	}
	return f
}

// repeated returns the order of an idempotency key that was used before. It asks the
// store, which has every order, and not the venue: a repeat must succeed while the venue
// is unreachable.
func (d *Desk) repeated(ctx context.Context, r order.Request) (order.Order, bool, error) {
	select {
	case <-d.closed:
		return order.Order{}, false, errStopped // the store may be closed
	default:
	}
	o, err := d.cfg.Store.OrderByKey(ctx, d.cfg.Owner, r.Key)
	if fault.KindOf(err) == fault.NotFound {
		return order.Order{}, false, nil
	}
	if err != nil { // memory may still have it
		if stopped := d.do(ctx, func(w *writer) { o, _ = w.book.ByKey(r.Key) }); stopped != nil || o.ID == "" {
			return order.Order{}, false, cmp.Or(stopped, err)
		}
	}
	if r, err = d.respelled(ctx, o, r); err != nil {
		return order.Order{}, false, err
	}
	var t *ticket
	if err := d.do(ctx, func(w *writer) { t = w.repeat(r) }); err != nil {
		return order.Order{}, false, err
	}
	if t == nil { // it is no longer in memory
		t = repeatOf(o, r)
	}
	o, err = d.placed(ctx, t)
	return o, true, err
}

// respelled returns the request with its symbol as the venue writes it where that
// may make it the one that was asked before. An error says that the venue cannot tell:
// the request may be a repeat, and must not hear that its key is of another order.
func (d *Desk) respelled(ctx context.Context, o order.Order, r order.Request) (order.Request, error) {
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

// repeat answers a request whose key has been used; nil when it has not.
func (w *writer) repeat(r order.Request) *ticket {
	if r.Key == "" {
		return nil
	}
	o, ok := w.book.ByKey(r.Key)
	if !ok {
		return nil
	}
	t := repeatOf(o, r)
	if t.err == nil && !settled(w, o) {
		t.done, t.wait = false, w.wait(o.ID, settled)
	}
	return t
}

func repeatOf(o order.Order, r order.Request) *ticket {
	if r.DryRun {
		// The order that has the key is not what this call has done.
		return &ticket{done: true, err: &fault.Error{
			Kind: fault.Conflict, Code: "idempotency_key_used", Field: "idempotency_key", Value: r.Key, Allowed: "a key that was not used before, or none",
			Message: fmt.Sprintf("idempotency_key: %q is used: it belongs to order %s, which is %v; nothing was checked. Leave the key out of a dry run, or choose another",
				r.Key, o.ID, o.Status),
		}}
	}
	if r.Matches(o) {
		return &ticket{order: o, err: outcome(o), done: true}
	}
	return &ticket{done: true, err: &fault.Error{
		Kind: fault.Conflict, Code: "idempotency_key_used", Field: "idempotency_key", Value: r.Key, Allowed: "a key that was not used before",
		Message: fmt.Sprintf("idempotency_key: %q belongs to order %s, which is %v %v %v %v: repeat it exactly, or choose another key for another order",
			r.Key, o.ID, o.Side, o.Quantity, o.Symbol, o.Type),
	}}
}

// early judges a request by what needs no price. A refusal here costs no question
// to a venue.
func (w *writer) early(caller principal.Caller, r order.Request) *ticket {
	if t := w.repeat(r); t != nil {
		return t
	}
	if w.state.AwaitsReconciliation() {
		w.cfg.Log.InfoContext(w.hard, "an order came before the account was compared with the venue; its client may ask again", "symbol", r.Symbol.String(), "client", caller.Client)
		return &ticket{done: true, err: w.starting()}
	}
	g := w.origin(caller, r)
	facts := w.withTrials(&r, guard.GatherEarly(w.book, w.now(), r.Symbol))
	if denial := guard.Early(w.cfg.Policy, w.state, intent(g), facts); denial != nil {
		return w.deny(caller, g, denial, r.DryRun)
	}
	return &ticket{}
}

// place judges a request by everything, persists it and sends it.
func (w *writer) place(caller principal.Caller, r order.Request, asked time.Time, inst provider.Instrument, quote order.Quote) *ticket {
	if t := w.repeat(r); t != nil {
		return t // another call with the same key came first
	}
	if err := w.expired(asked); err != nil {
		return &ticket{done: true, err: err}
	}
	w.instruments[r.Symbol] = inst
	g := w.origin(caller, r)
	prices := w.prices()
	if known, ok := prices.Quotes[r.Symbol]; !ok || !known.At.After(quote.At) {
		prices.Quotes[r.Symbol] = quote
	}
	facts := w.withTrials(&r, guard.Gather(w.cfg.Policy, w.book, prices, r.Symbol, g.Mode))
	if denial := guard.Check(w.cfg.Policy, w.state, intent(g), facts); denial != nil {
		return w.deny(caller, g, denial, r.DryRun)
	}
	now := w.now()
	if r.DryRun {
		w.tried(g, "")
		g.ID = "" // there is no such order
		return &ticket{done: true, order: order.Order{Origin: g, Status: order.New, Created: now, Updated: now}}
	}
	if len(w.sends.queue) >= maxQueued {
		return &ticket{done: true, err: &fault.Error{
			Kind: fault.Unavailable, Code: "busy", Retryable: true, RetryAfter: time.Second,
			Message: "too many orders wait to be sent; nothing was done with this one",
		}}
	}
	err := w.commit(caller, order.Event{Kind: order.KindCreated, OrderID: g.ID, At: now, Origin: &g}, order.Event{Kind: order.KindSent, OrderID: g.ID, At: now})
	if err != nil {
		return &ticket{done: true, err: notKept(err)}
	}
	o, _ := w.book.Order(g.ID)
	w.send(caller, o, asked.Round(0))
	return &ticket{order: o, wait: w.wait(o.ID, settled)}
}

// notKept is what a client hears when nothing could be persisted.
func notKept(err error) error {
	if f := fault.Of(err); f != nil && f.Kind == fault.Conflict {
		return err
	}
	if errors.Is(err, ErrFenced) {
		return gone(err)
	}
	return &fault.Error{
		Kind: fault.Unavailable, Code: "store_failed", Cause: err,
		Message: "the order could not be written down, so it was not sent; trading is halted until the owner has looked at it",
	}
}

// origin makes an order of a request.
func (w *writer) origin(caller principal.Caller, r order.Request) order.Origin {
	return order.Origin{
		Spec: order.Spec{
			ID: id.New(w.cfg.Now()), Owner: w.cfg.Owner, Symbol: r.Symbol, Side: r.Side, Type: r.Type, Quantity: r.Quantity, Price: r.Price,
		},
		Broker: w.cfg.Broker.Name(), Mode: w.cfg.Broker.Mode(), Key: r.Key, Token: caller.Key, Client: caller.Client, RequestedSymbol: r.RequestedSymbol,
	}
}

func intent(g order.Origin) guard.Intent {
	return guard.Intent{Spec: g.Spec, Mode: g.Mode, Key: g.Key, Token: g.Token}
}

// maxRefused is how many refusals are persisted within a minute. Whoever calls a
// thousand times a second must not fill the disk, whichever rule refuses.
const maxRefused = 100

// deny persists an order that the guard refuses.
func (w *writer) deny(caller principal.Caller, g order.Origin, denial *guard.Denial, dry bool) *ticket {
	now := w.now()
	f := denial.Fault()
	f.Code = "order_denied"
	o := order.Order{Origin: g, Status: order.Denied, Reason: denial.Text, Denial: *denial.Record(), Created: now, Updated: now}
	t := &ticket{order: o, err: f, done: true}
	if dry {
		w.tried(g, denial.Rule)
	}
	if dry || !w.mayRefuse(now) {
		t.order.ID = "" // there is no such order
		return t
	}
	err := w.commit(caller,
		order.Event{Kind: order.KindCreated, OrderID: g.ID, At: now, Origin: &g},
		order.Event{Kind: order.KindDenied, OrderID: g.ID, At: now, Reason: denial.Text, Denial: denial.Record()})
	if err != nil {
		t.order.ID = ""
		return t // it is refused whether or not that can be written down
	}
	t.err = spent(f, g.Key)
	w.cfg.Log.InfoContext(w.hard, "order denied", "order", g.ID, "rule", denial.Rule, "limit", denial.Limit, "value", denial.Value, "client", g.Client)
	return t
}

// mayRefuse reports whether one more refusal may be persisted.
func (w *writer) mayRefuse(now time.Time) bool {
	for len(w.refused) > 0 && now.Sub(w.refused[0]) >= time.Minute {
		w.refused = w.refused[1:]
	}
	if len(w.refused) >= maxRefused {
		return false
	}
	w.refused = append(w.refused, now)
	return true
}

package desk

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// Place checks, records and submits an order, and waits up to 10 s for the venue. The
// status submitted or uncertain means that the venue has not answered, pending_approval
// that nothing was sent and the owner decides. If the client disconnects, the order is
// still placed.
//
// A denied order is returned with the fault order_denied, one that the venue rejected
// with order_rejected, and one that was recorded but could not be sent with not_sent.
// All three are recorded and use up their idempotency key. Other errors come without an
// order: nothing was sent, and if they are retryable the same key can be used again.
func (d *Desk) Place(ctx context.Context, caller principal.Caller, r order.Request) (order.Placed, error) {
	requestedAt := d.cfg.Now()
	caller, err := d.authorize(caller)
	if err != nil {
		return order.Placed{}, err
	}
	if err := checkDeploymentCaller(caller, r); err != nil {
		return order.Placed{}, err
	}
	if r.Key != "" {
		if p, found, err := d.findByKey(ctx, r); found || err != nil {
			return p, err
		}
	}
	if err := cmp.Or(guard.CheckRequest(r), checkNotAfter(r.NotAfter, requestedAt), d.checkClaims(r)); err != nil {
		return order.Placed{}, err
	}
	symbol, err := d.cfg.Resolve(ctx, r.Symbol)
	if err != nil {
		return order.Placed{}, err
	}
	r = r.WithSymbol(symbol)
	d.AwaitReconciled(ctx)
	if p, found, err := d.findAtVenue(ctx, caller, r); found || err != nil {
		return p, err
	}
	var t *callResult
	if err := d.do(ctx, func(l *loop) { t = l.grouped(l.checkEarly(caller, r)) }); err != nil {
		return order.Placed{}, err
	}
	if t.done || t.waiter != nil {
		return d.awaitSubmit(ctx, t)
	}
	judged := d.judge(ctx, r.Symbol, r.Because, t.conditions, t.closes)
	asked := r.Spec("", "")
	if r.Sizing.SetsPrices() {
		asked.Protect.TakeProfit = decimal.NewFromInt(1) // its prices follow from what is read
	}
	m, err := d.readMarket(ctx, asked)
	if err != nil {
		return order.Placed{}, err
	}
	if r.DryRun || r.Sizing.Risks() {
		d.readHoldings(ctx, &m)
		d.readFee(ctx, r.Symbol, &m)
	}
	r.Evidence, r.Conditions = judged()
	for {
		if !r.DryRun {
			if _, err := d.confirm(ctx, caller); err != nil {
				return order.Placed{}, err
			}
		}
		if err := d.do(ctx, func(l *loop) { t = l.grouped(l.place(caller, r, requestedAt, m)) }); err != nil {
			return order.Placed{}, err
		}
		if t.after == nil {
			return d.awaitSubmit(ctx, t)
		}
		if !d.awaitOther(ctx, t.after) {
			return order.Placed{}, t.err
		}
	}
}

// awaitOther waits for an order of another request, and reports false if that takes too long.
func (d *Desk) awaitOther(ctx context.Context, w *waiter) bool {
	select {
	case <-w.done:
		return true
	case <-time.After(resultTimeout):
	case <-ctx.Done():
	case <-d.stopped:
	}
	return false
}

// checkNotAfter rejects a request whose time has passed.
func checkNotAfter(limit, now time.Time) error {
	if limit.IsZero() || !now.After(limit) {
		return nil
	}
	return fault.New(fault.Invalid, "too_late", "not_after is %s and it is %s; nothing was done. Give a later time, or omit it.",
		limit.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)).About("not_after", limit.UTC().Format(time.RFC3339), "a time that has not passed")
}

// checkSymbolSpelling rejects a symbol that the venue spells differently, such as
// BTC-USDT. Limits, positions and reports use the venue's spelling, so another one would
// bypass them.
func checkSymbolSpelling(s market.Symbol, inst provider.Instrument) error {
	if name := inst.Symbol.Name; name != "" && name != s.Name {
		return fault.Field("symbol", s.String(), "the venue's spelling, "+name, name)
	}
	return nil
}

// AwaitReconciled waits for the first reconciliation: clients call right after the start.
func (d *Desk) AwaitReconciled(ctx context.Context) {
	if d.Status().Reconciled {
		return
	}
	select {
	case <-d.reconciled:
	case <-time.After(startTimeout):
	case <-ctx.Done():
	case <-d.stopped:
	}
}

// callResult is the result of a command, or the waiter that delivers it.
type callResult struct {
	order  order.Placed // its legs are complete only if it was not recorded
	err    error
	done   bool    // order and err are the result; a waiter adds the group alone
	waiter *waiter // nil if there is nothing to wait for
	after  *waiter // of an order after whose end the command must be repeated; nil for none

	closes     bool          // of an early check: the order can only reduce a position
	conditions []order.Claim // of an early check: the owner's, to be judged
}

// failed is the result of a command that did nothing.
func failed(err error) *callResult { return &callResult{done: true, err: err} }

// awaitSubmit waits for the result of a submission.
func (d *Desk) awaitSubmit(ctx context.Context, t *callResult) (order.Placed, error) {
	if t.waiter == nil {
		return t.order, t.err
	}
	p := d.await(ctx, t)
	p.Estimate, p.Changed = t.order.Estimate, t.order.Changed
	switch {
	case t.done:
		return p, t.err
	case p.Status == order.New && d.hasStopped():
		return p, errNotSentYet(p.ID)
	}
	return p, orderError(p.Order)
}

func (d *Desk) hasStopped() bool {
	select {
	case <-d.stopped:
		return true
	default:
		return false
	}
}

// errNotSentYet is the fault of an order that was recorded and waited for others to end when the desk
// stopped. It is not sent late, but what it changes of the plan may stay.
func errNotSentYet(id string) error {
	return fault.New(fault.Unavailable, "outcome_unknown",
		"candela stopped while order %s waited for others to be cancelled. It will not be sent late; what it asked of the protection may be in force. Check get_positions and get_orders in a moment.", id)
}

// venueAnswered reports whether the venue has accepted or ended the order.
func venueAnswered(o order.Order) bool {
	return o.Status != order.Submitted && o.Status != order.Uncertain
}

// submitFinished reports whether the submission has its final result. An open order in
// flight does not: the stream may be faster than the response, which says more.
func submitFinished(l *loop, o order.Order) bool {
	return venueAnswered(o) && (o.Status.Final() || !l.inFlight[o.ID])
}

// await waits up to resultTimeout for the venue's answer and returns the current order with its group.
func (d *Desk) await(ctx context.Context, t *callResult) order.Placed {
	select {
	case <-t.waiter.done:
		return t.waiter.result
	case <-time.After(resultTimeout):
	case <-ctx.Done():
	case <-d.stopped:
	}
	p := t.order
	// The order exists even if the client has disconnected.
	err := d.do(context.WithoutCancel(ctx), func(l *loop) {
		if now, ok := l.book.Order(p.ID); ok {
			p.Order = now
		}
		l.addGroup(&p)
	})
	if err != nil { // the desk has stopped
		select {
		case <-t.waiter.done:
			return t.waiter.result
		default: // the order as it was recorded
		}
	}
	return p
}

// orderError returns the fault of an order that was denied, rejected or not sent.
func orderError(o order.Order) error {
	switch o.Status {
	case order.Denied:
		return withUsedKey(fault.New(fault.Conflict, "order_denied", "%s: %s", o.Denial.Rule, o.Reason).About("", o.Denial.Value, o.Denial.Limit), o.Key)
	case order.Rejected:
		if o.NotSent {
			return withUsedKey(fault.New(fault.Unavailable, "not_sent", "Order closed: %s", o.Reason), o.Key)
		}
		return fault.New(fault.Conflict, "order_rejected", "%s rejected the order: %s", o.Broker, o.Reason)
	default:
		return nil
	}
}

// checkEarly checks a request without prices, so that a denial costs no venue request.
func (l *loop) checkEarly(caller principal.Caller, r order.Request) *callResult {
	if t := l.resultForKey(r); t != nil {
		return t
	}
	if l.state.AwaitsReconciliation() {
		l.cfg.Log.InfoContext(l.drainCtx, "order received before the first reconciliation", "symbol", r.Symbol.String(), "client", caller.Client)
		return failed(l.notReconciledError())
	}
	if r.Sizing.SetsQuantity() {
		r.Quantity = order.Unsized()
	}
	g := l.origin(caller, r)
	facts := l.withDryRuns(&r, guard.GatherEarly(l.book, l.now(), r.Symbol, r.Deployment))
	if denial := guard.Early(l.cfg.Policy, l.state, intent(g), facts); denial != nil {
		return l.deny(caller, g, denial, r.DryRun)
	}
	t := &callResult{}
	if len(r.Because) > 0 || l.cfg.Policy.HasConditions() {
		t.closes = guard.Closes(l.cfg.Policy, intent(g), facts)
		t.conditions = l.conditionsOf(r, t.closes)
	}
	return t
}

// place checks a request, and records and submits it if it passes.
func (l *loop) place(caller principal.Caller, r order.Request, requestedAt time.Time, m symbolMarket) *callResult {
	if t := l.resultForKey(r); t != nil {
		return t // a concurrent call with the same key was first
	}
	if err := l.checkDelay(requestedAt); err != nil {
		return failed(err)
	}
	l.learn(r.Symbol, m)
	facts := l.withDryRuns(&r, l.facts(r.Symbol, r.Deployment, m))
	sized, err := l.size(caller, &r, facts)
	if err != nil {
		return failed(err)
	}
	if head := l.changing(r.Symbol); head != "" && (r.ReduceOnly || r.Replaces != "") && !r.DryRun {
		return &callResult{after: l.addWaiter(head, submitFinished), err: errBusyLine(head)}
	}
	p, err := l.propose(caller, r, facts)
	if err != nil {
		return failed(err)
	}
	if denial := l.judgeProposal(&p); denial != nil {
		return l.deny(caller, p.asked, denial, r.DryRun)
	}
	if err := guard.Unjudged(l.cfg.Policy, p.intent, p.facts); err != nil {
		return failed(err)
	}
	l.markUnreasoned(&p)
	if r.DryRun {
		l.recordDryRun(p.asked, "")
		t := dryRun(p, l.now())
		t.order.Estimate = cmp.Or(sized, new(guard.Estimate(l.cfg.Policy, p.intent, p.facts)))
		return t
	}
	var t *callResult
	if len(p.ends) > 0 {
		t = l.deferSend(caller, p, requestedAt, m)
	} else {
		t = l.admit(caller, p, requestedAt)
	}
	l.reportUnreasoned(t)
	t.order.Estimate = sized
	if p.change != nil {
		t.order.Changed = p.change.concerned
	}
	return t
}

// size sets the prices and the quantity that follow from the sizing of a request, and returns how the quantity
// followed from a risk.
func (l *loop) size(caller principal.Caller, r *order.Request, facts guard.Facts) (*order.Estimate, error) {
	var err error
	if *r, err = guard.Levels(l.cfg.Policy, intent(l.origin(caller, *r)), *r, facts); err != nil || !r.Sizing.SetsQuantity() {
		return nil, err
	}
	in := intent(l.origin(caller, *r))
	in.Holder, facts = l.holder(in, facts)
	e, err := guard.Size(l.cfg.Policy, in, r.Sizing, facts)
	if err != nil {
		return nil, err
	}
	r.Quantity = e.Quantity
	if !r.Sizing.Risks() {
		r.Sizing.Price = e.Price
		return nil, nil
	}
	return &e, nil
}

// dryRun is the result of orders that were checked and not recorded, without IDs.
func dryRun(p proposal, now time.Time) *callResult {
	t := &callResult{done: true}
	for _, g := range p.orders {
		asked := g.ID == p.asked.ID
		g.ID = ""
		o := order.Order{Origin: g, Status: order.New, Created: now, Updated: now}
		if asked {
			t.order.Order = o
		} else {
			t.order.Legs = append(t.order.Legs, o)
		}
	}
	t.order.Plan = p.lines
	return t
}

// admit decides what becomes of orders that passed every rule: they are recorded and sent,
// or wait for the owner.
func (l *loop) admit(caller principal.Caller, p proposal, requestedAt time.Time) *callResult {
	if guard.NeedsApproval(l.cfg.Policy, p.intent, p.facts) {
		return l.ask(caller, p, requestedAt)
	}
	events := append(l.planned(p.asked.Symbol, p.lines), l.endLocal(&p)...)
	t := l.send(caller, p.orders, events, requestedAt)
	if t.err == nil {
		if t.waiter != nil && p.change != nil {
			l.changes[p.orders[0].ID] = p.change
		}
		t.order.Order, _ = l.book.Order(p.asked.ID)
		if t.waiter != nil && p.asked.ID != p.orders[0].ID {
			t.waiter = l.addWaiter(p.asked.ID, submitFinished)
		}
	}
	return t
}

// send records orders and the plan that asks for them in one commit, and queues their submission in
// one request.
func (l *loop) send(caller principal.Caller, orders []order.Origin, plan []order.Event, requestedAt time.Time) *callResult {
	if len(l.sends.queue) >= maxQueued {
		return failed(fault.New(fault.Unavailable, "busy", "Too many orders are waiting to be sent; this one was not placed. Retry in 1 s.").Retry(time.Second))
	}
	if err := l.commit(caller, append(sentEvents(orders, l.now()), plan...)...); err != nil {
		return failed(persistError(err))
	}
	o, _ := l.book.Order(orders[0].ID)
	if o.Local() {
		return &callResult{order: order.Placed{Order: o}, done: true}
	}
	l.queueSubmit(caller, o, requestedAt.Round(0))
	for _, part := range l.parts(o) {
		l.queueSubmit(caller, part, requestedAt.Round(0))
	}
	return &callResult{order: order.Placed{Order: o}, waiter: l.addWaiter(o.ID, submitFinished)}
}

// persistError is the fault of an order that could not be stored.
func persistError(err error) error {
	if f := fault.Of(err); f != nil && f.Kind == fault.Conflict {
		return err
	}
	if errors.Is(err, ErrFenced) {
		return fencedError(err)
	}
	return fault.New(fault.Unavailable, "store_failed",
		"The order could not be saved and was not sent. Trading is halted until the owner runs candela resume.").Because(err)
}

// origin builds the order of a request.
func (l *loop) origin(caller principal.Caller, r order.Request) order.Origin {
	g := order.Origin{
		Spec:   r.Spec(l.orderID(r.Key), l.cfg.Owner),
		Broker: l.cfg.Broker.Name(), Mode: l.cfg.Broker.Mode(), Key: r.Key, Token: caller.Key, Client: caller.Client, RequestedSymbol: r.RequestedSymbol, Note: r.Note,
		Replaces: r.Replaces, NotAfter: r.NotAfter, Sizing: r.Sizing, Policy: l.policyHash, Scope: r.Scope, Evidence: r.Evidence, Conditions: r.Conditions,
		Deployment: r.Deployment,
	}
	if g.Evidence == nil {
		g.Evidence = order.Unanswered(r.Because, "Another rule denied the order first.")
	}
	if !r.Sizing.IsZero() {
		g.Asked = r.Terms()
	}
	return g
}

func intent(g order.Origin) guard.Intent {
	return guard.Intent{Spec: g.Spec, Broker: g.Broker, Mode: g.Mode, Key: g.Key, Token: g.Token, Holder: g.Holder, Deployment: g.Deployment, Sizing: g.Sizing, Asked: g.Asked, Evidence: g.Evidence, Conditions: g.Conditions}
}

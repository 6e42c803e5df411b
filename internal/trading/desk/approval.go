package desk

import (
	"cmp"
	"context"
	"slices"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// An order above the policy's limit is recorded as pending_approval and waits for the
// owner. The orders of a group wait and are decided together. Nothing is sent before the
// owner's yes, whose record and that of the submission are one commit: an order that is
// approved and not found at the venue after a crash is canceled like any other, and never
// sent late. Every other end is a denial, or a cancel by the client.

// ask records orders that passed every rule and that the owner must approve.
func (l *loop) ask(caller principal.Caller, p proposal, requestedAt time.Time) *callResult {
	orders, waiting := p.orders, 0
	head := orders[0]
	if l.revocations.revoked(caller, requestedAt, l.now()) {
		return l.deny(caller, head, guard.LoginRevoked(), false)
	}
	for _, o := range l.pending() {
		if o.Token == head.Token {
			waiting++
		}
	}
	if denial := guard.CheckPending(waiting); denial != nil {
		return l.deny(caller, head, denial, false)
	}
	now := l.now()
	asked := order.Approval{Asked: now, Expires: now.Add(l.cfg.Policy.Approval.Expires), Price: p.facts.Quote.Last}
	asked.Stake = guard.Estimate(l.cfg.Policy, p.intent, p.facts).Stake()
	if last := head.NotAfter; !last.IsZero() && last.Before(asked.Expires) {
		asked.Expires = last
	}
	events := make([]order.Event, 0, 2*len(orders))
	for i := range orders {
		g := &orders[i]
		events = append(events,
			order.Event{Kind: order.KindCreated, OrderID: g.ID, At: now, Origin: g},
			order.Event{Kind: order.KindApprovalAsked, OrderID: g.ID, At: now, Approval: &asked})
	}
	if err := l.commit(caller, events...); err != nil {
		return failed(persistError(err))
	}
	o, _ := l.book.Order(head.ID)
	l.cfg.Log.InfoContext(l.drainCtx, "order needs approval", "order", o.ID, "symbol", o.Symbol.String(), "client", o.Client, "expires", asked.Expires)
	l.notifyOwner(o)
	return &callResult{order: order.Placed{Order: o}, done: true}
}

// notifyOwner reports an order that waits for the owner.
func (l *loop) notifyOwner(o order.Order) {
	if l.cfg.Asked != nil {
		l.cfg.Asked(o)
	}
}

// pending returns the orders that wait for the owner, of a group the first, newest first.
func (l *loop) pending() []order.Order { return pendingOf(l.book.Open()) }

func pendingOf(open []order.Order) []order.Order {
	var heads []order.Order
	for _, o := range open {
		if o.Status == order.PendingApproval && (o.Group.Name == "" || o.Group.Name == o.ID) {
			heads = append(heads, o)
		}
	}
	return heads
}

// Pending lists the orders that wait for the owner, of a group the first, newest first.
func (d *Desk) Pending(ctx context.Context) (pending []order.Order, err error) {
	err = d.do(ctx, func(l *loop) { pending = l.pending() }) // after the account is loaded
	return pending, err
}

// Approve sends an order that waits for the owner, with the others of its group, and waits
// for the venue as Place does. The guard judges it again at the current price, and a denial
// ends it with the fault order_denied. An order that no longer waits is returned with the
// fault not_pending. After any other error nothing was decided.
func (d *Desk) Approve(ctx context.Context, id, by string) (order.Order, error) {
	requestedAt := d.cfg.Now()
	d.AwaitReconciled(ctx)
	var head order.Order
	var ended error
	if err := d.do(ctx, func(l *loop) { head, ended = l.pendingOrder(id) }); err != nil || ended != nil {
		return head, cmp.Or(err, ended)
	}
	m, err := d.readMarket(ctx, head.Spec)
	if err != nil {
		return head, err
	}
	m.judged = d.judgeWaiting(ctx, head, d.view.Load().policy)
	var t *callResult
	if err := d.do(ctx, func(l *loop) { t = l.approve(id, by, requestedAt, m) }); err != nil {
		return head, err
	}
	p, err := d.awaitSubmit(ctx, t)
	return p.Order, err
}

// Review says why an order waits for the owner, and whether it would pass if it were approved
// now. It decides nothing.
func (d *Desk) Review(ctx context.Context, id string) (guard.Review, error) {
	var head order.Order
	var ended error
	if err := d.do(ctx, func(l *loop) { head, ended = l.pendingOrder(id) }); err != nil || ended != nil {
		return guard.Review{}, cmp.Or(err, ended)
	}
	m, err := d.readMarket(ctx, head.Spec)
	if err != nil {
		return guard.Review{}, err
	}
	now := d.judgeWaiting(ctx, head, d.view.Load().policy)
	head.Evidence, head.Conditions = now.claims, now.conditions
	review := guard.Review{Evidence: now.claims, Conditions: now.conditions}
	err = d.do(ctx, func(l *loop) {
		facts := l.factsAgain(head, m)
		review.Because, review.Denial = guard.WhyApproval(l.cfg.Policy, intent(head.Origin), facts), l.judge(head, facts)
	})
	return review, err
}

// Refuse ends an order that waits for the owner, with the others of its group. The client
// reads the reason, which may be empty.
func (d *Desk) Refuse(ctx context.Context, id, by, reason string) (order.Order, error) {
	var o order.Order
	var refused error
	err := d.do(ctx, func(l *loop) { o, refused = l.refuse(id, by, reason) })
	return o, cmp.Or(err, refused)
}

// pendingOrder returns the order that waits for the owner under its ID or that of one of
// its legs, or the fault of one that does not.
func (l *loop) pendingOrder(id string) (order.Order, error) {
	if err := l.endPending(l.now()); err != nil {
		return order.Order{}, undecided(err)
	}
	o, ok := l.book.Order(id)
	if !ok {
		return o, fault.New(fault.NotFound, "unknown_order", "No order %q waits for approval. List those that do with candela approvals.", id).About("order_id", id, "")
	}
	if head, ok := l.book.Order(o.Group.Name); ok {
		o = head
	}
	if o.Status == order.PendingApproval {
		return o, nil
	}
	text := o.Status.String()
	switch {
	case o.Status == order.Denied:
		text += " (" + o.Denial.Rule + ": " + o.Reason + ")"
	case o.Approval.By != "":
		text += ", approved at " + o.Approval.Decided.UTC().Format(time.RFC3339) + " by " + o.Approval.By
	}
	return o, fault.New(fault.Conflict, "not_pending", "Order %s does not wait for approval: it is %s. Nothing was changed.", o.ID, text).About("order_id", o.ID, "")
}

// undecided is the fault of a decision that could not be recorded.
func undecided(err error) error {
	if f := fault.Of(err); f != nil && f.Kind == fault.Conflict {
		return err
	}
	return fault.New(fault.Unavailable, "store_failed", "The decision could not be saved, so nothing was sent. Run candela status.").Because(err)
}

// approve records the owner's yes and queues the submission, if every rule still passes.
func (l *loop) approve(id, by string, requestedAt time.Time, m symbolMarket) *callResult {
	o, err := l.pendingOrder(id)
	t := &callResult{order: order.Placed{Order: o}, done: true, err: err}
	if t.err == nil && l.state.AwaitsReconciliation() {
		t.err = l.notReconciledError()
	}
	if t.err == nil && l.checkDelay(requestedAt) != nil {
		t.err = fault.New(fault.Unavailable, "too_late", "The approval took too long to arrive, so the order still waits. Look at the price and approve it again.").Retry(resumeGrace)
	}
	if t.err == nil && len(l.sends.queue) >= maxQueued {
		t.err = fault.New(fault.Unavailable, "busy", "Too many orders are waiting to be sent; this one still waits for approval. Retry in 1 s.").Retry(time.Second)
	}
	if t.err != nil {
		return t
	}
	o.Evidence, o.Conditions = m.judged.claims, m.judged.conditions
	if denial := l.judgeAgain(o, m); denial != nil {
		return l.denyPending(l.ownerCaller(by), o, denial)
	}
	if err := guard.Unjudged(l.cfg.Policy, intent(o.Origin), l.factsAgain(o, m)); err != nil {
		t.err = err
		return t
	}
	now := l.now()
	var events []order.Event
	for _, one := range l.together(o) {
		events = append(events,
			order.Event{Kind: order.KindApproved, OrderID: one.ID, At: now, Approval: &order.Approval{Decided: now, By: by}},
			order.Event{Kind: one.Departure(), OrderID: one.ID, At: now})
	}
	if o.Role == order.Entry {
		lines := append(l.lines(o.Symbol), order.Line{ID: o.ID, Side: o.Side, Protect: o.Protect, By: o.ID, Deployment: o.Deployment})
		events = append(events, l.planned(o.Symbol, lines)...)
	}
	if err := l.commit(l.ownerCaller(by), events...); err != nil {
		return &callResult{order: order.Placed{Order: o}, done: true, err: undecided(err)}
	}
	l.cfg.Log.InfoContext(l.drainCtx, "order approved", "order", o.ID, "by", by)
	o, _ = l.book.Order(o.ID)
	l.queueSubmit(l.approvedCaller(o, requestedAt), o, requestedAt.Round(0))
	return &callResult{order: order.Placed{Order: o}, waiter: l.addWaiter(o.ID, submitFinished)}
}

// approvedCaller stands for the client of an approved order until it is sent, so that the
// revocation of its token, or of all tokens, still stops it.
func (l *loop) approvedCaller(o order.Order, requestedAt time.Time) principal.Caller {
	return principal.Caller{Subject: l.cfg.Owner, Key: o.Token, Client: o.Client, Expires: requestedAt.Add(2 * maxSubmitDelay)}
}

// judgeAgain checks an order that waits as if it were requested now.
func (l *loop) judgeAgain(o order.Order, m symbolMarket) *guard.Denial {
	return l.judge(o, l.factsAgain(o, m))
}

// judge checks an order that waits.
func (l *loop) judge(o order.Order, facts guard.Facts) *guard.Denial {
	if denial := guard.Check(l.cfg.Policy, l.state, intent(o.Origin), facts); denial != nil {
		return denial
	}
	return guard.CheckDrift(l.cfg.Policy, o, facts.Quote.Last)
}

// factsAgain returns what an order that waits is judged by now.
func (l *loop) factsAgain(o order.Order, m symbolMarket) guard.Facts {
	l.learn(o.Symbol, m)
	prices := l.prices()
	if known, ok := prices.Quotes[o.Symbol]; !ok || !known.At.After(m.quote.At) {
		prices.Quotes[o.Symbol] = m.quote
	}
	return heldBy(o.Holder, l.withAccount(guard.GatherAgain(l.cfg.Policy, l.book, prices, o), prices, m)).WithDeployments(l.deployments, o.Symbol, o.Deployment)
}

// together returns the orders that are decided with one that waits, itself first.
func (l *loop) together(head order.Order) []order.Order {
	return append([]order.Order{head}, l.legs(head)...)
}

// denyPending records the denial of an order that waits, and of the others of its group.
// A missing price denies nothing: the order waits on.
func (l *loop) denyPending(by principal.Caller, o order.Order, denial *guard.Denial) *callResult {
	t := &callResult{order: order.Placed{Order: o}, done: true}
	if denial.Rule == "max_quote_age" {
		t.err = fault.New(fault.Unavailable, "no_price", "%s Nothing was decided: the order still waits.", denial.Text).Retry(time.Second)
		return t
	}
	if err := l.commit(by, l.pendingDenied(o, denial)...); err != nil {
		t.err = undecided(err)
		return t
	}
	l.logDenied(o, denial)
	t.order.Order, _ = l.book.Order(o.ID)
	t.err = fault.New(fault.Conflict, "order_denied", "%s: %s", denial.Rule, denial.Text).About("", denial.Value, denial.Limit)
	return t
}

// pendingDenied returns the events of a denial.
func (l *loop) pendingDenied(o order.Order, denial *guard.Denial) []order.Event {
	orders := l.together(o)
	events := make([]order.Event, 0, len(orders))
	for _, one := range orders {
		events = append(events, order.Event{Kind: order.KindDenied, OrderID: one.ID, At: l.now(), Reason: denial.Text, Denial: denial.Record()})
	}
	return events
}

func (l *loop) logDenied(o order.Order, denial *guard.Denial) {
	l.cfg.Log.InfoContext(l.drainCtx, "order denied", "order", o.ID, "rule", denial.Rule, "limit", denial.Limit, "value", denial.Value, "client", o.Client)
}

// refuse records the owner's no.
func (l *loop) refuse(id, by, reason string) (order.Order, error) {
	o, err := l.pendingOrder(id)
	if err != nil {
		return o, err
	}
	denial := guard.OwnerRefused(fault.Clean(reason, fault.MaxForeign))
	if err := l.commit(l.ownerCaller(by), l.pendingDenied(o, denial)...); err != nil {
		return o, undecided(err)
	}
	l.logDenied(o, denial)
	o, _ = l.book.Order(o.ID)
	return o, nil
}

// withdraw cancels an order that waits for the owner, with the others of its group.
func (l *loop) withdraw(by principal.Caller, o order.Order) *callResult {
	head := o
	if first, ok := l.book.Order(o.Group.Name); ok {
		head = first
	}
	orders := l.together(head)
	events := make([]order.Event, 0, len(orders))
	for _, one := range orders {
		events = append(events, l.event(one, order.KindCanceled, "canceled before the owner decided")...)
	}
	if err := l.commit(by, events...); err != nil {
		return failed(undecided(err))
	}
	o, _ = l.book.Order(o.ID)
	return &callResult{order: order.Placed{Order: o}, done: true}
}

// endPendingOnTick denies what may no longer wait, with backoff while the store fails.
func (l *loop) endPendingOnTick(now time.Time) {
	if now.Before(l.pendingRetry.next) {
		return
	}
	if l.endPending(now) != nil {
		l.pendingRetry.failed(now, retry.Backoff{First: time.Second, Max: time.Minute})
	} else {
		l.pendingRetry = attempts{}
	}
}

// endPending denies the orders that may no longer wait for the owner: after their end,
// after the revocation of the login that placed them, and while trading is halted.
func (l *loop) endPending(now time.Time) error {
	revoked, applied := l.revocations.unapplied()
	var events []order.Event
	denied := make(map[string]*guard.Denial)
	for _, o := range l.pending() {
		if denial := l.endOf(o, revoked, now); denial != nil {
			denied[o.ID] = denial
			events = append(events, l.pendingDenied(o, denial)...)
		}
	}
	if err := l.commit(l.systemCaller(), events...); err != nil {
		return err
	}
	applied()
	for id, denial := range denied {
		o, _ := l.book.Order(id)
		l.logDenied(o, denial)
	}
	return nil
}

// endOf returns why an order may no longer wait for the owner, nil if it may.
func (l *loop) endOf(o order.Order, revoked func(token string) bool, now time.Time) *guard.Denial {
	switch {
	case !now.Before(o.Approval.Expires):
		return guard.ApprovalExpired(o)
	case revoked(o.Token):
		return guard.LoginRevoked()
	case l.state.Level() == guard.Halted && !l.state.AwaitsReconciliation():
		return guard.HaltedWhilePending(l.state)
	}
	return nil
}

// wakeForRevocation makes the loop deny the orders of revoked tokens now. If it is busy, the
// next tick or decision does.
func (d *Desk) wakeForRevocation() {
	select {
	case d.commands <- func(l *loop) { l.endPendingOnTick(l.now()) }:
	default:
	}
}

// maxUnapplied is how many revoked tokens are kept until the loop has denied their orders.
const maxUnapplied = 1000

// note keeps revoked tokens for unapplied; all tokens if there is no key, or too many.
func (e *revocations) note(keys []string) {
	e.everyone = e.everyone || len(keys) == 0 || len(e.fresh)+len(keys) > maxUnapplied
	if e.everyone {
		e.fresh = nil
		return
	}
	e.fresh = append(e.fresh, keys...)
}

// unapplied returns a function that reports whether a token was revoked, and one that
// forgets these tokens once their orders are denied.
func (e *revocations) unapplied() (revoked func(token string) bool, applied func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	keys, everyone := slices.Clone(e.fresh), e.everyone
	return func(token string) bool { return everyone || slices.Contains(keys, token) },
		func() { e.forget(len(keys), everyone) }
}

// forget drops the first tokens of fresh. A revocation of all that came later is kept.
func (e *revocations) forget(keys int, everyone bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if everyone {
		e.everyone = false
	}
	e.fresh = slices.Delete(e.fresh, 0, min(keys, len(e.fresh)))
}

package rehearse

import (
	"context"
	"errors"
	"strings"
	"time"

	"candela/internal/kit/retry"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// bracket places an entry with a stop and a target that rests, and cancels the entry.
func bracket(ctx context.Context, r *rehearsal) outcome {
	if !r.can.TwoLegs {
		return unproven("the venue holds no brackets in %s: candela holds stop and target itself", r.symbol)
	}
	entry, err := r.price(ctx, "0.9")
	if err != nil {
		return deviates("%s", words(err))
	}
	stop, err1 := r.price(ctx, "0.8")
	target, err2 := r.price(ctx, "1.1")
	if err := errors.Join(err1, err2); err != nil {
		return deviates("%s", words(err))
	}
	orders := r.request(order.Request{Side: order.Buy, Type: order.Limit, Price: entry, Protect: order.Protection{StopLoss: stop, TakeProfit: target}})
	return r.grouped(ctx, orders, "entry, stop and target")
}

// pair places a target and a stop for what is held, and cancels the target.
func pair(ctx context.Context, r *rehearsal) outcome {
	q := r.holding()
	switch {
	case !r.can.Pairs:
		return unproven("the venue holds no pairs in %s: candela holds the stop itself", r.symbol)
	case !q.IsPositive():
		return unproven("nothing is held")
	}
	stop, err1 := r.price(ctx, "0.9")
	target, err2 := r.price(ctx, "1.1")
	if err := errors.Join(err1, err2); err != nil {
		return deviates("%s", words(err))
	}
	orders := r.request(order.Request{Side: order.Sell, Type: order.Market, ReduceOnly: true, Quantity: q, Protect: order.Protection{StopLoss: stop, TakeProfit: target}})
	return r.grouped(ctx, orders, "target and stop")
}

// grouped places a group that rests, finds each order by our id alone, and cancels the first.
func (r *rehearsal) grouped(ctx context.Context, orders []order.Spec, what string) outcome {
	handles, err := r.group(ctx, orders)
	if err != nil {
		return deviates("%s", words(err))
	}
	for i, h := range handles {
		own := h
		own.VenueID = ""
		found, err := r.await(ctx, own, order.Accepted, order.Held)
		if err != nil || found.VenueID != h.VenueID {
			return deviates("order %d of the group by our id: %q, %s", i+1, found.VenueID, words(err))
		}
	}
	if _, err := r.end(ctx, handles[0]); err != nil {
		return deviates("%s", words(err))
	}
	if !r.can.CancelEndsGroup {
		for _, h := range handles[1:] {
			if _, err := r.end(ctx, h); err != nil {
				return deviates("%s", words(err))
			}
		}
		return proven("%s rest and are found by our ids; each is canceled by itself", what)
	}
	for _, h := range handles[1:] {
		if _, err := r.await(ctx, h, order.Canceled, order.Expired); err != nil {
			return deviates("after the cancel of the first: %s", words(err))
		}
	}
	return proven("%s rest and are found by our ids; the cancel of one ends all. A group that is filled in part was not seen", what)
}

// marketOrder buys the smallest size.
func marketOrder(ctx context.Context, r *rehearsal) outcome {
	before, err := r.held(ctx)
	if err != nil {
		return deviates("%s", words(err))
	}
	h, _, err := r.submit(ctx, r.request(order.Request{Side: order.Buy, Type: order.Market})[0])
	if err != nil {
		return deviates("%s", words(err))
	}
	report, err := r.await(ctx, h, order.Filled)
	if err != nil {
		if _, failed := r.end(ctx, h); failed != nil {
			return deviates("%s; %s", words(err), words(failed))
		}
		return unproven("it was not filled (%s): is the market open? What needs a position is not proven either", words(err))
	}
	fills, err := r.of(ctx, h, report.Filled)
	if err != nil {
		return deviates("%s", words(err))
	}
	after, err := r.held(ctx)
	if err != nil {
		return deviates("%s", words(err))
	}
	if gain := after.Quantity.Sub(before.Quantity); !gain.Equal(r.bought()) {
		return deviates("the fills come to %s, and the account has %s more", r.bought(), gain)
	}
	fee := "no fee"
	if f := fills[0]; !f.Fee.IsZero() {
		fee = "a fee in " + f.FeeAsset
	}
	return proven("filled by %d trades with their ids, %s; the account has as much more as they say", len(fills), fee)
}

// stopAt returns an order that sells what is held at a share of the price.
func (r *rehearsal) stopAt(ctx context.Context, share string) (order.Spec, outcome, bool) {
	q := r.holding()
	switch {
	case !r.can.Stops:
		return order.Spec{}, unproven("the venue holds no stops in %s: candela holds them itself", r.symbol), false
	case !q.IsPositive():
		return order.Spec{}, unproven("nothing is held"), false
	}
	at, err := r.price(ctx, share)
	if err != nil {
		return order.Spec{}, deviates("%s", words(err)), false
	}
	return r.request(order.Request{Side: order.Sell, Type: order.Market, ReduceOnly: true, Quantity: q, Protect: order.Protection{StopLoss: at}})[0], outcome{}, true
}

func stopAlone(ctx context.Context, r *rehearsal) outcome {
	o, why, ok := r.stopAt(ctx, "0.9")
	if !ok {
		return why
	}
	h, _, err := r.submit(ctx, o)
	if err != nil {
		return deviates("%s", words(err))
	}
	read, err := r.await(ctx, o.Handle(), order.Accepted)
	if err != nil || read.ID != o.ID || !read.StopPrice.Equal(o.StopPrice) {
		return deviates("read by our id: %q with the stop price %s, %s", read.ID, read.StopPrice, words(err))
	}
	if _, err := r.end(ctx, h); err != nil {
		return deviates("%s", words(err))
	}
	o, why, ok = r.stopAt(ctx, "1.1")
	if !ok {
		return why
	}
	if _, _, err = r.submit(ctx, o); !errors.Is(broker.Outcome(err), broker.ErrRejected) {
		return deviates("a stop that sells above the price: %s", words(err))
	}
	return proven("held, found by our id and canceled; on the wrong side of the price %s", words(err))
}

// beside sells what a stop holds.
func beside(ctx context.Context, r *rehearsal) outcome {
	if r.options.Broker.Assets && r.before.Available.GreaterThanOrEqual(r.quantity) {
		return unproven("the account has more %s than the rehearsal bought, and would sell that", r.instrument.Base)
	}
	o, why, ok := r.stopAt(ctx, "0.9")
	if !ok {
		return why
	}
	stop, _, err := r.submit(ctx, o)
	if err != nil {
		return deviates("%s", words(err))
	}
	if _, err := r.await(ctx, stop, order.Accepted); err != nil {
		return deviates("%s", words(err))
	}
	sale, _, err := r.submit(ctx, r.request(order.Request{Side: order.Sell, Type: order.Market, ReduceOnly: true, Quantity: o.Quantity})[0])
	if err == nil {
		_, err = r.await(ctx, sale, order.Filled)
	}
	if err == nil {
		return r.orphan(ctx, stop, sale)
	}
	says := words(err)
	if _, err := r.end(ctx, stop); err != nil {
		return deviates("%s", words(err))
	}
	return proven("a sale beside the stop is not done (%s): candela cancels the stop first", says)
}

// orphan says what becomes of a stop whose position was closed.
func (r *rehearsal) orphan(ctx context.Context, stop, sale order.Handle) outcome {
	if _, err := r.of(ctx, sale, sale.Quantity); err != nil {
		return deviates("%s", words(err))
	}
	if report, err := r.await(ctx, stop, order.Canceled, order.Expired); err == nil {
		return proven("the position closes, and the venue ends its stop as %s", report.Status)
	}
	if _, err := r.end(ctx, stop); err != nil {
		return deviates("%s", words(err))
	}
	return proven("the position closes, and its stop stays until it is canceled: candela cancels it")
}

// triggers places a stop so near to the price that it may be reached in a minute.
func triggers(ctx context.Context, r *rehearsal) outcome {
	o, why, ok := r.stopAt(ctx, "0.9997")
	if !ok {
		return why
	}
	h, _, err := r.submit(ctx, o)
	if err != nil {
		return unproven("a stop near the price: %s", words(err))
	}
	report, err := r.awaitFor(ctx, triggerTime, h, order.Filled, order.Expired)
	if err != nil || report.Filled.IsZero() {
		if _, failed := r.end(ctx, h); failed != nil {
			return deviates("%s; %s", words(err), words(failed))
		}
		return unproven("the price did not reach it in %v", triggerTime)
	}
	fills, err := r.of(ctx, h, report.Filled)
	if err != nil {
		return deviates("%s", words(err))
	}
	return proven("it triggered and sold by %d trades of the same order", len(fills))
}

func reduces(context.Context, *rehearsal) outcome {
	return unproven("only perpetual futures have orders that the venue itself keeps from opening a position")
}

// answerLost lets the venue take an order whose answer never comes.
func answerLost(ctx context.Context, r *rehearsal) outcome {
	o, err := r.far(ctx)
	if err != nil {
		return deviates("%s", words(err))
	}
	r.way.arm(loseAnswer, 0)
	_, _, err = r.submit(ctx, o)
	if !errors.Is(broker.Outcome(err), broker.ErrUnknown) {
		return deviates("the order is not unknown: %s", words(err))
	}
	began := time.Now()
	found, err := r.await(ctx, o.Handle(), order.Accepted)
	if err != nil {
		return deviates("it is not found by our id: %s", words(err))
	}
	took := time.Since(began)
	if _, err := r.end(ctx, order.Handle{Spec: o, VenueID: found.VenueID}); err != nil {
		return deviates("%s", words(err))
	}
	return proven("unknown, and found by our id %d ms later; it was not sent again", took.Milliseconds())
}

// requestLost keeps an order from the venue.
func requestLost(ctx context.Context, r *rehearsal) outcome {
	o, err := r.far(ctx)
	if err != nil {
		return deviates("%s", words(err))
	}
	r.way.arm(loseRequest, 0)
	_, _, err = r.submit(ctx, o)
	if !errors.Is(broker.Outcome(err), broker.ErrUnknown) {
		return deviates("the order is not unknown: %s", words(err))
	}
	return r.absent(ctx, o, "unknown, and never found by our id: it was not sent again")
}

// absent holds for a while that the venue does not have an order.
func (r *rehearsal) absent(ctx context.Context, o order.Spec, says string) outcome {
	for range 5 {
		if _, err := r.broker.Query(ctx, o.Handle()); !errors.Is(err, broker.ErrNotFound) {
			return deviates("the venue knows the order: %s", words(err))
		}
		if err := retry.Sleep(ctx, time.Second); err != nil {
			return deviates("%s", words(err))
		}
	}
	return proven("%s", says)
}

// requestLate lets an order arrive when the venue must not carry it out any more.
func requestLate(ctx context.Context, r *rehearsal) outcome {
	void := r.options.Broker.Rehearsal.Void
	if void == 0 {
		return unproven("the venue carries out a request however late it comes")
	}
	o, err := r.far(ctx)
	if err != nil {
		return deviates("%s", words(err))
	}
	r.way.arm(hold, void+2*time.Second)
	if _, _, err = r.submit(ctx, o); err == nil {
		return deviates("an order that came %v late was carried out", void+2*time.Second)
	}
	delete(r.final, o.ID)
	return r.absent(ctx, o, strings.TrimSuffix("an order that came too late never appeared: "+words(err), ": "))
}

// streamCut trades while no report can come.
func streamCut(ctx context.Context, r *rehearsal) outcome {
	q, side := r.holding(), order.Sell
	if !q.IsPositive() {
		q, side = r.quantity, order.Buy
	}
	r.way.cut()
	select {
	case <-r.stream.done:
	case <-ctx.Done():
		return deviates("the broker does not notice that its stream was cut")
	}
	earlier := r.stream
	defer func() { r.restream(ctx, earlier) }()
	h, _, err := r.submit(ctx, r.request(order.Request{Side: side, Type: order.Market, ReduceOnly: side == order.Sell, Quantity: q})[0])
	if err != nil {
		return deviates("%s", words(err))
	}
	report, err := r.await(ctx, h, order.Filled, order.Expired)
	if err != nil || report.Filled.IsZero() {
		if _, failed := r.end(ctx, h); failed != nil {
			return deviates("%s; %s", words(err), words(failed))
		}
		return unproven("the order was not filled (%s)", words(err))
	}
	fills, err := r.of(ctx, h, report.Filled)
	if err != nil {
		return deviates("%s", words(err))
	}
	return proven("the cut is noticed (%s), and %d trades come once, by reading", words(earlier.why()), len(fills))
}

// restream begins another stream, which has the reports of the one before.
func (r *rehearsal) restream(ctx context.Context, earlier *listening) {
	l := listen(context.WithoutCancel(ctx), r.broker)
	l.mu.Lock()
	l.reports = append(l.reports, earlier.reports...)
	l.mu.Unlock()
	_ = l.flowing(ctx) // the steps that follow do not need it
	r.stream = l
}

// again reads every fill from the beginning and compares.
func again(ctx context.Context, r *rehearsal) outcome {
	all, _, err := r.broker.Fills(ctx, r.symbol, "")
	if err != nil {
		return deviates("%s", words(err))
	}
	seen := make(map[string]int)
	for _, f := range all {
		if r.ours(f) {
			seen[f.TradeID]++
		}
	}
	for _, f := range r.fills() {
		if seen[f.TradeID] != 1 {
			return deviates("trade %s comes %d times", f.TradeID, seen[f.TradeID])
		}
	}
	if len(seen) != len(r.fills()) {
		return deviates("%d trades, and %d when they were read one after the other", len(seen), len(r.fills()))
	}
	for trade := range r.stream.trades() {
		if seen[trade] == 0 {
			return deviates("the stream reported the trade %s, and the list does not have it", trade)
		}
	}
	if len(seen) == 0 {
		return unproven("nothing was traded")
	}
	return proven("%d trades, each once, and none was reported that is not among them", len(seen))
}

func funding(ctx context.Context, r *rehearsal) outcome {
	f, ok := r.broker.(broker.Funded)
	if !ok {
		return unproven("the account holds no perpetual futures")
	}
	paid, err := f.Funding(ctx, time.Now().Add(-24*time.Hour))
	if err != nil {
		return deviates("%s", words(err))
	}
	return proven("%d payments in a day", len(paid))
}

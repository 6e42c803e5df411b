package rehearse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/kit/retry"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// outcome is how a step ended.
type outcome struct {
	verdict Verdict
	says    string
}

func proven(format string, args ...any) outcome { return outcome{OK, fmt.Sprintf(format, args...)} }

func deviates(format string, args ...any) outcome {
	return outcome{Differs, fmt.Sprintf(format, args...)}
}

func unproven(format string, args ...any) outcome {
	return outcome{NotProven, fmt.Sprintf(format, args...)}
}

// step is one thing to show.
type step struct {
	name string
	run  func(context.Context, *rehearsal) outcome
}

// steps lists them in their order. Each leaves no order open.
func steps() []step {
	return []step{
		{"clock and keys", clock},
		{"modes", modes},
		{"prices", bars},
		{"stream of reports", flows},
		{"order that breaks the rules", refused},
		{"limit order far away", rests},
		{"the same id while it is open", twice},
		{"cancel, and cancel again", canceled},
		{"the same id after its end", reused},
		{"bracket that rests, canceled", bracket},
		{"market order", marketOrder},
		{"stop alone, and on the wrong side", stopAlone},
		{"pair that rests, canceled", pair},
		{"position closed beside its stop", beside},
		{"stop that triggers", triggers},
		{"reduce-only beyond the position", reduces},
		{"answer lost", answerLost},
		{"request lost", requestLost},
		{"request late", requestLate},
		{"stream cut during a fill", streamCut},
		{"all fills again", again},
		{"funding and liquidation", funding},
	}
}

// perform runs the steps and cleans up, also when ctx has ended.
func (r *rehearsal) perform(ctx context.Context, res *Result) {
	whole, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	r.stream = listen(whole, r.broker)
	for _, s := range steps() {
		if whole.Err() != nil {
			break
		}
		r.one(whole, s, res)
	}
	tidy, end := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer end()
	r.one(tidy, step{"clean", func(ctx context.Context, r *rehearsal) outcome { return r.cleaned(ctx, res) }}, res)
	r.stream.close()
}

// one runs a step and reports it.
func (r *rehearsal) one(ctx context.Context, s step, res *Result) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	if r.options.Began != nil {
		r.options.Began(s.name)
	}
	_ = r.read(ctx) // what was traded since; the steps that need it read it again
	began := time.Now()
	out := s.run(ctx, r)
	took := time.Since(began)
	row := Step{Name: s.name, Verdict: out.verdict, Says: out.says, Took: took, Millis: took.Milliseconds()}
	res.Steps = append(res.Steps, row)
	if r.options.Done != nil {
		r.options.Done(row)
	}
}

func (r *rehearsal) cleaned(ctx context.Context, res *Result) outcome {
	res.Left = r.clean(ctx)
	if len(res.Left) > 0 {
		return deviates("%d things are left; they are listed below", len(res.Left))
	}
	if rest := r.bought(); rest.IsPositive() {
		return proven("no order is open; %s %s are left, less than the venue trades", rest, r.instrument.Base)
	}
	return proven("no order is open, and everything bought was sold")
}

func clock(ctx context.Context, r *rehearsal) outcome {
	c, ok := r.broker.(broker.Clock)
	if !ok {
		return unproven("the venue publishes no time")
	}
	skew, err := c.Skew(ctx)
	if err != nil {
		return deviates("%s", words(err))
	}
	if skew.Abs() >= maxSkew {
		return deviates("the venue's clock is ahead of this machine's by %v: synchronize it", skew.Round(time.Millisecond))
	}
	if _, err := r.broker.Holdings(ctx); err != nil {
		return deviates("%s", words(err))
	}
	return proven("the clocks differ by %v, and the keys open the %s account; look at the venue that they do not allow withdrawals", skew.Abs().Round(time.Millisecond), r.options.Network)
}

func modes(ctx context.Context, r *rehearsal) outcome {
	m, ok := r.broker.(broker.Moded)
	if !ok {
		return unproven("the account has no modes: it holds no perpetual futures")
	}
	is, err := m.Modes(ctx, r.symbol)
	if err != nil {
		return deviates("%s", words(err))
	}
	if wrong := is.Wrong(is.Leverage); wrong != "" {
		return deviates("%s", wrong)
	}
	return proven("one-way mode and isolated margin, leverage %s", is.Leverage)
}

func bars(ctx context.Context, r *rehearsal) outcome {
	page, err := r.prices.Bars(ctx, provider.BarQuery{Symbol: r.symbol, Interval: market.Minute1, Limit: 3})
	if err != nil {
		return deviates("%s", words(err))
	}
	if page.Bars.Len() == 0 {
		return unproven("there is no bar of %s now", r.symbol)
	}
	if err := page.Bars.Check(); err != nil {
		return deviates("%s", words(err))
	}
	newest := time.Unix(page.Bars.T[page.Bars.Len()-1], 0).UTC()
	return proven("the newest bar of a minute began at %s; live bars are not compared", newest.Format(time.RFC3339))
}

func flows(ctx context.Context, r *rehearsal) outcome {
	if err := r.stream.flowing(ctx); err != nil {
		return deviates("%s", words(err))
	}
	return proven("the venue accepts the connection that reports what happens to orders")
}

// refused sends an order that our own check refuses too: its price is off the tick.
func refused(ctx context.Context, r *rehearsal) outcome {
	price, err := r.price(ctx, "0.9")
	if err != nil {
		return deviates("%s", words(err))
	}
	tick := r.instrument.TickAt(price)
	if !tick.IsPositive() {
		return unproven("prices of %s have no tick", r.symbol)
	}
	o := r.request(order.Request{Side: order.Buy, Type: order.Limit, Price: price.Add(tick.Div(decimal.NewFromInt(10)))})[0]
	_, _, err = r.submit(ctx, o)
	switch outcome := broker.Outcome(err); {
	case errors.Is(outcome, broker.ErrRejected):
		return proven("%s", words(err))
	case errors.Is(outcome, broker.ErrNotSent):
		return proven("candela refuses it before it is sent: %s", words(err))
	}
	return deviates("a price of %s off the tick of %s: %s", o.Price, tick, words(err))
}

// far returns a limit order that rests.
func (r *rehearsal) far(ctx context.Context) (order.Spec, error) {
	price, err := r.price(ctx, "0.9")
	return r.request(order.Request{Side: order.Buy, Type: order.Limit, Price: price})[0], err
}

func rests(ctx context.Context, r *rehearsal) outcome {
	o, err := r.far(ctx)
	if err != nil {
		return deviates("%s", words(err))
	}
	sent := time.Now()
	h, report, err := r.submit(ctx, o)
	if err != nil {
		return deviates("%s", words(err))
	}
	answered := time.Since(sent)
	r.rested = h
	if report.ID != o.ID {
		return deviates("the answer has the id %q, not ours", report.ID)
	}
	read, err := r.await(ctx, h, order.Accepted)
	if err != nil || read.ID != o.ID {
		return deviates("read by our id: %q, %s", read.ID, words(err))
	}
	open, err := r.broker.Open(ctx)
	if err != nil || !slices.ContainsFunc(open, func(x order.Report) bool { return x.ID == o.ID }) {
		return deviates("it is not among the %d open orders: %s", len(open), words(err))
	}
	if !r.reported(ctx, h, func(order.Report) bool { return true }) {
		return deviates("the stream does not report it within %v", settleTime)
	}
	return proven("our id comes back in the answer (%d ms), by a read, in the list and in the stream", answered.Milliseconds())
}

// reported waits for a report of an order on the stream.
func (r *rehearsal) reported(ctx context.Context, h order.Handle, is func(order.Report) bool) bool {
	for deadline := time.Now().Add(settleTime); ; {
		if slices.ContainsFunc(r.stream.of(h), is) {
			return true
		}
		if time.Now().After(deadline) || retry.Sleep(ctx, pollInterval) != nil {
			return false
		}
	}
}

func twice(ctx context.Context, r *rehearsal) outcome {
	if r.rested.ID == "" {
		return unproven("no limit order rests")
	}
	r.sent++
	_, err := r.broker.Submit(ctx, r.rested.Spec)
	open, failed := r.broker.Open(ctx)
	if failed != nil {
		return deviates("%s", words(failed))
	}
	n := 0
	for _, o := range open {
		if o.ID == r.rested.ID {
			n++
		}
	}
	if !errors.Is(broker.Outcome(err), broker.ErrUnknown) || n != 1 {
		return deviates("%s; the venue lists %d orders of the id", words(err), n)
	}
	return proven("the venue has one order of the id, and candela takes the second request for unknown and asks")
}

func canceled(ctx context.Context, r *rehearsal) outcome {
	if r.rested.ID == "" {
		return unproven("no limit order rests")
	}
	began := time.Now()
	report, err := r.end(ctx, r.rested)
	if err != nil || report.Status != order.Canceled {
		return deviates("%s %s", report.Status, words(err))
	}
	took := time.Since(began)
	if !r.reported(ctx, r.rested, func(x order.Report) bool { return x.Status.Final() }) {
		return deviates("the stream does not report the end within %v", settleTime)
	}
	late, err := r.broker.Cancel(ctx, r.rested)
	if err != nil && !errors.Is(err, broker.ErrNotFound) && !errors.Is(err, broker.ErrRejected) {
		return deviates("a second cancel: %s", words(err))
	}
	if err == nil && !late.Status.Final() {
		return deviates("a second cancel finds the order %s", late.Status)
	}
	return proven("canceled, and the read agrees after %d ms; a second cancel does nothing", took.Milliseconds())
}

// reused sends an id that an order had which has ended. candela itself never does that.
func reused(ctx context.Context, r *rehearsal) outcome {
	if r.rested.ID == "" {
		return unproven("no limit order rests")
	}
	delete(r.final, r.rested.ID)
	_, report, err := r.submit(ctx, r.rested.Spec)
	switch {
	case err == nil && report.ID == r.rested.ID:
		h := order.Handle{Spec: r.rested.Spec, VenueID: report.VenueID}
		if _, err := r.end(ctx, h); err != nil {
			return deviates("a second order of the id is there, and does not end: %s", words(err))
		}
		return proven("the venue accepts an id again once its order has ended: only candela's own record, which never uses one twice, keeps an order from being sent twice")
	case errors.Is(broker.Outcome(err), broker.ErrUnknown):
		return proven("the venue never accepts an id again")
	}
	return deviates("%s", words(err))
}

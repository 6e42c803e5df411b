package rehearse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/kit/id"
	"candela/internal/kit/retry"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// owner is the owner of the rehearsal's orders.
const owner = "rehearsal"

// rehearsal is what the steps share. One goroutine only.
type rehearsal struct {
	options    Options
	way        *way
	broker     broker.Broker
	prices     provider.Provider
	symbol     market.Symbol
	instrument provider.Instrument
	can        order.Capabilities
	quantity   decimal.Decimal // of each order
	before     order.Holding   // what the account had when it began
	stream     *listening

	sent   int
	tidies bool // what is sent cleans up, which no bound keeps from being done
	placed []order.Handle
	final  map[string]bool // the orders of placed that have ended
	traded []order.Fill    // in the symbol since the beginning, as read
	cursor broker.Cursor
	rested order.Handle // the order of the steps about a limit order
}

var errTooMany = fmt.Errorf("%w: a rehearsal sends at most %d orders", broker.ErrNotSent, maxOrders)

// held returns what the account has of the symbol.
func (r *rehearsal) held(ctx context.Context) (order.Holding, error) {
	all, err := r.broker.Holdings(ctx)
	if err != nil {
		return order.Holding{}, err
	}
	for _, h := range all {
		if h.Symbol == r.symbol || h.Symbol.IsZero() && h.Asset != "" && h.Asset == r.instrument.Base {
			return h, nil
		}
	}
	return order.Holding{}, nil
}

// last returns the newest price.
func (r *rehearsal) last(ctx context.Context) (decimal.Decimal, error) {
	page, err := r.prices.Bars(ctx, provider.BarQuery{Symbol: r.symbol, Interval: market.Minute1, Limit: 2})
	if err != nil {
		return decimal.Zero, err
	}
	if page.Bars.Len() == 0 {
		return decimal.Zero, errors.New("there is no price of " + r.symbol.String())
	}
	return decimal.NewFromFloat(page.Bars.At(page.Bars.Len() - 1).C), nil
}

// size chooses the quantity: small, and large enough that a part of it at a lower price is still an order.
func (r *rehearsal) size(ctx context.Context) error {
	price, err := r.last(ctx)
	if err != nil {
		return err
	}
	in := r.instrument
	q := decimal.Max(in.MinQuantity.Mul(decimal.NewFromInt(2)), in.Step, in.MinNotional.Mul(decimal.NewFromInt(3)).Div(price))
	if in.Step.IsPositive() {
		q = q.Div(in.Step).Ceil().Mul(in.Step)
	}
	if r.can.WholeLegs || !q.IsPositive() {
		q = decimal.Max(q.Ceil(), decimal.NewFromInt(1))
	}
	r.quantity = q
	return nil
}

// price returns a share of the last price that is a multiple of the tick.
func (r *rehearsal) price(ctx context.Context, share string) (decimal.Decimal, error) {
	last, err := r.last(ctx)
	if err != nil {
		return last, err
	}
	p := last.Mul(decimal.RequireFromString(share))
	if tick := r.instrument.TickAt(p); tick.IsPositive() {
		return p.Sub(p.Mod(tick)), nil
	}
	return p.Round(2), nil
}

// request returns the orders of a request, with ids.
func (r *rehearsal) request(q order.Request) []order.Spec {
	q.Symbol = r.symbol
	if q.Quantity.IsZero() {
		q.Quantity = r.quantity
	}
	head := q.Spec(id.New(time.Now()), owner)
	legs := head.Legs()
	for i := range legs {
		legs[i].ID = id.New(time.Now())
	}
	return append([]order.Spec{head}, legs...)
}

// submit sends an order, which is noted before.
func (r *rehearsal) submit(ctx context.Context, o order.Spec) (order.Handle, order.Report, error) {
	if r.sent++; r.sent > maxOrders && !r.tidies {
		return o.Handle(), order.Report{}, errTooMany
	}
	r.placed = append(r.placed, o.Handle())
	report, err := r.broker.Submit(ctx, o)
	h := &r.placed[len(r.placed)-1]
	h.VenueID = report.VenueID
	if err == nil && report.Status.Final() || err != nil && !errors.Is(broker.Outcome(err), broker.ErrUnknown) {
		r.final[o.ID] = true
	}
	return *h, report, err
}

// group sends orders as one request.
func (r *rehearsal) group(ctx context.Context, orders []order.Spec) ([]order.Handle, error) {
	if r.sent += len(orders); r.sent > maxOrders {
		return nil, errTooMany
	}
	from := len(r.placed)
	for _, o := range orders {
		r.placed = append(r.placed, o.Handle())
	}
	reports, err := r.broker.SubmitGroup(ctx, orders)
	if err != nil && !errors.Is(broker.Outcome(err), broker.ErrUnknown) {
		for _, o := range orders {
			r.final[o.ID] = true
		}
	}
	for i, report := range reports {
		r.placed[from+i].VenueID = report.VenueID
	}
	return slices.Clone(r.placed[from:]), err
}

// ask asks for an order, and notes the venue's id of one whose answer was lost.
func (r *rehearsal) ask(ctx context.Context, h order.Handle) (order.Report, error) {
	report, err := r.broker.Query(ctx, h)
	for i := range r.placed {
		if p := &r.placed[i]; err == nil && p.ID == h.ID && p.VenueID == "" {
			p.VenueID = report.VenueID
		}
	}
	return report, err
}

// await asks for an order until it has one of the statuses.
func (r *rehearsal) await(ctx context.Context, h order.Handle, statuses ...order.Status) (order.Report, error) {
	return r.awaitFor(ctx, settleTime, h, statuses...)
}

func (r *rehearsal) awaitFor(ctx context.Context, patience time.Duration, h order.Handle, statuses ...order.Status) (order.Report, error) {
	for deadline := time.Now().Add(patience); ; {
		report, err := r.ask(ctx, h)
		switch {
		case err == nil && report.Status.Final():
			r.final[h.ID] = true
			fallthrough
		case err == nil && slices.Contains(statuses, report.Status):
			if !slices.Contains(statuses, report.Status) {
				return report, fmt.Errorf("the order is %s %s", report.Status, report.Reason)
			}
			return report, nil
		case err != nil && !errors.Is(err, broker.ErrNotFound):
			return report, err
		case time.Now().After(deadline):
			if err != nil {
				return report, err
			}
			return report, fmt.Errorf("the order is still %s after %v", report.Status, patience)
		}
		if err := retry.Sleep(ctx, pollInterval); err != nil {
			return report, err
		}
	}
}

// end cancels an order and waits until it has ended, and returns how.
func (r *rehearsal) end(ctx context.Context, h order.Handle) (order.Report, error) {
	if _, err := r.broker.Cancel(ctx, h); err != nil {
		return order.Report{}, fmt.Errorf("cancel: %w", err)
	}
	return r.await(ctx, h, order.Canceled, order.Expired, order.Filled, order.Rejected)
}

// read reads the new fills of our orders.
func (r *rehearsal) read(ctx context.Context) error {
	fills, cursor, err := r.broker.Fills(ctx, r.symbol, r.cursor)
	if err != nil {
		return err
	}
	r.cursor = cursor
	r.traded = append(r.traded, fills...)
	return nil
}

// fills returns what was read of our orders. Which orders are ours is known later than their fills when an answer was lost.
func (r *rehearsal) fills() []order.Fill {
	var own []order.Fill
	for _, f := range r.traded {
		if r.ours(f) {
			own = append(own, f)
		}
	}
	return own
}

func (r *rehearsal) ours(f order.Fill) bool {
	return slices.ContainsFunc(r.placed, func(h order.Handle) bool {
		return h.VenueID != "" && h.VenueID == f.VenueID || f.OrderID != "" && f.OrderID == h.ID
	})
}

// of returns the fills of an order, which may come a moment after its end.
func (r *rehearsal) of(ctx context.Context, h order.Handle, quantity decimal.Decimal) ([]order.Fill, error) {
	for deadline := time.Now().Add(settleTime); ; {
		if err := r.read(ctx); err != nil {
			return nil, err
		}
		var fills []order.Fill
		sum := decimal.Zero
		for _, f := range r.fills() {
			if f.VenueID == h.VenueID {
				fills, sum = append(fills, f), sum.Add(f.Quantity)
			}
		}
		switch {
		case sum.Equal(quantity):
			return fills, nil
		case sum.GreaterThan(quantity) || time.Now().After(deadline):
			return fills, fmt.Errorf("its fills add up to %s, and the venue counts %s", sum, quantity)
		}
		if err := retry.Sleep(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

// bought returns what our orders bought and have not sold, less fees that were taken from it.
func (r *rehearsal) bought() decimal.Decimal {
	sum := decimal.Zero
	for _, f := range r.fills() {
		if f.Side == order.Buy {
			sum = sum.Add(f.Quantity)
		} else {
			sum = sum.Sub(f.Quantity)
		}
		if f.FeeAsset != "" && f.FeeAsset == r.instrument.Base {
			sum = sum.Sub(f.Fee)
		}
	}
	return sum
}

// sellable returns what an order can sell of that.
func (r *rehearsal) sellable() decimal.Decimal {
	q := r.bought()
	if step := r.instrument.Step; step.IsPositive() {
		q = q.Sub(q.Mod(step))
	}
	return q
}

// holding returns what orders can sell, zero when a thin market left so little that the venue might refuse it.
func (r *rehearsal) holding() decimal.Decimal {
	q := r.sellable()
	if q.Mul(decimal.NewFromInt(2)).LessThan(r.quantity) {
		return decimal.Zero
	}
	return q
}

// clean cancels what is open of our orders and sells what they bought. It returns what is left, with what to do.
func (r *rehearsal) clean(ctx context.Context) []string {
	left := []string{}
	r.tidies = true
	for _, h := range slices.Backward(r.placed) {
		if why := r.finish(ctx, h); why != "" {
			left = append(left, fmt.Sprintf("order %s may be open (%s): cancel it at %s by hand", h, why, r.options.Broker.Title))
		}
	}
	var why string
	for range maxSales { // a thin market fills a part
		if why = r.sell(ctx); why == "" {
			break
		}
	}
	if why != "" {
		left = append(left, fmt.Sprintf("%s of %s that the rehearsal bought are left (%s): sell them at %s by hand", r.bought(), r.symbol, why, r.options.Broker.Title))
	}
	left = append(left, r.changed(ctx)...)
	return append(left, r.listed(ctx)...)
}

// changed compares what the account has with what it had and with what our orders traded.
func (r *rehearsal) changed(ctx context.Context) []string {
	held, err := r.held(ctx)
	if err != nil {
		return []string{"the account could not be read (" + words(err) + "): look at " + r.options.Broker.Title + " how much of " + r.symbol.String() + " it has"}
	}
	if gain := held.Quantity.Sub(r.before.Quantity); !gain.Equal(r.bought()) {
		return []string{fmt.Sprintf("the account has %s more of %s than before, and the rehearsal knows of %s: look at %s what traded", gain, r.symbol, r.bought(), r.options.Broker.Title)}
	}
	return nil
}

// finish ends an order that may be open and returns why it could not.
func (r *rehearsal) finish(ctx context.Context, h order.Handle) string {
	if r.final[h.ID] {
		return ""
	}
	report, err := r.ask(ctx, h)
	switch {
	case errors.Is(err, broker.ErrNotFound):
		return "" // it never came, or ended with its group
	case err != nil:
		return words(err)
	case report.Status.Final():
		return ""
	}
	if _, err = r.end(ctx, h); err != nil && !errors.Is(err, broker.ErrNotFound) {
		return words(err)
	}
	return ""
}

// sell sells what our orders bought, and returns why it could not.
func (r *rehearsal) sell(ctx context.Context) string {
	if err := r.read(ctx); err != nil {
		return words(err)
	}
	q := r.sellable()
	price, err := r.last(ctx)
	if err != nil {
		return words(err)
	}
	if !q.IsPositive() || q.LessThan(r.instrument.MinQuantity) || q.Mul(price).LessThan(r.instrument.MinNotional) {
		return "" // less than the venue trades
	}
	o := r.request(order.Request{Side: order.Sell, Type: order.Market, ReduceOnly: true, Quantity: q})[0]
	h, report, err := r.submit(ctx, o)
	if err == nil {
		report, err = r.await(ctx, h, order.Filled)
	}
	if err == nil {
		_, err = r.of(ctx, h, report.Filled)
	}
	if err != nil {
		return strings.Join([]string{words(err), r.finish(ctx, h)}, " ")
	}
	return ""
}

// listed returns the orders of ours that the venue still lists.
func (r *rehearsal) listed(ctx context.Context) []string {
	open, err := r.broker.Open(ctx)
	if err != nil {
		return []string{"the open orders could not be read (" + words(err) + "): look at " + r.options.Broker.Title + " whether an order in " + r.symbol.String() + " is open"}
	}
	var left []string
	for _, o := range open {
		if o.Symbol == r.symbol && slices.ContainsFunc(r.placed, func(h order.Handle) bool { return h.ID == o.ID || h.VenueID != "" && h.VenueID == o.VenueID }) {
			left = append(left, fmt.Sprintf("order %s is open: cancel it at %s by hand", o.VenueID, r.options.Broker.Title))
		}
	}
	return left
}

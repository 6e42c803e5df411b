package paper

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/fault"
	"candela/internal/market"
	"candela/internal/market/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// Submit takes an order: it fills, or it rests, or it is refused. Its errors are
// definite, but for an id that is taken: nothing lies between here and the venue.
func (b *Broker) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	if err := ctx.Err(); err != nil {
		return order.Report{}, notSent(err)
	}
	// First of all: an order that lives must never be called refused.
	if err := b.vacant(o.ID); err != nil {
		return order.Report{}, err
	}
	inst, err := b.cfg.Market.Instrument(ctx, o.Symbol)
	if kind := fault.KindOf(err); kind == fault.NotFound || kind == fault.Invalid {
		return order.Report{}, refused(err)
	} else if err != nil {
		return order.Report{}, notSent(err)
	}
	if err := sound(o, inst); err != nil {
		return order.Report{}, refused(err)
	}
	q, err := b.cfg.Market.Quote(ctx, o.Symbol)
	if err != nil {
		return order.Report{}, notSent(err)
	}
	if err := b.fresh(o, q); err != nil {
		return order.Report{}, refused(err)
	}
	return b.take(ctx, o, inst, q)
}

func notSent(err error) error { return fmt.Errorf("paper: %w: %w", broker.ErrNotSent, err) }
func refused(err error) error { return fmt.Errorf("paper: %w: %w", broker.ErrRejected, err) }

// vacant returns an error for an id that an order has.
func (b *Broker) vacant(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.book.tickets[id] != nil {
		return fmt.Errorf("paper: %w: there is an order with the id %s", broker.ErrUnknown, id)
	}
	return nil
}

// sound holds an order against the rules of the symbol, as a venue does.
func sound(o order.Spec, inst provider.Instrument) error {
	switch {
	case o.ID == "" || o.Side.String() == "" || o.Type.String() == "":
		return fault.Missing("order", "an id, a side and a type")
	case !o.StopPrice.IsZero():
		return fault.Field("stop_price", o.StopPrice.String(), "none: stops are not taken yet")
	case !o.Quantity.IsPositive():
		return fault.Field("quantity", o.Quantity.String(), "a number above 0")
	case offGrid(o.Quantity, inst.Step):
		return fault.Field("quantity", o.Quantity.String(), "multiples of "+inst.Step.String())
	case o.Quantity.LessThan(inst.MinQuantity):
		return fault.Field("quantity", o.Quantity.String(), "at least "+inst.MinQuantity.String())
	case inst.MaxQuantity.IsPositive() && o.Quantity.GreaterThan(inst.MaxQuantity):
		return fault.Field("quantity", o.Quantity.String(), "at most "+inst.MaxQuantity.String())
	case o.Type == order.Market:
		return nil
	case !o.Price.IsPositive():
		return fault.Field("price", o.Price.String(), "a number above 0")
	case offGrid(o.Price, inst.Tick):
		return fault.Field("price", o.Price.String(), "multiples of "+inst.Tick.String())
	case o.Price.Mul(o.Quantity).LessThan(inst.MinNotional):
		return fault.Field("quantity", o.Quantity.String(), "orders worth "+inst.MinNotional.String()+" or more")
	}
	return nil
}

func offGrid(d, step decimal.Decimal) bool { return step.IsPositive() && !d.Mod(step).IsZero() }

// fresh refuses a price that is too old to trade at.
func (b *Broker) fresh(o order.Spec, q order.Quote) error {
	now := b.cfg.Now()
	age := now.Sub(q.At)
	if age <= MaxQuoteAge && q.Last.IsPositive() {
		return nil
	}
	f := fault.New(fault.Unavailable, "stale_quote",
		"the last price of %s is %v old, and paper orders fill at prices of at most %v: its market may be closed or its feed lost",
		o.Symbol, age.Round(time.Second), MaxQuoteAge).About("symbol", o.Symbol.String(), "")
	if q.Last.IsPositive() && q.Stalled(now) {
		return f
	}
	return f.Retry(time.Second)
}

// take accepts an order that is sound.
func (b *Broker) take(ctx context.Context, o order.Spec, inst provider.Instrument, q order.Quote) (order.Report, error) {
	price := b.takerPrice(o.Side, inst, q)
	rests := o.Type == order.Limit && (o.Side == order.Buy && o.Price.LessThan(price) || o.Side == order.Sell && o.Price.GreaterThan(price))
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.book.tickets[o.ID] != nil {
		return order.Report{}, fmt.Errorf("paper: %w: there is an order with the id %s", broker.ErrUnknown, o.ID)
	}
	currency := b.currency(inst)
	at, fee := price, b.cfg.Rates.Taker
	if rests {
		at, fee = o.Price, b.cfg.Rates.Maker
	}
	if err := b.afford(o, currency, at, fee); err != nil {
		return order.Report{}, refused(err)
	}
	now := b.cfg.Now()
	o.Owner = ""
	asset := cmp.Or(inst.Base, inst.Symbol.Name)
	entries := []entry{{At: now, Taken: &taken{Spec: o, VenueID: b.book.id(1), Asset: asset, Currency: currency, Step: inst.Step}}}
	if !rests {
		f := b.trade(o, b.book.id(1), b.book.id(2), o.Quantity, price, currency, now)
		entries = append(entries, entry{At: now, Fill: &f})
	}
	if err := b.commit(ctx, entries...); err != nil {
		return order.Report{}, notSent(err)
	}
	if rests && b.tapes[o.Symbol] == nil {
		b.tapes[o.Symbol] = &tape{}
	}
	return b.book.tickets[o.ID].full(), nil
}

// takerPrice is what an order pays that does not wait: the other side of the
// market, or the last price moved against it. It is rounded to a price that the
// venue has, also against it.
func (b *Broker) takerPrice(side order.Side, inst provider.Instrument, q order.Quote) decimal.Decimal {
	if price, ok := q.TakerPrice(side); ok {
		return price
	}
	away := b.cfg.Rates.Slippage.Mul(decimal.NewFromInt(side.Sign())).Add(decimal.NewFromInt(1))
	price := q.Last.Mul(away)
	if !inst.Tick.IsPositive() {
		return price
	}
	down := price.Sub(price.Mod(inst.Tick))
	if side == order.Buy && !down.Equal(price) {
		return down.Add(inst.Tick)
	}
	if down.IsPositive() {
		return down
	}
	return price // less than a tick: there is no price below
}

// afford refuses what the account does not have.
func (b *Broker) afford(o order.Spec, currency string, price, fee decimal.Decimal) error {
	if o.Side == order.Sell {
		if free := b.book.freeHeld(o.Symbol); o.Quantity.GreaterThan(free) {
			return fault.Field("quantity", o.Quantity.String(), fmt.Sprintf("at most the %s of %s that the paper account can sell", free, o.Symbol))
		}
		return nil
	}
	need, free := b.book.cost(o.Quantity, price, fee), b.book.freeCash(currency)
	if need.GreaterThan(free) {
		return fault.Field("quantity", o.Quantity.String(),
			fmt.Sprintf("what costs at most the %s %s that the paper account has; this would cost %s with the fee", free, currency, need))
	}
	return nil
}

// trade makes a fill of an order that took or rested.
func (b *Broker) trade(o order.Spec, venueID, tradeID string, quantity, price decimal.Decimal, currency string, at time.Time) order.Fill {
	return order.Fill{
		TradeID: tradeID, OrderID: o.ID, VenueID: venueID, Symbol: o.Symbol, Side: o.Side, Quantity: quantity, Price: price,
		Fee: quantity.Mul(price).Mul(b.cfg.Rates.Taker), FeeAsset: currency, At: at,
	}
}

// currency is what a symbol is paid in. Files do not say: then it is the one of
// the account's that the symbol ends in, or dollars.
func (b *Broker) currency(inst provider.Instrument) string {
	if inst.Quote != "" {
		return inst.Quote
	}
	best := "USD"
	for _, c := range slices.Sorted(maps.Keys(b.cfg.Cash)) {
		if name, ok := strings.CutSuffix(inst.Symbol.Name, c); ok && name != "" {
			best = c
		}
	}
	return best
}

// Cancel ends a resting order, or returns how it ended.
func (b *Broker) Cancel(ctx context.Context, o order.Handle) (order.Report, error) {
	if err := ctx.Err(); err != nil {
		return order.Report{}, notSent(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.book.named(o)
	if t == nil {
		return order.Report{}, fmt.Errorf("paper: %w: %s", broker.ErrNotFound, o)
	}
	if !t.Status.Final() {
		if err := b.commit(ctx, entry{At: b.cfg.Now(), Cancel: t.ID}); err != nil {
			return order.Report{}, notSent(err)
		}
		b.sweep()
	}
	return t.full(), nil
}

// Capabilities returns that only market and limit orders are taken so far.
func (b *Broker) Capabilities(context.Context, market.Symbol) (order.Capabilities, error) {
	return order.Capabilities{}, nil
}

// SubmitGroup refuses, because groups are not sent yet.
func (b *Broker) SubmitGroup(context.Context, []order.Spec) ([]order.Report, error) {
	return nil, fmt.Errorf("paper: %w: groups of orders are not taken yet", broker.ErrNotSent)
}

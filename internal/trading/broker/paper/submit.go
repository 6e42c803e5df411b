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

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Submit takes an order: it fills, or it rests, or it is refused. Its errors are
// definite, but for an id that is taken: nothing lies between here and the venue.
func (b *Broker) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	reports, err := b.submit(ctx, single, []order.Spec{o})
	if err != nil {
		return order.Report{}, err
	}
	return reports[0], nil
}

// SubmitGroup takes an entry with its legs, or a pair: all of them or none.
func (b *Broker) SubmitGroup(ctx context.Context, orders []order.Spec) ([]order.Report, error) {
	return b.submit(ctx, grouped, orders)
}

// submit takes orders that have a form.
func (b *Broker) submit(ctx context.Context, form func([]order.Spec) error, orders []order.Spec) ([]order.Report, error) {
	if err := ctx.Err(); err != nil {
		return nil, notSent(err)
	}
	// First of all: an order that lives must never be called refused.
	if err := b.vacant(orders); err != nil {
		return nil, err
	}
	g, err := b.prepare(ctx, form, orders)
	if err != nil {
		return nil, err
	}
	done, err := b.swap(ctx, nil, []batch{g})
	if err != nil {
		return nil, err
	}
	return done.Placed[0], nil
}

// batch is an order or a group that is sound, with what must be known of its symbol.
type batch struct {
	orders []order.Spec
	inst   provider.Instrument
	quote  order.Quote

	leverage decimal.Decimal // of perpetual futures
}

// prepare holds orders against their form and the rules of their symbol.
func (b *Broker) prepare(ctx context.Context, form func([]order.Spec) error, orders []order.Spec) (batch, error) {
	g := batch{orders: orders}
	if err := form(orders); err != nil {
		return g, refused(err)
	}
	var err error
	g.inst, err = b.Instrument(ctx, orders[0].Symbol)
	if kind := fault.KindOf(err); kind == fault.NotFound || kind == fault.Invalid {
		return g, refused(err)
	} else if err != nil {
		return g, notSent(err)
	}
	if err := b.leveraged(&g); err != nil {
		return g, refused(err)
	}
	for _, o := range orders {
		rules := g.inst
		if o.ReduceOnly && rules.Class == provider.Perpetual {
			rules.MinNotional = decimal.Zero
		}
		if err := sound(o, rules, b.closes(o)); err != nil {
			return g, refused(err)
		}
	}
	if g.quote, err = b.cfg.Market.Quote(ctx, orders[0].Symbol); err != nil {
		return g, notSent(err)
	}
	if err := b.fresh(orders[0], g.quote); err != nil {
		return g, refused(err)
	}
	return g, nil
}

func notSent(err error) error { return fmt.Errorf("paper: %w: %w", broker.ErrNotSent, err) }
func refused(err error) error { return fmt.Errorf("paper: %w: %w", broker.ErrRejected, err) }

// vacant returns an error for an id that an order has.
func (b *Broker) vacant(orders []order.Spec) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.book.vacant(orders)
}

func (b *book) vacant(orders []order.Spec) error {
	for _, o := range orders {
		if b.tickets[o.ID] != nil {
			return fmt.Errorf("paper: %w: there is an order with the id %s", broker.ErrUnknown, o.ID)
		}
	}
	return nil
}

// closes returns what is held that an order may close.
func (b *Broker) closes(o order.Spec) decimal.Decimal {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.book.perps[o.Symbol]; ok {
		return p.closes(o.Side)
	}
	if o.Side != order.Sell {
		return decimal.Zero
	}
	return b.book.held[o.Symbol]
}

// sound holds an order against the rules of the symbol, as a venue does. held is what it may
// close.
func sound(o order.Spec, inst provider.Instrument, held decimal.Decimal) error {
	switch {
	case o.ID == "" || o.Side.String() == "" || o.Type.String() == "":
		return fault.Missing("order", "an id, a side and a type")
	case !o.Quantity.IsPositive():
		return fault.Field("quantity", o.Quantity.String(), "a number above 0")
	case offGrid(o.Quantity, inst.Step):
		return fault.Field("quantity", o.Quantity.String(), "multiples of "+inst.Step.String())
	case !inst.Trades(o.Quantity, held):
		return fault.Field("quantity", o.Quantity.String(), least(inst))
	case inst.MaxQuantity.IsPositive() && o.Quantity.GreaterThan(inst.MaxQuantity):
		return fault.Field("quantity", o.Quantity.String(), "at most "+inst.MaxQuantity.String())
	case o.ReduceOnly && o.Side == order.Buy && inst.Class != provider.Perpetual:
		return fault.Field("reduce_only", "true", "sales: the paper account has no short position to buy back")
	}
	if err := soundTime(o, inst); err != nil {
		return err
	}
	if err := soundStop(o, inst); err != nil || o.Type == order.Market {
		return err
	}
	return soundPrice(field(o, "price"), o.Price, o.Quantity, inst)
}

// least names the least quantity of an order.
func least(inst provider.Instrument) string {
	text := "at least " + inst.MinQuantity.String()
	if inst.Step.IsZero() {
		text += ", or all that is held"
	}
	return text
}

// soundPrice holds a price at which an order may trade against the rules of the symbol.
func soundPrice(name string, price, quantity decimal.Decimal, inst provider.Instrument) error {
	switch {
	case !price.IsPositive():
		return fault.Field(name, price.String(), "a number above 0")
	case offGrid(price, inst.TickAt(price)):
		return fault.Field(name, price.String(), "multiples of "+inst.TickAt(price).String())
	case price.Mul(quantity).LessThan(inst.MinNotional):
		return fault.Field("quantity", quantity.String(), "orders worth "+inst.MinNotional.String()+" or more")
	}
	return nil
}

func offGrid(d, step decimal.Decimal) bool { return step.IsPositive() && !d.Mod(step).IsZero() }

// fresh refuses a price that is too old to trade at.
func (b *Broker) fresh(o order.Spec, q order.Quote) error {
	now := b.cfg.Now()
	age := now.Sub(q.At)
	if age <= maxQuoteAge && q.Last.IsPositive() {
		return nil
	}
	f := fault.New(fault.Unavailable, "stale_quote",
		"the last price of %s is %v old, and paper orders fill at prices of at most %v: its market may be closed or its feed lost",
		o.Symbol, age.Round(time.Second), maxQuoteAge).About("symbol", o.Symbol.String(), "")
	if q.Last.IsPositive() && q.Stalled(now) {
		return f
	}
	return f.Retry(time.Second)
}

// place takes a batch into the plan: its first order fills, rests or ends.
func (p *plan) place(g batch) error {
	first, price := g.orders[0], p.takerPrice(g.orders[0].Side, g.inst, g.quote)
	waits := first.StopPrice.IsPositive() || first.TrailPercent.IsPositive()
	rests := waits || first.Type == order.Limit && price.Sub(first.Price).Sign() == int(first.Side.Sign())
	if err := placed(g.orders, order.Capabilities{MarkTriggers: g.inst.MarkTriggers}.Triggering(g.quote).Last, price, rests); err != nil {
		return err
	}
	if err := p.oneSide(&g); err != nil {
		return err
	}
	tickets := p.accept(g)
	if p.closesNothing(tickets[0]) {
		for _, t := range tickets {
			p.end(t, order.Expired, reasonNothing)
		}
		return nil
	}
	late := slices.IndexFunc(tickets, func(t *ticket) bool { return t.TrailPercent.IsPositive() && t.waits() && t.reached(g.quote.Last) })
	if err := p.afford(tickets[0], rests && late < 0, price); err != nil {
		return err
	}
	atOnce := first.TimeInForce == order.IOC || first.TimeInForce == order.FOK
	switch {
	case late >= 0: // the price is beyond the stop of a trail that goes on
		p.trigger(tickets[late], false)
		p.fill(tickets[late], order.Fill{Quantity: first.Quantity, Price: price})
	case !rests:
		p.fill(tickets[0], order.Fill{Quantity: first.Quantity, Price: price})
	case !waits && atOnce:
		p.end(tickets[0], order.Expired, reasonAtOnce)
	}
	return nil
}

// accept takes the orders into the plan.
func (p *plan) accept(g batch) []*ticket {
	tickets, inst := make([]*ticket, len(g.orders)), g.inst
	for i, o := range g.orders {
		o.Owner = ""
		t := taken{
			Spec: o, VenueID: p.id(), Asset: p.asset(inst), Currency: p.currency(inst), Step: inst.Step, Tick: inst.Tick,
			Perp: inst.Class == provider.Perpetual, Leverage: g.leverage, MarkTriggers: inst.MarkTriggers,
		}
		if !o.Group.Leg && o.TrailPercent.IsPositive() {
			t.Best, t.StopPrice = (&ticket{Spec: o, Tick: inst.Tick}).start(g.quote.Last)
		}
		if o.TimeInForce == order.Day {
			t.Ends = p.sessionEnd(o.Symbol.Venue, inst.Calendar)
		}
		tickets[i] = p.do(entry{Taken: &t})
	}
	return tickets
}

// takerPrice is what an order pays that does not wait: the other side of the
// market, or the last price moved against it. It is rounded to a price that the
// venue has, also against it.
func (b *book) takerPrice(side order.Side, inst provider.Instrument, q order.Quote) decimal.Decimal {
	if price, ok := q.TakerPrice(side); ok {
		return price
	}
	return b.against(side, q.Last, inst.Tick)
}

// afford refuses what the account does not have: once t is taken, nothing may be missing.
// An order that fills at once needs the price; one that rests needs what it reserves.
func (p *plan) afford(t *ticket, rests bool, price decimal.Decimal) error {
	if t.Perp {
		return p.affordMargin(t, rests, price)
	}
	if t.Side == order.Sell {
		if free := p.freeHeld(t.Symbol); free.IsNegative() {
			return fault.Field("quantity", t.Quantity.String(), fmt.Sprintf("at most the %s of %s that the paper account can sell", free.Add(t.Quantity), t.Symbol))
		}
		return nil
	}
	need := p.need(t)
	free := p.freeCash(t.Currency).Add(need)
	if !rests {
		need = p.cost(t.Quantity, price, p.rates.Taker)
	}
	if need.GreaterThan(free) {
		return fault.Field("quantity", t.Quantity.String(),
			fmt.Sprintf("what costs at most the %s %s that the paper account has; this would cost %s with the fee", free, t.Currency, need))
	}
	return nil
}

// currency is what a symbol is paid in. Files do not say: then it is the one of
// the account's that the symbol ends in, or dollars.
func (b *book) currency(inst provider.Instrument) string {
	if name := cmp.Or(inst.Settle, inst.Quote); name != "" {
		return name
	}
	best := "USD"
	for _, c := range slices.Sorted(maps.Keys(b.deposits)) {
		if name, ok := strings.CutSuffix(priced(inst), c); ok && name != "" {
			best = c
		}
	}
	return best
}

// priced returns the name of a symbol that may end in its currency.
func priced(inst provider.Instrument) string {
	if inst.Class == provider.Perpetual {
		pair, _ := inst.Symbol.Pair()
		return pair
	}
	return inst.Symbol.Name
}

// asset is what is traded in a symbol. Files do not say: then it is the symbol, or of a perpetual future what
// stands before its currency.
func (b *book) asset(inst provider.Instrument) string {
	name := inst.Symbol.Name
	if inst.Class == provider.Perpetual {
		name = strings.TrimRight(strings.TrimSuffix(priced(inst), b.currency(inst)), "-/")
	}
	return cmp.Or(inst.Base, name, inst.Symbol.Name)
}

// Cancel ends an open order, or returns how it ended. With an entry end the legs that protect
// nothing; those for what it filled work on. The other order of a pair works on alone.
func (b *Broker) Cancel(ctx context.Context, o order.Handle) (order.Report, error) {
	if err := ctx.Err(); err != nil {
		return order.Report{}, notSent(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(ctx, o)
	if err != nil {
		return order.Report{}, err
	}
	if !t.Status.Final() {
		p := b.plan()
		p.end(p.tickets[t.ID], order.Canceled, "")
		if err := b.commit(ctx, p.entries...); err != nil {
			return order.Report{}, notSent(err)
		}
		b.sweep()
	}
	return t.full(), nil
}

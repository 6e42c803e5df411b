package paper

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// book is the account, changed only by the journal, so a restart gives the same book.
type book struct {
	deposits map[string]decimal.Decimal // the cash before the first order
	rates    Rates

	flows   map[string]decimal.Decimal // by currency: what the trades brought, less what they cost
	held    map[market.Symbol]decimal.Decimal
	assets  map[market.Symbol]string // what is held in a symbol
	perps   map[market.Symbol]perp
	paid    []order.Funding    // the newest, oldest first
	tickets map[string]*ticket // by our id
	open    []*ticket          // in the order in which they came
	trades  []order.Fill
	last    int64 // id given out
}

// ticket is an order that was taken.
type ticket struct {
	order.Spec                 // without an owner: a venue knows none. Quantity, StopPrice and Best are those of now
	VenueID    string          `json:"venue_id"`
	Currency   string          `json:"currency"`
	Step       decimal.Decimal `json:"step,omitzero"`
	Status     order.Status    `json:"status"`
	Filled     decimal.Decimal `json:"filled,omitzero"`
	At         time.Time       `json:"at"`    // of the last change
	Since      time.Time       `json:"since"` // prices from before it do not count
	Fills      []order.Fill    `json:"fills,omitempty"`
	Tick       decimal.Decimal `json:"tick,omitzero"`
	Ends       time.Time       `json:"ends,omitzero"`      // with the session; zero if it does not
	Triggered  time.Time       `json:"triggered,omitzero"` // when the stop price was reached
	Rests      bool            `json:"rests,omitempty"`    // a limit order that was triggered where its price was not to be had
	Reason     string          `json:"reason,omitempty"`   // why it ended
	Perp       bool            `json:"perp,omitempty"`     // of a perpetual future
	Leverage   decimal.Decimal `json:"leverage,omitzero"`

	MarkTriggers bool `json:"mark_triggers,omitempty"` // it waits for the mark price

	seen bool // the tape has moved since; lives as long as the process
}

func newBook(cash map[string]decimal.Decimal, rates Rates) book {
	return book{
		deposits: maps.Clone(cash), rates: rates, flows: make(map[string]decimal.Decimal), held: make(map[market.Symbol]decimal.Decimal),
		assets: make(map[market.Symbol]string), tickets: make(map[string]*ticket),
		perps: make(map[market.Symbol]perp),
	}
}

// id returns the id that will be given out next.
func (b *book) id() string { return strconv.FormatInt(b.last+1, 10) }

// apply does what an entry says and returns the order it is about, nil if it is about none.
func (b *book) apply(e entry) *ticket {
	switch {
	case e.Taken != nil:
		return b.take(e)
	case e.Fill != nil:
		return b.fill(*e.Fill)
	case e.Triggered != nil:
		t := b.tickets[e.Triggered.ID]
		t.Triggered, t.Rests, t.At = e.At, e.Triggered.Rests, e.At
		return t
	case e.Amended != nil:
		return b.amend(*e.Amended, e.At)
	case e.Expire != "":
		return b.end(e.Expire, order.Expired, e)
	case e.Funded != nil:
		b.fund(*e.Funded)
		return nil
	default:
		return b.end(e.Cancel, order.Canceled, e)
	}
}

// end closes an order that is not filled.
func (b *book) end(id string, status order.Status, e entry) *ticket {
	t := b.tickets[id]
	t.Status, t.Reason, t.At = status, e.Reason, e.At
	b.close(t)
	return t
}

func (b *book) amend(a amended, at time.Time) *ticket {
	t := b.tickets[a.ID]
	t.At = at
	if a.Quantity.IsPositive() {
		t.Quantity = a.Quantity
	}
	if a.StopPrice.IsPositive() {
		t.StopPrice = a.StopPrice
	}
	if a.Best.IsPositive() {
		t.Best = a.Best
	}
	if t.Status == order.Held {
		t.Status, t.Since = order.Accepted, at
	}
	return t
}

func (b *book) take(e entry) *ticket {
	t := &ticket{
		Spec: e.Taken.Spec, VenueID: e.Taken.VenueID, Currency: e.Taken.Currency, Step: e.Taken.Step,
		Status: order.Accepted, At: e.At, Since: e.At, Tick: e.Taken.Tick, Ends: e.Taken.Ends,
		Perp: e.Taken.Perp, Leverage: e.Taken.Leverage, MarkTriggers: e.Taken.MarkTriggers,
	}
	t.Owner = ""
	if t.Group.Leg {
		t.Status = order.Held
	}
	b.tickets[t.ID] = t
	b.open = append(b.open, t)
	b.assets[t.Symbol] = e.Taken.Asset
	b.last = max(b.last, number(t.VenueID))
	return t
}

func (b *book) fill(f order.Fill) *ticket {
	t := b.tickets[f.OrderID]
	t.Fills = append(t.Fills, f)
	t.Filled, t.At, t.Status = t.Filled.Add(f.Quantity), f.At, order.PartiallyFilled
	if t.Filled.GreaterThanOrEqual(t.Quantity) {
		t.Status = order.Filled
		b.close(t)
	}
	b.trades = append(b.trades, f)
	b.last = max(b.last, number(f.TradeID))
	signed := f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign()))
	if t.Perp {
		b.turn(t, signed, f)
		return t
	}
	b.flows[t.Currency] = b.flows[t.Currency].Sub(signed.Mul(f.Price)).Sub(f.Fee)
	b.held[f.Symbol] = b.held[f.Symbol].Add(signed)
	if b.held[f.Symbol].IsZero() {
		delete(b.held, f.Symbol)
	}
	return t
}

// named returns the order with a name, nil for none.
func (b *book) named(h order.Handle) *ticket {
	if h.ID != "" {
		return b.tickets[h.ID]
	}
	for _, t := range b.tickets {
		if h.Names(t.report()) {
			return t
		}
	}
	return nil
}

func (b *book) close(t *ticket) {
	b.open = slices.DeleteFunc(b.open, func(other *ticket) bool { return other == t })
}

func (b *book) cash(currency string) decimal.Decimal {
	return b.deposits[currency].Add(b.flows[currency])
}

// freeCash is the cash that no resting order is about to spend.
func (b *book) freeCash(currency string) decimal.Decimal {
	return b.cash(currency).Sub(b.reserved(func(t *ticket) decimal.Decimal {
		if t.Currency != currency || t.Side != order.Buy && !t.Perp || t.Status == order.Held {
			return decimal.Zero
		}
		return b.need(t)
	}))
}

// need is what a purchase that is open may take out of the cash: a stop buys at its stop
// price and the slippage, or at its limit.
func (b *book) need(t *ticket) decimal.Decimal {
	switch {
	case t.Perp:
		return b.needsMargin(t)
	case !t.StopPrice.IsPositive():
		return b.cost(t.left(), t.Price, b.rates.Maker)
	case t.Type == order.Limit:
		return b.cost(t.left(), t.Price, decimal.Max(b.rates.Maker, b.rates.Taker))
	default:
		return b.cost(t.left(), b.against(t.Side, t.StopPrice, t.Tick), b.rates.Taker)
	}
}

// against is a price that the slippage moved against an order, rounded to a price that the
// venue has, also against it.
func (b *book) against(side order.Side, price, tick decimal.Decimal) decimal.Decimal {
	away := b.rates.Slippage.Mul(decimal.NewFromInt(side.Sign())).Add(decimal.NewFromInt(1))
	return onTick(side, price.Mul(away), tick)
}

// onTick rounds a price to a multiple of tick: up for a purchase, down for a sale.
func onTick(side order.Side, price, tick decimal.Decimal) decimal.Decimal {
	if !tick.IsPositive() {
		return price
	}
	down := price.Sub(price.Mod(tick))
	if side == order.Buy && !down.Equal(price) {
		return down.Add(tick)
	}
	if down.IsPositive() {
		return down
	}
	return price // less than a tick: there is no price below
}

// freeHeld is what no resting order is about to sell.
func (b *book) freeHeld(s market.Symbol) decimal.Decimal {
	return b.held[s].Sub(b.reserved(func(t *ticket) decimal.Decimal {
		if t.Symbol != s || t.Side != order.Sell || t.Status == order.Held {
			return decimal.Zero
		}
		return t.left()
	}))
}

// reserved adds up what resting orders need. Of the orders of a group that exclude each
// other, the one that needs most counts.
func (b *book) reserved(needs func(*ticket) decimal.Decimal) decimal.Decimal {
	sum, groups := decimal.Zero, make(map[order.Group]decimal.Decimal)
	for _, t := range b.open {
		need := needs(t)
		if t.Group.Name != "" {
			known := groups[t.Group]
			groups[t.Group] = decimal.Max(known, need)
			need = groups[t.Group].Sub(known)
		}
		sum = sum.Add(need)
	}
	return sum
}

// cost is what a purchase takes out of the cash.
func (b *book) cost(quantity, price, fee decimal.Decimal) decimal.Decimal {
	paid := quantity.Mul(price)
	return paid.Add(paid.Mul(fee))
}

func (t *ticket) left() decimal.Decimal { return t.Quantity.Sub(t.Filled) }

// waits reports whether the order waits for its stop price.
func (t *ticket) waits() bool { return t.StopPrice.IsPositive() && t.Triggered.IsZero() }

// report returns the order's state without its fills.
func (t *ticket) report() order.Report {
	return order.Report{
		Spec: t.Spec, VenueID: t.VenueID, Status: t.Status, Filled: t.Filled, At: t.At, Reason: t.Reason, Triggered: t.Triggered,
	}
}

// full returns the order's state with all its fills.
func (t *ticket) full() order.Report {
	r := t.report()
	r.Fills = slices.Clone(t.Fills)
	return r
}

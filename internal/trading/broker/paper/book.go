package paper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/market"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// book is the account, changed only by the journal, so a restart gives the same book.
type book struct {
	deposits map[string]decimal.Decimal // the cash before the first order
	rates    Rates

	flows   map[string]decimal.Decimal // by currency: what the trades brought, less what they cost
	held    map[market.Symbol]decimal.Decimal
	assets  map[market.Symbol]string // what is held in a symbol
	tickets map[string]*ticket       // by our id
	open    []*ticket                // in the order in which they came
	trades  []order.Fill
	last    int64 // id given out
}

// ticket is an order that was taken.
type ticket struct {
	order.Spec                 // without an owner: a venue knows none
	VenueID    string          `json:"venue_id"`
	Currency   string          `json:"currency"`
	Step       decimal.Decimal `json:"step,omitzero"`
	Status     order.Status    `json:"status"`
	Filled     decimal.Decimal `json:"filled,omitzero"`
	At         time.Time       `json:"at"`    // of the last change
	Since      time.Time       `json:"since"` // prices from before it do not count
	Fills      []order.Fill    `json:"fills,omitempty"`

	seen bool // the tape has moved since; lives as long as the process
}

func newBook(cash map[string]decimal.Decimal, rates Rates) book {
	return book{
		deposits: maps.Clone(cash), rates: rates, flows: make(map[string]decimal.Decimal), held: make(map[market.Symbol]decimal.Decimal),
		assets: make(map[market.Symbol]string), tickets: make(map[string]*ticket),
	}
}

// id returns the nth id that will be given out next, counted from 1.
func (b *book) id(nth int64) string { return strconv.FormatInt(b.last+nth, 10) }

var (
	errEmpty   = errors.New("it says nothing")
	errUnknown = errors.New("it is about an order that was never taken, or taken twice")
	errAmount  = errors.New("an amount in it is out of all bounds")
)

// check refuses an entry that apply could not do.
func (b *book) check(e entry) error {
	switch {
	case e.Taken != nil:
		if b.tickets[e.Taken.ID] != nil {
			return errUnknown
		}
		return bounded(e.Taken.Quantity, e.Taken.Price, e.Taken.Step)
	case e.Fill != nil:
		if b.tickets[e.Fill.OrderID] == nil {
			return errUnknown
		}
		return bounded(e.Fill.Quantity, e.Fill.Price, e.Fill.Fee)
	case e.Cancel != "":
		if b.tickets[e.Cancel] == nil {
			return errUnknown
		}
	default:
		return errEmpty
	}
	return nil
}

// bounded refuses amounts that no order has: to compute with them could take for ever.
func bounded(amounts ...decimal.Decimal) error {
	for _, d := range amounts {
		// A fee has the decimals of quantity, price and rate together.
		if e := d.Exponent(); e > maxExponent || e < -3*maxExponent || d.NumDigits() > 4*maxExponent {
			return errAmount
		}
	}
	return nil
}

const maxExponent = 24

// apply does what an entry says and returns the order it is about.
func (b *book) apply(e entry) *ticket {
	switch {
	case e.Taken != nil:
		return b.take(e)
	case e.Fill != nil:
		return b.fill(*e.Fill)
	default:
		t := b.tickets[e.Cancel]
		t.Status, t.At = order.Canceled, e.At
		b.close(t)
		return t
	}
}

func (b *book) take(e entry) *ticket {
	t := &ticket{
		Spec: e.Taken.Spec, VenueID: e.Taken.VenueID, Currency: e.Taken.Currency, Step: e.Taken.Step,
		Status: order.Accepted, At: e.At, Since: e.At,
	}
	t.Owner = ""
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
	signed := f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign()))
	b.flows[t.Currency] = b.flows[t.Currency].Sub(signed.Mul(f.Price)).Sub(f.Fee)
	b.held[f.Symbol] = b.held[f.Symbol].Add(signed)
	if b.held[f.Symbol].IsZero() {
		delete(b.held, f.Symbol)
	}
	b.trades = append(b.trades, f)
	b.last = max(b.last, number(f.TradeID))
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
		if t.Currency != currency || t.Side != order.Buy {
			return decimal.Zero
		}
		return b.cost(t.left(), t.Price, b.rates.Maker)
	}))
}

// freeHeld is what no resting order is about to sell.
func (b *book) freeHeld(s market.Symbol) decimal.Decimal {
	return b.held[s].Sub(b.reserved(func(t *ticket) decimal.Decimal {
		if t.Symbol != s || t.Side != order.Sell {
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

// report returns the order's state without its fills.
func (t *ticket) report() order.Report {
	return order.Report{Spec: t.Spec, VenueID: t.VenueID, Status: t.Status, Filled: t.Filled, At: t.At}
}

// full returns the order's state with all its fills.
func (t *ticket) full() order.Report {
	r := t.report()
	r.Fills = slices.Clone(t.Fills)
	return r
}

// entry is one thing that happened: exactly one of its parts is set.
type entry struct {
	At     time.Time   `json:"at"`
	Taken  *taken      `json:"taken,omitempty"`
	Fill   *order.Fill `json:"fill,omitempty"`
	Cancel string      `json:"cancel,omitempty"` // our id of the order
}

// taken is an accepted order, with what must be known of its symbol without the venue.
type taken struct {
	order.Spec
	VenueID  string          `json:"venue_id"`
	Asset    string          `json:"asset"`    // what is bought or sold
	Currency string          `json:"currency"` // what it is paid in
	Step     decimal.Decimal `json:"step"`     // quantities are multiples of it; zero for any
}

func write(ctx context.Context, j broker.Journal, entries []entry) error {
	lines := make([][]byte, len(entries))
	for i, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		lines[i] = line
	}
	return j.Append(ctx, lines...)
}

// load folds entries into a book and returns how many.
func (b *book) load(entries iter.Seq2[[]byte, error]) (int, error) {
	n := 0
	for line, err := range entries {
		if err != nil {
			return n, err
		}
		n++
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return n, fmt.Errorf("entry %d: %w", n, err)
		}
		if err := b.check(e); err != nil {
			return n, fmt.Errorf("entry %d: %w", n, err)
		}
		b.apply(e)
	}
	return n, nil
}

// number reads an id that the account has given out; 0 for any other.
func number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

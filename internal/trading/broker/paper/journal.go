package paper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// entry is one thing that happened: exactly one of its parts is set, beside At and Reason.
type entry struct {
	At        time.Time      `json:"at"`
	Taken     *taken         `json:"taken,omitempty"`
	Fill      *order.Fill    `json:"fill,omitempty"`
	Cancel    string         `json:"cancel,omitempty"` // our id of the order, as in Expire
	Expire    string         `json:"expire,omitempty"`
	Triggered *triggered     `json:"triggered,omitempty"`
	Amended   *amended       `json:"amended,omitempty"`
	Funded    *order.Funding `json:"funded,omitempty"`
	Reason    string         `json:"reason,omitempty"` // of Cancel and Expire; "" for a cancel that was asked for
}

// triggered is an order whose stop price was reached.
type triggered struct {
	ID    string `json:"id"`
	Rests bool   `json:"rests,omitempty"` // its limit is better than the price of that moment
}

// amended is an order that changed because others of its group, or the price, did. A leg
// that waited for its entry works from then on.
type amended struct {
	ID        string          `json:"id"`
	Quantity  decimal.Decimal `json:"quantity,omitzero"`   // zero if it stays
	StopPrice decimal.Decimal `json:"stop_price,omitzero"` // likewise
	Best      decimal.Decimal `json:"best,omitzero"`       // likewise; entries of older versions have none
}

// taken is an accepted order, with what must be known of its symbol without the venue.
type taken struct {
	order.Spec
	VenueID  string          `json:"venue_id"`
	Asset    string          `json:"asset"`         // what is bought or sold
	Currency string          `json:"currency"`      // what it is paid in
	Step     decimal.Decimal `json:"step"`          // quantities are multiples of it; zero for any
	Tick     decimal.Decimal `json:"tick,omitzero"` // prices are multiples of it; zero for any
	Ends     time.Time       `json:"ends,omitzero"` // with the session; zero if it does not
	Perp     bool            `json:"perp,omitempty"`
	Leverage decimal.Decimal `json:"leverage,omitzero"` // of the position that it opens or adds to, if Perp

	MarkTriggers bool `json:"mark_triggers,omitempty"` // its stop waits for the mark price
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

var (
	errEmpty   = errors.New("it says nothing")
	errUnknown = errors.New("it is about an order that was never taken, or taken twice")
	errAmount  = errors.New("an amount in it is out of all bounds")
)

// check refuses an entry that apply could not do.
func (b *book) check(e entry) error {
	switch {
	case e.Taken != nil:
		if e.Taken.ID == "" || b.tickets[e.Taken.ID] != nil {
			return errUnknown
		}
		return bounded(e.Taken.Quantity, e.Taken.Price, e.Taken.Step, e.Taken.StopPrice, e.Taken.TrailPercent, e.Taken.Best, e.Taken.Tick, e.Taken.Leverage)
	case e.Fill != nil:
		if b.tickets[e.Fill.OrderID] == nil {
			return errUnknown
		}
		return errors.Join(bounded(e.Fill.Quantity, e.Fill.Price, e.Fill.Fee), b.checkTurn(*e.Fill))
	case e.Cancel != "":
		if b.tickets[e.Cancel] == nil {
			return errUnknown
		}
	default:
		return b.checkChange(e)
	}
	return nil
}

// checkChange is check for what happens to an order that is open.
func (b *book) checkChange(e entry) error {
	switch {
	case e.Expire != "":
		return b.openWith(e.Expire)
	case e.Funded != nil:
		return bounded(e.Funded.Amount)
	case e.Triggered != nil:
		return b.openWith(e.Triggered.ID)
	case e.Amended == nil:
		return errEmpty
	}
	a := *e.Amended
	if err := errors.Join(b.openWith(a.ID), bounded(a.Quantity, a.StopPrice, a.Best)); err != nil {
		return err
	}
	if t := b.tickets[a.ID]; a.StopPrice.IsNegative() || a.Best.IsNegative() || a.Quantity.IsNegative() || a.Quantity.IsPositive() && a.Quantity.LessThanOrEqual(t.Filled) {
		return errAmount
	}
	return nil
}

func (b *book) openWith(id string) error {
	if t := b.tickets[id]; t == nil || t.Status.Final() {
		return errUnknown
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

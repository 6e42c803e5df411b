// Package order is what an order is and what may become of it: a state machine
// that takes events, positions that take fills, and exact money throughout. It
// sends nothing, stores nothing and reads no clock; the desk is its caller.
//
// What happens to an order is an Event, and events are all there is to persist:
// Apply folds them into an Order, and a Book folds the events of one owner into
// orders and positions. What a venue says becomes events through FromReport,
// which adds nothing for what is known already, so that reports may come twice,
// late and in any order.
package order

import (
	"maps"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/market"
)

// Side is the direction of an order.
type Side uint8

// The sides, written "buy" and "sell".
const (
	Buy Side = iota + 1
	Sell
)

// Sign returns 1 for Buy and -1 for Sell: what a fill does to a position.
func (s Side) Sign() int64 {
	if s == Sell {
		return -1
	}
	return 1
}

// Type is how an order is priced.
type Type uint8

// The types, written "market" and "limit".
const (
	Market Type = iota + 1
	Limit
)

// Mode says whether money is at stake. It is in every reply about trading.
type Mode string

// The modes. A venue's testnet is paper: nothing there can be lost.
const (
	Paper Mode = "paper"
	Live  Mode = "live"
)

// Status is the precise state of an order.
type Status uint8

// The states. Denied, Filled, Canceled, Expired and Rejected are final, but for
// a fill that the venue reports after a cancel or an expiry.
const (
	New             Status = iota + 1 // known here, nothing sent
	Denied                            // the guard refused it; it was never sent
	Submitted                         // persisted and on its way
	Accepted                          // the venue has it
	PartiallyFilled                   //
	Filled                            //
	PendingCancel                     // a cancel is on its way
	Canceled                          //
	Expired                           //
	Rejected                          // the venue refused it, or it could not be sent
	Uncertain                         // the venue's answer is not known; it is asked, never sent again
)

// Final reports whether the order has ended.
func (s Status) Final() bool {
	switch s {
	case Denied, Filled, Canceled, Expired, Rejected:
		return true
	default:
		return false
	}
}

// Spec is what was asked for, exact to the last digit.
type Spec struct {
	ID       string          `json:"id"`     // the client order id, a UUIDv7: ours, and what the venue knows it by
	Owner    string          `json:"owner"`  // to whom it belongs
	Symbol   market.Symbol   `json:"symbol"` // with its venue
	Side     Side            `json:"side"`
	Type     Type            `json:"type"`
	Quantity decimal.Decimal `json:"quantity"`       // above zero
	Price    decimal.Decimal `json:"price,omitzero"` // of a limit order
}

// Fill is one trade of an order.
type Fill struct {
	TradeID  string          `json:"trade_id"`           // unique with the symbol at a venue; a fill that comes twice is counted once
	OrderID  string          `json:"order_id,omitempty"` // our id, "" for an order that is not ours
	VenueID  string          `json:"venue_id,omitempty"` // the venue's id of the order
	Symbol   market.Symbol   `json:"symbol"`
	Side     Side            `json:"side"`
	Quantity decimal.Decimal `json:"quantity"` // above zero
	Price    decimal.Decimal `json:"price"`
	Fee      decimal.Decimal `json:"fee,omitzero"` // positive when paid
	FeeAsset string          `json:"fee_asset,omitempty"`
	Maker    bool            `json:"maker,omitempty"`
	At       time.Time       `json:"at,omitzero"`
}

// Report is what a venue says of an order.
type Report struct {
	Spec           // ID is empty, or foreign, for an order that is not ours
	VenueID string // the venue's own id
	// Status is one of Accepted, PartiallyFilled, Filled, PendingCancel, Canceled,
	// Expired and Rejected; Uncertain stands for a word that this build does not
	// know and means: reconcile.
	Status Status
	Filled decimal.Decimal // cumulative, a cross-check of the fills
	Reason string          // the venue's for a rejection, its word itself for Uncertain
	Fills  []Fill          // those that came with the report, perhaps not all
	At     time.Time       // of the order's last change, by the venue's clock
}

// Holding is what an account has of an asset, or of a symbol where the venue
// counts positions.
type Holding struct {
	Asset     string
	Symbol    market.Symbol // zero for a plain asset
	Quantity  decimal.Decimal
	Available decimal.Decimal
}

// Origin is what is known of an order when it comes to be and never changes.
type Origin struct {
	Spec
	Broker   string `json:"broker"` // as broker.Broker names itself
	Mode     Mode   `json:"mode"`
	Key      string `json:"idempotency_key,omitempty"` // the same key gives the same order again
	Token    string `json:"token,omitempty"`           // stands for the token that asked, never the token itself
	Client   string `json:"client,omitempty"`          // as the client calls itself, not verified
	External bool   `json:"external,omitempty"`        // found at the venue, not placed here

	RequestedSymbol market.Symbol `json:"asked_symbol,omitzero"` // as the client wrote it, of an order with a key; zero where that is Symbol
}

// Denial is why the guard denied an order.
type Denial struct {
	Rule  string `json:"rule,omitempty"`  // as the guard's table names it
	Limit string `json:"limit,omitempty"` // what the rule allows
	Value string `json:"value,omitempty"` // what the order would have needed
}

// Order is an order with what became of it: the projection of its events. Its
// slices and maps are shared and read-only; Apply replaces them.
type Order struct {
	Origin
	Status  Status          `json:"status"`
	VenueID string          `json:"venue_id,omitempty"`
	Fills   []Fill          `json:"fills,omitempty"`  // each trade once, by time and trade id
	Filled  decimal.Decimal `json:"filled,omitzero"`  // the sum of Fills, never above Quantity
	Cost    decimal.Decimal `json:"cost,omitzero"`    // the sum of quantity times price over Fills, without fees
	Fees    Fees            `json:"fees,omitempty"`   // paid, per asset
	Claimed decimal.Decimal `json:"claimed,omitzero"` // the most that the venue says is filled; at least Filled
	Reason  string          `json:"reason,omitempty"` // why it was denied, rejected or ended
	Denial  Denial          `json:"refusal,omitzero"` // of a denied order
	NotSent bool            `json:"unsent,omitempty"` // of a rejected one: it never left this machine, and the venue was not asked
	Created time.Time       `json:"created"`          // by our clock
	Updated time.Time       `json:"updated"`          // of the newest event, by our clock

	CancelRequested time.Time `json:"cancel_asked,omitzero"` // when a cancel was asked for that has not failed
	Seen            time.Time `json:"seen,omitzero"`         // the newest word of the venue's that was understood, by its clock
	Doubted         time.Time `json:"doubted,omitzero"`      // the newest that was not, or that contradicts what is known
	Doubt           string    `json:"doubt,omitempty"`       // what that was
}

// Remaining returns what is not filled.
func (o Order) Remaining() decimal.Decimal { return o.Quantity.Sub(o.Filled) }

// Average returns the price over all fills, and false before the first. It is
// for people: the division may round, and nothing is computed from it.
func (o Order) Average() (decimal.Decimal, bool) {
	if o.Filled.IsZero() {
		return decimal.Decimal{}, false
	}
	return quotient(o.Cost, o.Filled), true
}

// Doubtful reports whether the venue said something of the order that could not
// be understood or believed, and nothing newer since.
func (o Order) Doubtful() bool { return o.Doubt != "" && !o.Doubted.Before(o.Seen) }

// MissingFills reports whether the venue counts more than the fills that are known:
// some of them have not come, and they are asked for, never made up.
func (o Order) MissingFills() bool { return o.Claimed.GreaterThan(o.Filled) }

// NeedsQuery reports whether the venue must be asked what became of the order: its
// answer is outstanding or unknown, fills are missing, or it contradicts itself.
func (o Order) NeedsQuery() bool {
	switch o.Status {
	case Submitted, Uncertain, PendingCancel:
		return true
	default:
		return o.Doubtful() || o.MissingFills()
	}
}

// Fees is what was paid, per asset. It is read-only: add makes a new one.
type Fees map[string]decimal.Decimal

// add returns the fees with another amount.
func (f Fees) add(asset string, amount decimal.Decimal) Fees {
	if amount.IsZero() {
		return f
	}
	sum := make(Fees, len(f)+1)
	maps.Copy(sum, f)
	sum[asset] = f[asset].Add(amount)
	return sum
}

// Key tells the fill from every other of the account: the venue with the symbol,
// the venue's id of the trade, and the side, since an order that trades with
// another of the same account gives two fills with one id.
func (f Fill) Key() string { return f.Symbol.String() + "/" + f.TradeID + "/" + f.Side.String() }

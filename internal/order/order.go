// Package order is what an order is and what may become of it: a state machine
// that takes events, positions that take fills, and exact money throughout. It
// sends nothing, stores nothing and reads no clock.
package order

import (
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
// a fill that the venue reports after a cancel.
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
	Rejected                          // the venue refused it
	Uncertain                         // the venue's answer is not known; it is asked, never sent again
)

// Spec is what was asked for, exact to the last digit.
type Spec struct {
	ID       string        // the client order id, a UUIDv7: ours, and what the venue knows it by
	Owner    string        // to whom it belongs
	Symbol   market.Symbol // with its venue
	Side     Side
	Type     Type
	Quantity decimal.Decimal // above zero
	Price    decimal.Decimal // of a limit order
}

// Fill is one trade of an order.
type Fill struct {
	TradeID  string // unique with the symbol at a venue; a fill that comes twice is counted once
	OrderID  string // our id, "" for an order that is not ours
	VenueID  string // the venue's id of the order
	Symbol   market.Symbol
	Side     Side
	Quantity decimal.Decimal // above zero
	Price    decimal.Decimal
	Fee      decimal.Decimal // positive when paid
	FeeAsset string
	Maker    bool
	At       time.Time
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
	Reason string          // the venue's, for a rejection
	Fills  []Fill          // those that came with the report, perhaps not all
	At     time.Time       // by the venue's clock
}

// Holding is what an account has of an asset, or of a symbol where the venue
// counts positions.
type Holding struct {
	Asset     string
	Symbol    market.Symbol // zero for a plain asset
	Quantity  decimal.Decimal
	Available decimal.Decimal
}

package order

import (
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/market"
)

// Kind is what an event tells.
type Kind uint8

// The kinds. The first two and Sent, CancelAsked, CancelFailed, Unsent, Lost and
// Gone are ours to tell; the others are the venue's, through FromReport.
const (
	KindCreated         Kind = iota + 1 // the order is known: Origin
	KindDenied                          // the guard refused it: Reason, Refusal
	KindSent                            // about to be sent; persisted before it is
	KindNotSent                         // nothing left this machine: Reason
	KindLost                            // no answer, or none that says what became of it: Reason
	KindGone                            // the venue does not know it, after the grace period: Reason
	KindAccepted                        // the venue has it
	KindFill                            // a trade: Fill
	KindClaimed                         // the venue counts more than the fills we know: Filled
	KindCancelRequested                 // a cancel is about to be sent, or the venue says that one is pending
	KindCancelFailed                    // the order is still open after a cancel: Reason
	KindCanceled                        //
	KindExpired                         //
	KindRejected                        // the venue refused it: Reason
	KindDoubted                         // the venue said what we cannot understand or believe: Reason
	KindConfirmed                       // the venue said afterwards what we do understand
	KindAdjusted                        // a position changed without an order: Adjustment
	KindVenueReset                      // the venue has forgotten the account and begins to number anew: Kept
)

// Event is one thing that happened. Events are append-only: whoever persists
// them never changes one, and folding them in the order in which they were
// persisted gives the same orders and positions every time.
type Event struct {
	Kind       Kind            `json:"kind"`
	OrderID    string          `json:"order_id,omitempty"` // "" for KindAdjusted and KindWiped
	At         time.Time       `json:"at"`                 // by our clock; FromReport puts the venue's time there
	VenueAt    time.Time       `json:"venue_at,omitzero"`  // by the venue's clock, for what the venue told
	VenueID    string          `json:"venue_id,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Filled     decimal.Decimal `json:"filled,omitzero"`
	Origin     *Origin         `json:"origin,omitempty"`
	Fill       *Fill           `json:"fill,omitempty"`
	Denial     *Denial         `json:"refusal,omitempty"`
	Adjustment *Adjustment     `json:"adjustment,omitempty"`
	Survivors  []string        `json:"kept,omitempty"` // ids of the orders that the venue still has
}

// Adjustment changes a position by what no order explains: a deposit, a
// withdrawal, a testnet that was wiped. It counts as a trade at Price, so that
// it makes neither profit nor loss at that price.
type Adjustment struct {
	Symbol   market.Symbol   `json:"symbol"`
	Quantity decimal.Decimal `json:"quantity"` // signed
	Price    decimal.Decimal `json:"price"`
}

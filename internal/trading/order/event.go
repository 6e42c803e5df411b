package order

import (
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/market"
)

// Kind is the kind of an event.
type Kind uint8

// The kinds. Accepted, Fill, Claimed, Canceled, Expired, Rejected, Doubted and Confirmed
// come from the venue through FromReport, the others from the desk.
const (
	KindCreated Kind = iota + 1 // Origin
	KindDenied                  // the guard denied it: Reason, Denial
	KindSent                    // stored before the order is sent
	KindNotSent                 // nothing left this machine: Reason
	KindLost                    // no answer, or an inconclusive one: Reason
	KindGone                    // the venue does not know it after the grace period: Reason
	KindAccepted
	KindFill            // Fill
	KindClaimed         // the venue counts more than the known fills: Filled
	KindCancelRequested // a cancel is about to be sent, or is pending at the venue
	KindCancelFailed    // the order is still open after a cancel: Reason
	KindCanceled
	KindExpired
	KindRejected   // by the venue: Reason
	KindDoubted    // the venue reported something unknown or contradictory: Reason
	KindConfirmed  // a later report resolved the doubt
	KindAdjusted   // a position changed without an order: Adjustment
	KindVenueReset // the venue deleted the account's history: Survivors
)

// Event is one change of an order or position. Stored events never change, and folding
// them in stored order always gives the same book.
type Event struct {
	Kind       Kind            `json:"kind"`
	OrderID    string          `json:"order_id,omitempty"` // "" for KindAdjusted and KindVenueReset
	At         time.Time       `json:"at"`                 // local time; FromReport sets the venue's time
	VenueAt    time.Time       `json:"venue_at,omitzero"`  // venue's time, of its reports
	VenueID    string          `json:"venue_id,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Filled     decimal.Decimal `json:"filled,omitzero"`
	Origin     *Origin         `json:"origin,omitempty"`
	Fill       *Fill           `json:"fill,omitempty"`
	Denial     *Denial         `json:"refusal,omitempty"`
	Adjustment *Adjustment     `json:"adjustment,omitempty"`
	Survivors  []string        `json:"kept,omitempty"` // IDs of the orders that the venue still has
}

// Adjustment changes a position by something no order explains, such as a deposit, a
// withdrawal or a venue reset. It counts as a trade at Price, so it makes no profit or
// loss at that price.
type Adjustment struct {
	Symbol   market.Symbol   `json:"symbol"`
	Quantity decimal.Decimal `json:"quantity"` // signed
	Price    decimal.Decimal `json:"price"`
}

// Package alert defines alerts, their conditions and an index that finds the ones a price
// or signal triggers. It does no I/O and reads no clock; the engine calls it.
//
// # When a price alert fires
//
// A price is a float64: the one nearest to the decimal that the venue sent. A threshold
// is the decimal that the client wrote, compared as the float64 nearest to it, ties to
// even. Rounding keeps the order of numbers, so a price that reaches the threshold in
// decimals reaches it here: 0.1 is reached by 0.1. A price below the threshold counts as
// reaching it only where both round to the same float64, in the seventeenth digit.
//
// # How a firing is committed
//
// FirePrice, FireBar and FireSignal remove triggered alerts from their queues and return
// each firing once. Such an alert is uncommitted: it neither fires again nor expires, but
// it is still listed and may still be removed, because the store has it as active.
// RemoveFired deletes it after the commit. After a failed commit Uncommitted returns the
// firing again, with its value and time.
package alert

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/market"
)

// Type is the type of a condition.
type Type uint8

// The types. Clients name them price_above, price_below and indicator_signal.
const (
	PriceAbove Type = iota + 1
	PriceBelow
	IndicatorSignal
)

// Types returns the names of the types.
func Types() []string { return []string{"price_above", "price_below", "indicator_signal"} }

// String returns the name that clients use, or "".
func (t Type) String() string {
	if t < PriceAbove || t > IndicatorSignal {
		return ""
	}
	return Types()[t-1]
}

// ParseType returns the type with a name, and false if there is none.
func ParseType(name string) (Type, bool) {
	i := slices.Index(Types(), name)
	return Type(i + 1), i >= 0 //nolint:gosec // at most the number of types
}

// Condition is the condition of an alert.
type Condition struct {
	Type      Type
	Threshold decimal.Decimal // of price types; exact, as the client wrote it
	Indicator string          // of IndicatorSignal; its name in the catalogue
	Signal    string
}

// Alert is an active alert. It fires once. Its times have millisecond precision.
type Alert struct {
	ID    string // from id.New, unique over all owners
	Owner string // every query names one

	Symbol     market.Symbol   // as the client wrote it
	Instrument market.Symbol   // with its venue, chosen when the alert was created
	Interval   market.Interval // of IndicatorSignal, zero otherwise
	Condition  Condition
	Created    time.Time
	Expires    time.Time // zero for never
	Note       string

	// BarOpen is the open of the bar that was forming when a price alert was created, if
	// the price had not reached the threshold in it by then; otherwise zero. The high and
	// low of that bar then count for the alert.
	BarOpen time.Time
}

// Firing is an alert whose condition came true.
type Firing struct {
	Alert
	Value float64   // the price that reached the threshold, or the signal's value
	At    time.Time // when the condition came true
	Late  bool      // found in bars that were missed when they closed
}

// Package alert is the rules of alerts: what one waits for, when it fires and
// what is said then. It holds them in structures that a tick searches in
// logarithmic time. It reads no clock, stores nothing and starts nothing; the
// engine is its caller.
//
// # When a price alert fires
//
// A price is a float64: the one nearest to the decimal that the venue sent. A
// threshold is the decimal that the client wrote, and it is compared as the
// float64 nearest to it, ties to even. Rounding keeps the order of numbers, so a
// price that reaches the threshold in decimals reaches it here: 0.1 is reached
// by 0.1. The other way round, a price below the threshold counts as reaching it
// only where both round to the same float64, so in the seventeenth digit.
//
// # How a firing gets committed
//
// Touch, TouchBar and Signal take the alerts that came true out of their queues
// and hand them to the caller, once. Such an alert is pending: it does not fire
// again and does not expire, but it is still listed and may still be removed,
// because until the firing is committed the store knows it as active. Settle
// forgets it after the commit. When the commit fails there is nothing to undo:
// the firing stays in Pending, with its value and time, until it is committed.
package alert

import (
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/market"
)

// Type is what kind of condition an alert waits for.
type Type uint8

// The types, as clients name them: price_above, price_below, indicator_signal.
const (
	PriceAbove Type = iota + 1
	PriceBelow
	IndicatorSignal
)

// Types lists the names of the types.
func Types() []string { return []string{"price_above", "price_below", "indicator_signal"} }

// String returns the name that clients use, "" for none of the types.
func (t Type) String() string {
	if t < PriceAbove || t > IndicatorSignal {
		return ""
	}
	return Types()[t-1]
}

// ParseType returns the type of that name, and false when there is none.
func ParseType(name string) (Type, bool) {
	for t := PriceAbove; t <= IndicatorSignal; t++ {
		if t.String() == name {
			return t, true
		}
	}
	return 0, false
}

// Condition is what an alert waits for.
type Condition struct {
	Type      Type
	Threshold decimal.Decimal // of the price types, exact as the client wrote it
	Indicator string          // of IndicatorSignal, as the catalogue names it
	Signal    string
}

// Alert is an active alert. It fires once. Its times count to the millisecond,
// as clients see them.
type Alert struct {
	ID    string // as id.New makes it, unique over all owners
	Owner string // to whom it belongs; no question is answered without one

	Symbol     market.Symbol   // as the client wrote it, and as it is shown
	Instrument market.Symbol   // the same with its venue, chosen when the alert was set
	Interval   market.Interval // of IndicatorSignal, zero otherwise
	Condition  Condition
	Created    time.Time
	Expires    time.Time // zero for never
	Note       string

	// BarOpen is when the bar opened that ran when a price alert was made, if the price
	// had not reached the threshold in it by then; zero otherwise. What that bar
	// reached in the end, it reached after the alert.
	BarOpen time.Time
}

// Firing is an alert whose condition came true.
type Firing struct {
	Alert
	Value float64   // the price that reached the threshold, or the signal's value
	At    time.Time // when it came true
	Late  bool      // found afterwards, in bars that were missed when they closed
}

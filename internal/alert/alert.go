// Package alert is the rules of alerts: what one waits for, when it fires and
// what is said then. It holds them in structures that a tick searches in
// logarithmic time. It reads no clock, stores nothing and starts nothing; the
// engine is its caller.
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

// Condition is what an alert waits for.
type Condition struct {
	Type      Type
	Threshold decimal.Decimal // of the price types, exact as the client wrote it
	Indicator string          // of IndicatorSignal, as the catalogue names it
	Signal    string
}

// Alert is an active alert. It fires once.
type Alert struct {
	ID    string // unique over all owners
	Owner string // to whom it belongs; no question is answered without one

	Symbol     market.Symbol   // as the client wrote it, and as it is shown
	Instrument market.Symbol   // the same with its venue, chosen when the alert was set
	Interval   market.Interval // of IndicatorSignal, zero otherwise
	Condition  Condition
	Created    time.Time
	Expires    time.Time // zero for never
	Note       string
}

// Firing is an alert whose condition came true.
type Firing struct {
	Alert
	Value float64   // the price that reached the threshold, or the signal's value
	At    time.Time // when it came true
	Late  bool      // found afterwards, in bars that were missed when they closed
}

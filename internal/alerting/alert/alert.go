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
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
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

// AppendJSON appends the firing as clients receive it: the params of
// notifications/alert_triggered, an item of get_notifications, the body of a webhook. It
// is one object without line breaks. The value is formatted as in charts and parses back
// to the same float64; NaN and infinity are null. Bytes of the note that are not UTF-8
// become U+FFFD.
func (f *Firing) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"alert_id":`...)
	dst = strictjson.AppendString(dst, f.ID)
	dst = append(dst, `,"symbol":"`...)
	if f.Symbol.Venue != "" {
		dst = append(append(dst, f.Symbol.Venue...), ':')
	}
	dst = append(dst, f.Symbol.Name...) // a symbol needs no escaping
	dst = append(dst, `","interval":"`...)
	if f.Interval != 0 {
		dst = append(dst, f.Interval.String()...)
	}
	dst = append(dst, `","condition":`...)
	dst = f.Condition.appendJSON(dst)
	dst = append(dst, `,"value":`...)
	dst = strictjson.AppendFloat(dst, f.Value)
	dst = append(dst, `,"triggered_at":"`...)
	dst = f.At.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	dst = append(dst, '"')
	if f.Note != "" {
		dst = strictjson.AppendString(append(dst, `,"note":`...), f.Note)
	}
	if f.Late {
		dst = append(dst, `,"late":true`...)
	}
	return append(dst, '}')
}

// appendJSON appends the condition with its type next to its values.
func (c *Condition) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, c.Type.String()...)
	if c.Type == IndicatorSignal {
		dst = strictjson.AppendString(append(dst, `","indicator":`...), c.Indicator)
		dst = strictjson.AppendString(append(dst, `,"signal":`...), c.Signal)
		return append(dst, '}')
	}
	dst = appendDecimal(append(dst, `","threshold":`...), c.Threshold)
	return append(dst, '}')
}

// mostZeros bounds the zeros that pad a number that is written out.
const mostZeros = 20

// appendDecimal appends d exactly. It does not allocate for numbers of up to 15 digits.
func appendDecimal(dst []byte, d decimal.Decimal) []byte {
	coef, exp, fits := packDecimal(d)
	if !fits || exp > mostZeros || exp < -mostZeros-17 {
		return appendDigits(dst, d)
	}
	if coef < 0 {
		dst, coef = append(dst, '-'), -coef
	}
	for ; exp < 0 && coef%10 == 0; exp++ {
		coef /= 10
	}
	var buf [20]byte
	digits := strconv.AppendInt(buf[:0], coef, 10)
	whole := len(digits) + int(exp) // digits before the point
	switch {
	case exp >= 0:
		dst = append(dst, digits...)
		return appendZeros(dst, int(exp))
	case whole <= 0:
		dst = appendZeros(append(dst, "0."...), -whole)
		return append(dst, digits...)
	}
	dst = append(append(dst, digits[:whole]...), '.')
	return append(dst, digits[whole:]...)
}

func appendZeros(dst []byte, n int) []byte {
	return append(dst, "0000000000000000000000000000000000000000"[:n]...)
}

// Fired is a firing as clients receive it: see Firing.AppendJSON.
type Fired struct {
	ID        string `json:"alert_id"`
	Symbol    string `json:"symbol"`
	Interval  string `json:"interval"`
	Condition struct {
		Type      string      `json:"type"`
		Threshold json.Number `json:"threshold"`
		Indicator string      `json:"indicator"`
		Signal    string      `json:"signal"`
	} `json:"condition"`
	Value *float64  `json:"value"` // null if it is not a number
	At    time.Time `json:"triggered_at"`
	Note  string    `json:"note"`
	Late  bool      `json:"late"`
}

// ParseFired reads what AppendJSON wrote, and reports false for anything else.
func ParseFired(data []byte) (f Fired, ok bool) {
	err := json.Unmarshal(data, &f)
	return f, err == nil && f.Condition.Type != "" && !f.At.IsZero()
}

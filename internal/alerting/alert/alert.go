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
// Committed deletes it, or lets it fire again. After a failed commit Uncommitted returns the
// firing again, with its value and time.
package alert

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
)

// Firing is an alert whose condition came true, that ended because its script failed, or that
// stays and is not evaluated any more.
type Firing struct {
	Alert
	Value float64   // the price that reached the threshold, or the signal's value
	At    time.Time // when the condition came true
	Late  bool      // found in bars that were missed when they closed
	Error string    // why it cannot fire; "" for a condition that came true
	Text  string    // what the script of a signal says
}

// Failed returns the firing which reports that an alert has ended because its script failed
// at a time.
func Failed(a Alert, problem string, at time.Time) Firing {
	a.Repeat, a.State = Repeat{}, State{} // it fires no more
	return Firing{Alert: a, Value: math.NaN(), At: at, Error: problem}
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
	dst = f.appendCondition(dst)
	if f.Error == "" {
		dst = strictjson.AppendFloat(append(dst, `,"value":`...), f.Value)
	}
	dst = append(dst, `,"triggered_at":"`...)
	dst = f.At.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	dst = append(dst, '"')
	if f.Note != "" {
		dst = strictjson.AppendString(append(dst, `,"note":`...), f.Note)
	}
	if f.Text != "" {
		dst = strictjson.AppendString(append(dst, `,"message":`...), f.Text)
	}
	if f.Late {
		dst = append(dst, `,"late":true`...)
	}
	if f.Error != "" {
		dst = strictjson.AppendString(append(dst, `,"error":`...), f.Error)
	}
	if f.Idle != nil {
		dst = strictjson.AppendString(append(dst, `,"state":`...), f.Idle.State)
	}
	if f.Repeat.Repeats() {
		dst = fmt.Appendf(dst, `,"fire":%d,"max_fires":%d`, f.State.Fires, f.Repeat.MaxFires)
	}
	return append(dst, '}')
}

// appendCondition appends the condition, with scripts by their names alone, and with a sentence for
// the types that clients have not known from the beginning.
func (f *Firing) appendCondition(dst []byte) []byte {
	if named := f.Condition; named.unversion() {
		dst = named.appendOpen(dst)
	} else {
		dst = f.appendOpenCondition(dst)
	}
	if f.Extended() || f.Idle != nil {
		dst = strictjson.AppendString(append(dst, `,"describe":`...), f.Describe())
	}
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
		Type      string        `json:"type"`
		Threshold json.Number   `json:"threshold"`
		Indicator indicatorName `json:"indicator"`
		Signal    string        `json:"signal"`
		Describe  string        `json:"describe"`
	} `json:"condition"`
	Value *float64  `json:"value"` // null if it is not a number
	At    time.Time `json:"triggered_at"`
	Note  string    `json:"note"`
	Text  string    `json:"message"` // what the script of a signal says
	Late  bool      `json:"late"`
	Error string    `json:"error"` // why the alert ended without having fired, or is not evaluated
	State string    `json:"state"` // Broken or SetAside of an alert that stays; "" for any other
}

// indicatorName is the name of an indicator, which may be an object with its parameters.
type indicatorName string

// UnmarshalJSON reads both forms.
func (n *indicatorName) UnmarshalJSON(data []byte) error {
	name, _, err := parseSource(data)
	*n = indicatorName(name)
	return err
}

// ParseFired reads what AppendJSON wrote, and reports false for anything else.
func ParseFired(data []byte) (f Fired, ok bool) {
	err := json.Unmarshal(data, &f)
	return f, err == nil && f.Condition.Type != "" && !f.At.IsZero()
}

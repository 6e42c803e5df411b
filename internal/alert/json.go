package alert

import (
	"bytes"
	"math"
	"strconv"

	"github.com/shopspring/decimal"

	"candela/internal/rpc"
)

// AppendJSON appends the record of the firing that clients get: the params of
// notifications/alert_triggered, an item of get_notifications, the body of a
// webhook. It is one object without line breaks. The value has the digits that mean
// something; one that is no number, which JSON cannot say, is null. Bytes of the note
// that are not UTF-8 become U+FFFD.
func (f *Firing) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"alert_id":`...)
	dst = rpc.AppendString(dst, f.ID)
	dst = append(dst, `,"symbol":"`...)
	if f.Symbol.Venue != "" {
		dst = append(append(dst, f.Symbol.Venue...), ':')
	}
	dst = append(dst, f.Symbol.Name...) // a symbol needs no escapes
	dst = append(dst, `","interval":"`...)
	if f.Interval != 0 {
		dst = append(dst, f.Interval.String()...)
	}
	dst = append(dst, `","condition":`...)
	dst = f.Condition.appendJSON(dst)
	dst = append(dst, `,"value":`...)
	if f.Condition.Type == IndicatorSignal {
		dst = appendFloat(dst, f.Value, computedDigits)
	} else {
		dst = appendFloat(dst, f.Value, priceDigits)
	}
	dst = append(dst, `,"triggered_at":"`...)
	dst = f.At.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	dst = append(dst, '"')
	if f.Note != "" {
		dst = rpc.AppendString(append(dst, `,"note":`...), f.Note)
	}
	if f.Late {
		dst = append(dst, `,"late":true`...)
	}
	return append(dst, '}')
}

// appendJSON appends the condition as events tell it, its type beside its values.
func (c *Condition) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, c.Type.String()...)
	if c.Type == IndicatorSignal {
		dst = rpc.AppendString(append(dst, `","indicator":`...), c.Indicator)
		dst = rpc.AppendString(append(dst, `,"signal":`...), c.Signal)
		return append(dst, '}')
	}
	dst = appendDecimal(append(dst, `","threshold":`...), c.Threshold)
	return append(dst, '}')
}

// How many significant digits a value is written with. A decimal of 15 digits is the
// same after it was a float64, so no price that a venue tells is changed, and the
// noise of sums and means is gone. Of what an indicator computes ten mean something.
const (
	priceDigits    = 15
	computedDigits = 10
)

// appendFloat appends v with at most that many significant digits, as plain digits
// where that stays short.
func appendFloat(dst []byte, v float64, digits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], v, 'e', digits-1, 64)
	at := bytes.IndexByte(text, 'e')
	exponent := 0
	for _, c := range text[at+2:] {
		exponent = 10*exponent + int(c-'0')
	}
	if text[at+1] == '-' {
		exponent = -exponent
	}
	if exponent > 20 { // rounded up, the largest would be none
		return strconv.AppendFloat(dst, v, 'e', -1, 64)
	}
	if exponent < -6 {
		return append(append(dst, trimmed(text[:at])...), text[at:]...)
	}
	if decimals := digits - 1 - exponent; decimals > 0 {
		from := len(dst)
		dst = strconv.AppendFloat(dst, v, 'f', decimals, 64)
		return dst[:from+len(trimmed(dst[from:]))]
	}
	return strconv.AppendFloat(dst, v, 'f', 0, 64)
}

// trimmed returns a number with a point without the zeros at its end.
func trimmed(number []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimRight(number, "0"), []byte{'.'})
}

// mostZeros is how many a number may be written out with that are none of its digits.
const mostZeros = 20

// appendDecimal appends d exactly. It does not allocate for numbers of up to 15
// digits, which thresholds have.
func appendDecimal(dst []byte, d decimal.Decimal) []byte {
	coef, exp, fits := split(d)
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

package alert

import (
	"strconv"

	"candela/internal/kit/strictjson"

	"github.com/shopspring/decimal"
)

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

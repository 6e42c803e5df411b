package strictjson

import (
	"github.com/shopspring/decimal"
)

// maxDigits bounds the digits of a decimal on either side of its point. No venue
// counts finer, and 1e400 would cost more to add up than to send.
const maxDigits = 20

// Decimal reads a number, bare or in a string, exactly as it is written.
func (j *Reader) Decimal() decimal.Decimal {
	text := j.Exact()
	if !j.OK() {
		return decimal.Decimal{}
	}
	if len(text) > 2*maxDigits {
		j.Failf("%q has too many digits", clip([]byte(text)))
		return decimal.Decimal{}
	}
	d, err := decimal.NewFromString(text)
	if err != nil || d.Exponent() > maxDigits || d.Exponent() < -maxDigits {
		j.Failf("%q is no amount", text)
		return decimal.Decimal{}
	}
	return d
}

// Amount is Decimal for what is never negative.
func (j *Reader) Amount() decimal.Decimal {
	d := j.Decimal()
	if d.IsNegative() {
		j.Failf("%s is negative", d)
		return decimal.Decimal{}
	}
	return d
}

package order

import (
	"strings"

	"candela/lib/pattern"

	"github.com/shopspring/decimal"

	"candela/lib/fault"
)

// Bounds of an amount. Larger numbers are not real and would cost time and memory.
const (
	maxAmountBytes  = 64
	maxAmountDigits = 24
	amountAllowed   = "a decimal number such as 0.25, of at most 24 digits on either side of the point"
)

// maxFactDigits bounds the numbers in events and reports: products of amounts and of a
// venue's numbers. Adding 1 to 1e999999999 would use all memory.
const maxFactDigits = 72

// amountPattern is a JSON number: no plus sign, leading zero, comma, space or NaN.
var amountPattern = pattern.Of(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?$`)

// ParseAmount reads a decimal exactly, in the syntax of JSON. Errors name the field.
func ParseAmount(field, text string) (decimal.Decimal, error) {
	if len(text) > maxAmountBytes || !amountPattern().MatchString(text) {
		return decimal.Decimal{}, fault.Field(field, text, amountAllowed)
	}
	d, err := decimal.NewFromString(text)
	if err != nil || !within(maxAmountDigits, d) {
		return decimal.Decimal{}, fault.Field(field, text, amountAllowed)
	}
	return d, nil
}

// Bounded reports whether all numbers are within the bounds of ParseAmount.
func Bounded(numbers ...decimal.Decimal) bool { return within(maxAmountDigits, numbers...) }

// within reports whether all numbers have at most that many digits on each side.
func within(digits int, numbers ...decimal.Decimal) bool {
	for _, d := range numbers {
		exp := int(d.Exponent())
		if exp < -digits || exp > digits || d.NumDigits()+exp > digits {
			return false
		}
	}
	return true
}

// minPlaces is the minimum of decimals of a quotient: twice eight, and a margin.
const minPlaces = 18

// quotient returns a / b for display.
func quotient(a, b decimal.Decimal) decimal.Decimal { return a.DivRound(b, minPlaces) }

// proportion returns the part of cost that belongs to part of a whole, with the decimals
// of cost but at least minPlaces, so that repeated divisions do not add decimals.
func proportion(cost, part, whole decimal.Decimal) decimal.Decimal {
	return cost.Mul(part).DivRound(whole, max(minPlaces, places(cost)))
}

// places counts the decimals without trailing zeros, which a stored number loses: it must
// still round as before.
func places(d decimal.Decimal) int32 {
	if d.Exponent() >= -minPlaces {
		return 0 // fewer than minPlaces
	}
	_, decimals, _ := strings.Cut(d.String(), ".")
	return int32(len(decimals)) //nolint:gosec // G115: the numbers of events are bounded
}

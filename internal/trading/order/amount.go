package order

import (
	"regexp"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/kit/fault"
)

// The bounds of an amount. Beyond them stands no price or quantity of a real
// market, and computing with it would cost time and memory.
const (
	maxAmountBytes  = 64
	maxAmountDigits = 24
	amountAllowed   = "a decimal number such as 0.25, of at most 24 digits on either side of the point"
)

// maxFactDigits bounds the numbers in events and reports. They are products of
// amounts and of a venue's numbers, which may be as hostile as anybody's: adding
// 1 to 1e999999999 takes all memory.
const maxFactDigits = 72

// amountPattern is JSON's number: no sign but minus, no leading zero, no commas,
// no spaces, no words such as NaN.
var amountPattern = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?$`)

// ParseAmount reads a decimal exactly, as JSON writes numbers. field is named in
// the refusal.
func ParseAmount(field, text string) (decimal.Decimal, error) {
	if len(text) > maxAmountBytes || !amountPattern.MatchString(text) {
		return decimal.Decimal{}, fault.Field(field, text, amountAllowed)
	}
	d, err := decimal.NewFromString(text)
	if err != nil || !within(maxAmountDigits, d) {
		return decimal.Decimal{}, fault.Field(field, text, amountAllowed)
	}
	return d, nil
}

// Bounded reports whether numbers are of a size that ParseAmount would read, so
// that computing with them is cheap.
func Bounded(numbers ...decimal.Decimal) bool { return within(maxAmountDigits, numbers...) }

// within reports whether all numbers have at most that many digits on either side
// of the point.
func within(digits int, numbers ...decimal.Decimal) bool {
	for _, d := range numbers {
		exp := int(d.Exponent())
		if exp < -digits || exp > digits || d.NumDigits()+exp > digits {
			return false
		}
	}
	return true
}

// minPlaces is how many decimals a quotient has at least: prices and quantities
// of eight decimals multiply to sixteen.
const minPlaces = 18

// quotient returns a / b for people to read.
func quotient(a, b decimal.Decimal) decimal.Decimal { return a.DivRound(b, minPlaces) }

// proportion returns the part of cost that belongs to part of a whole. It has the
// decimals of cost or minPlaces, whichever are more, so that cutting again and
// again does not add decimals.
func proportion(cost, part, whole decimal.Decimal) decimal.Decimal {
	return cost.Mul(part).DivRound(whole, max(minPlaces, places(cost)))
}

// places counts the decimals of a number without zeros at its end: a number that was
// written down and read again has lost those, and must still round as before.
func places(d decimal.Decimal) int32 {
	if d.Exponent() >= -minPlaces {
		return 0 // fewer than are asked for anyway
	}
	_, decimals, _ := strings.Cut(d.String(), ".")
	return int32(len(decimals)) //nolint:gosec // G115: the numbers of events are bounded
}

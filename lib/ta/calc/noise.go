package calc

import (
	"math"
	"strconv"
)

// noise is the part of a level below which a difference is rounding. Sums of a few
// decimal prices are off by some 1e-16 of the price, recursive means over a
// thousand bars by some 1e-13, and no market has a tick of 1e-12 of its price.
const noise = 1e-12

// Difference returns a-b, or 0 if they differ by less than 1e-12 of the greater, so
// that values that differ only by rounding are equal.
func Difference(a, b float64) float64 {
	d := a - b
	if math.Abs(d) < noise*max(math.Abs(a), math.Abs(b)) {
		return 0
	}
	return d
}

// decimals is the number of significant digits that survive a conversion to float64
// and back.
const decimals = 15

// Decimal returns v rounded to 15 digits: 51319.81 for 51319.810000000005, a
// possible mean of prices. A price with at most 15
// digits stays as it is.
func Decimal(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	var room [32]byte
	d, err := strconv.ParseFloat(string(strconv.AppendFloat(room[:0], v, 'e', decimals-1, 64)), 64)
	if err != nil {
		return v // the largest value would overflow when rounded up
	}
	return d
}

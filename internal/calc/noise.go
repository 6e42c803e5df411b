package calc

import "math"

// noise is the part of a level below which a difference is rounding. Sums of a few
// decimal prices are off by some 1e-16 of the price, recursive means over a
// thousand bars by some 1e-13, and no market has a tick of 1e-12 of its price.
const noise = 1e-12

// Difference returns a-b, and 0 where the two are apart by less than 1e-12 of the
// greater: values that are equal on paper and were rounded on different ways are
// equal.
func Difference(a, b float64) float64 {
	d := a - b
	if math.Abs(d) < noise*max(math.Abs(a), math.Abs(b)) {
		return 0
	}
	return d
}

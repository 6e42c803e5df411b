// Package elementary computes exponentials, logarithms, powers and the functions of angles
// with the same bits on every processor. The standard library computes some of them in
// assembly or with fused products, so that its last bits depend on the machine. Every
// result is within one unit in the last place.
package elementary

import "math"

// ln2 in two parts, the first with zeros at its end, so that its product with an exponent
// is exact, and 1/ln 10.
const (
	ln2Upper = 0x1.62e42fefa38p-1
	ln2Lower = 0x1.ef35793c7673p-45
	ln2Rest  = 0x1.f97b57a079a19p-103
)

// Exp returns e to the power of x.
func Exp(x float64) float64 { return exp(double{x, 0}) }

// exp rounds e to the power of x, whose parts may lie far apart.
func exp(x double) float64 {
	switch {
	case math.IsNaN(x.hi):
		return x.hi
	case x.hi > 709.79:
		return math.Inf(1)
	case x.hi < -745.14:
		return 0
	}
	k := math.Round(x.hi * (1 / math.Ln2))
	// The upper part's product is exact and near x, so the difference is exact as well.
	r := sum(x.hi-float64(k*ln2Upper), -float64(k*ln2Lower))
	r = quickSum(r.hi, r.lo+x.lo)
	// 1 + r + r²/2 + r³ (1/6 + r/24 + ...), the first three without rounding.
	tail := horner(r.hi, []float64{
		1. / 1307674368000, 1. / 87178291200, 1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880,
		1. / 40320, 1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6,
	})
	square := product(r.hi, r.hi)
	cube := float64(float64(square.hi*r.hi) * tail)
	y := sum(1, r.hi)
	half := sum(y.hi, square.hi/2)
	low := y.lo + half.lo + (r.lo + square.lo/2 + float64(r.hi*r.lo)) + cube
	return ldexp(half.hi+low, int(k))
}

// ldexp multiplies by a power of two in two steps, so that a small result is rounded once.
func ldexp(x float64, k int) float64 {
	if k > 1000 {
		return math.Ldexp(x, k-1) * 2
	}
	return math.Ldexp(x, k)
}

// Log returns the natural logarithm of x: NaN below 0 and minus infinity at 0.
func Log(x float64) float64 {
	if y, ok := logSpecial(x); ok {
		return y
	}
	if y, ok := fastLog(x); ok {
		return y
	}
	return logOf(x).hi
}

// Log10 returns the decimal logarithm of x, exact for the powers of ten.
func Log10(x float64) float64 {
	if y, ok := logSpecial(x); ok {
		return y
	}
	return logOf(x).mul(double{0x1.bcb7b1526e50ep-02, 0x1.95355baaafad3p-57}).hi
}

func logSpecial(x float64) (float64, bool) {
	switch {
	case math.IsNaN(x) || x < 0:
		return math.NaN(), true
	case x == 0:
		return math.Inf(-1), true
	case math.IsInf(x, 1):
		return x, true
	}
	return 0, false
}

// logOf computes the logarithm of a positive number to some 100 bits.
func logOf(x float64) double {
	part, power := math.Frexp(x)
	if part < math.Sqrt2/2 {
		part *= 2
		power--
	}
	// ln((1+s)/(1-s)) = 2 (s + s³/3 + s⁵/5 + ...), here with |s| below 0.172.
	s := double{part - 1, 0}.div(sum(part, 1))
	square := s.mul(s)
	tail := 0.0
	for k := 27.0; k >= 9; k -= 2 {
		tail = float64((tail + 1/k) * square.hi)
	}
	series := double{0x1.2492492492492p-03, 0x1.2492492492492p-57}.add(double{tail, 0})
	series = series.mul(square).add(double{0x1.999999999999ap-03, -0x1.999999999999ap-57})
	series = series.mul(square).add(double{0x1.5555555555555p-02, 0x1.5555555555555p-56})
	rest := series.mul(square).mul(s).add(s).scale(2)
	k := float64(power)
	if k == 0 {
		return rest
	}
	whole := double{float64(k * ln2Upper), 0}.add(product(k, ln2Lower)).add(double{float64(k * ln2Rest), 0})
	return whole.add(rest)
}

// Pow returns x to the power of y. The special cases are those of IEEE 754, as in the
// standard library: a negative x needs a whole y.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case y == 1:
		return x
	case math.IsNaN(x) || math.IsNaN(y):
		return math.NaN()
	case x == 0 || math.IsInf(x, 0) || math.IsInf(y, 0):
		return math.Pow(x, y) // table of special cases, no arithmetic
	case y == 2:
		return float64(x * x)
	}
	sign := 1.0
	if x < 0 {
		if y != math.Trunc(y) {
			return math.NaN()
		}
		if math.Abs(math.Mod(y, 2)) == 1 {
			sign = -1
		}
		x = -x
		if x == 1 {
			return sign
		}
	}
	log := logOf(x)
	if size := math.Abs(log.hi * y); size > 1000 {
		if (log.hi > 0) == (y > 0) {
			return math.Inf(int(sign))
		}
		return math.Copysign(0, sign)
	}
	return sign * exp(log.mul(double{y, 0}))
}

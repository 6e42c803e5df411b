package elementary

import "math"

// limit is the size from which on an angle has no digit behind its point: its functions
// are missing.
const limit = 1 << 52

// reduce takes the nearest multiple of a quarter turn off x and returns the rest, which is
// at most an eighth of a turn, and the multiple modulo 4.
func reduce(x float64) (double, int) {
	k := math.Round(x * 0x1.45f306dc9c883p-01)
	r := double{x, 0}
	for _, part := range [...]float64{0x1.921fb54442d18p+00, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110, 0x1.4cf98e804177dp-164} {
		r = r.add(product(-k, part))
	}
	return r, int(int64(k) & 3)
}

// sine and cosine compute the functions of an angle up to an eighth of a turn.
func sine(r double) double {
	square := float64(r.hi * r.hi)
	tail := horner(square, []float64{
		-1. / 121645100408832000, 1. / 355687428096000, -1. / 1307674368000, 1. / 6227020800, -1. / 39916800, 1. / 362880, -1. / 5040, 1. / 120, -1. / 6,
	})
	cube := float64(float64(square*r.hi) * tail)
	return quickSum(r.hi, cube+float64(r.lo*(1-square/2)))
}

func cosine(r double) double {
	square := product(r.hi, r.hi)
	tail := horner(square.hi, []float64{
		1. / 2432902008176640000, -1. / 6402373705728000, 1. / 20922789888000, -1. / 87178291200, 1. / 479001600, -1. / 3628800, 1. / 40320, -1. / 720, 1. / 24,
	})
	fourth := float64(float64(square.hi*square.hi) * tail)
	y := sum(1, -square.hi/2)
	return quickSum(y.hi, y.lo-square.lo/2-float64(r.hi*r.lo)+fourth)
}

// both returns the sine and the cosine of x.
func both(x float64) (s, c double) {
	if !(math.Abs(x) < limit) {
		return double{math.NaN(), 0}, double{math.NaN(), 0}
	}
	if math.Abs(x) < 0x1p-26 {
		return double{x, 0}, double{1, 0} // also keeps the sign of 0
	}
	r, quarter := reduce(x)
	s, c = sine(r), cosine(r)
	switch quarter {
	case 1:
		return c, s.neg()
	case 2:
		return s.neg(), c.neg()
	case 3:
		return c.neg(), s
	}
	return s, c
}

// Sin returns the sine of x radians.
func Sin(x float64) float64 {
	s, _ := both(x)
	return s.hi
}

// Cos returns the cosine of x radians.
func Cos(x float64) float64 {
	_, c := both(x)
	return c.hi
}

// Tan returns the tangent of x radians.
func Tan(x float64) float64 {
	s, c := both(x)
	if s.hi == 0 || math.IsNaN(s.hi) {
		return s.hi
	}
	return s.div(c).hi
}

// eighths returns the arctangent of j/8.
func eighths(j int) double {
	return [...]double{
		{},
		{0x1.fd5ba9aac2f6ep-04, -0x1.cd37686760c17p-59},
		{0x1.f5b75f92c80ddp-03, 0x1.8ab6e3cf7afbdp-57},
		{0x1.6f61941e4def1p-02, -0x1.c63aae6f6e918p-56},
		{0x1.dac670561bb4fp-02, 0x1.a2b7f222f65e2p-56},
		{0x1.1e00babdefeb4p-01, -0x1.928df287a668fp-58},
		{0x1.4978fa3269ee1p-01, 0x1.2419a87f2a458p-56},
		{0x1.700a7c5784634p-01, -0x1.8c34d25aadef6p-56},
		{0x1.921fb54442d18p-01, 0x1.1a62633145c07p-55},
	}[j]
}

// quarter is a quarter turn.
func quarter() double { return double{0x1.921fb54442d18p+00, 0x1.1a62633145c07p-54} }

// arctan returns the arctangent of y/x, of which both are positive or 0.
func arctan(y, x double) double {
	if y.hi > x.hi {
		return quarter().add(arctan(x, y).neg())
	}
	j := math.Round(8 * y.hi / x.hi)
	t := y
	if j > 0 {
		// The angle of j/8 is taken off: t = (y/x - j/8) / (1 + y/x j/8).
		c := double{j / 8, 0}
		t, x = y.add(x.mul(c).neg()), x.add(y.mul(c))
	}
	t = t.div(x)
	square := float64(t.hi * t.hi)
	tail := horner(square, []float64{-1. / 15, 1. / 13, -1. / 11, 1. / 9, -1. / 7, 1. / 5, -1. / 3})
	angle := quickSum(t.hi, t.lo+float64(float64(square*t.hi)*tail))
	return eighths(int(j)).add(angle)
}

// Atan returns the arctangent of x in radians.
func Atan(x float64) float64 {
	switch size := math.Abs(x); {
	case size < 0x1p-27 || math.IsNaN(x):
		return x
	case size > 0x1p60:
		return math.Copysign(math.Pi/2, x)
	default:
		return math.Copysign(arctan(double{size, 0}, double{1, 0}).hi, x)
	}
}

// Asin returns the arcsine of x in radians, NaN for x outside -1 to 1.
func Asin(x float64) float64 {
	size := math.Abs(x)
	switch {
	case !(size <= 1):
		return math.NaN()
	case size < 0x1p-27:
		return x
	}
	other := sum(1, size).mul(sum(1, -size)).sqrt()
	return math.Copysign(arctan(double{size, 0}, other).hi, x)
}

// Acos returns the arccosine of x in radians, NaN for x outside -1 to 1.
func Acos(x float64) float64 {
	size := math.Abs(x)
	switch {
	case !(size <= 1):
		return math.NaN()
	case x == 0:
		return math.Pi / 2
	}
	other := sum(1, size).mul(sum(1, -size)).sqrt()
	angle := arctan(other, double{size, 0})
	if x < 0 {
		angle = quarter().scale(2).add(angle.neg())
	}
	return angle.hi
}

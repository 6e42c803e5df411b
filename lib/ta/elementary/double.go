package elementary

import "math"

// double is a number in two parts, whose sum it is. The lower part is at most half a unit
// in the last place of the upper one, so that rounding the number gives the upper part.
type double struct{ hi, lo float64 }

// quickSum adds two numbers of which a is not the smaller.
func quickSum(a, b float64) double {
	s := a + b
	return double{s, b - (s - a)}
}

// sum adds two numbers without an error.
func sum(a, b float64) double {
	s := a + b
	t := s - a
	return double{s, (a - (s - t)) + (b - t)}
}

// product multiplies two numbers without an error. FMA is exact on every processor.
func product(a, b float64) double {
	p := float64(a * b)
	return double{p, math.FMA(a, b, -p)}
}

func (a double) add(b double) double {
	s, t := sum(a.hi, b.hi), sum(a.lo, b.lo)
	s = quickSum(s.hi, s.lo+t.hi)
	return quickSum(s.hi, s.lo+t.lo)
}

func (a double) neg() double { return double{-a.hi, -a.lo} }

func (a double) mul(b double) double {
	p := product(a.hi, b.hi)
	return quickSum(p.hi, p.lo+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

func (a double) div(b double) double {
	q := a.hi / b.hi
	rest := a.add(b.mul(double{q, 0}).neg())
	return quickSum(q, rest.hi/b.hi)
}

func (a double) sqrt() double {
	if a.hi <= 0 {
		return double{}
	}
	root := math.Sqrt(a.hi)
	rest := a.add(product(root, root).neg())
	return quickSum(root, rest.hi/(2*root))
}

// scale multiplies by a power of two.
func (a double) scale(power float64) double { return double{a.hi * power, a.lo * power} }

// horner evaluates a polynomial, the coefficient of the highest power first.
func horner(x float64, coefficients []float64) float64 {
	y := 0.0
	for _, c := range coefficients {
		y = float64(y*x) + c
	}
	return y
}

package calc

import "math"

// Log returns the natural logarithm of x with the same bits on every processor, within
// two units in the last place: that of the standard library is assembly on some and
// fused on others. It is NaN where x is not positive and finite.
func Log(x float64) float64 {
	if !(x > 0) || x > math.MaxFloat64 {
		return math.NaN()
	}
	part, power := math.Frexp(x)
	if part < math.Sqrt2/2 {
		part *= 2
		power--
	}
	// ln((1+s)/(1-s)) = 2 (s + s^3/3 + s^5/5 + ...), here with |s| below 0.172.
	s := (part - 1) / (part + 1)
	square, sum := float64(s*s), 0.0
	for k := 23.0; k >= 3; k -= 2 {
		sum = float64((sum + 1/k) * square)
	}
	rest := float64(2*s) + float64(float64(2*s)*sum)
	if power == 0 {
		return rest
	}
	// The upper part of ln 2 has zeros at its end, so that its product is exact.
	const ln2Upper, ln2Lower = 0.6931471803691238, 1.9082149292705877e-10
	k := float64(power)
	return float64(k*ln2Upper) + (rest + float64(k*ln2Lower))
}

// Atan returns the arctangent of x in radians with the same bits on every processor,
// within four units in the last place.
func Atan(x float64) float64 {
	if math.IsNaN(x) {
		return x
	}
	if math.Abs(x) > 1 {
		return math.Copysign(math.Pi/2, x) - Atan(1/x)
	}
	// Twice half of the angle: |x| is below 0.2 after the second.
	const halves = 2
	for range halves {
		x /= 1 + math.Sqrt(1+float64(x*x))
	}
	square, sum := float64(x*x), 0.0
	for k := 25.0; k >= 3; k -= 2 {
		sum = float64((1/k - sum) * square)
	}
	return (1 << halves) * (x - float64(x*sum))
}

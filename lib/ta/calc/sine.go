package calc

import "math"

// SinCos returns the sine and the cosine of an angle in radians with the same bits on
// every processor, within about two units in the last place of 1. Angles of at most a
// million are expected; NaN gives NaN.
func SinCos(x float64) (sin, cos float64) {
	// The quarter turn nearest to x is taken off. Its upper part has zeros at its end, so
	// that its product is exact.
	const upper = 0x1.921fb5p+0
	const lower = math.Pi/2 - upper
	quarter := math.Round(x / (math.Pi / 2))
	r := (x - float64(quarter*upper)) - float64(quarter*lower)
	square := float64(r * r)
	// The series of both, from the smallest term on; |r| is below 0.79.
	for k := 18.0; k >= 2; k -= 2 {
		cos = float64((1 - cos) * square / (k * (k - 1)))
		sin = float64((1 - sin) * square / (k * (k + 1)))
	}
	sin, cos = float64(r*(1-sin)), 1-cos
	switch int64(quarter) & 3 {
	case 1:
		return cos, -sin
	case 2:
		return -sin, -cos
	case 3:
		return -cos, sin
	}
	return sin, cos
}

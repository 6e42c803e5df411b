package eval

import (
	"math"
	"testing"
)

// TestRemainder_IsThatOfFloats holds that remainders of whole numbers have the bits of math.Mod.
func TestRemainder_IsThatOfFloats(t *testing.T) {
	t.Parallel()
	values := []float64{0, math.Copysign(0, -1), 1, -1, 2, 3, -3, 7, 10, 0.5, -2.5, 1e15, 1<<53 - 1, 1 << 53, 1e300, math.Inf(1), math.NaN(), 5e-324}
	for _, a := range values {
		for _, b := range values {
			if got, want := remainder(a, b), math.Mod(a, b); math.Float64bits(got) != math.Float64bits(want) {
				t.Errorf("%v %% %v = %v, want %v", a, b, got, want)
			}
		}
	}
}

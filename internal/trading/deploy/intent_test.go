package deploy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
)

// TestDecimalOf_IsTheRoundedDecimal compares with the digits of the float.
func TestDecimalOf_IsTheRoundedDecimal(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(longtest.Seed(), 3))
	for range longtest.Pick(200_000, 20_000_000) {
		digits := int32(r.IntN(14))
		x := r.NormFloat64() * math.Pow(10, float64(r.IntN(24)-12))
		if r.IntN(2) == 0 { // near a decimal, or near the middle of two
			x = math.Round(x*math.Pow(10, float64(digits+1))/5) * 5 / math.Pow(10, float64(digits+1))
		}
		want := decimal.NewFromFloat(x).Round(digits)
		if got := decimalOf(x, digits); got.String() != want.String() {
			t.Fatalf("%v with %d digits: %s, not %s", x, digits, got, want)
		}
	}
}

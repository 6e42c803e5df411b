package elementary

import (
	"math"
	"math/rand/v2"
	"testing"

	"candela/internal/testkit/longtest"
)

// TestFastLog_HasTheBitsOfTheSlowOne compares both over all sizes, near 1 and at the edges of the steps. The slow one
// is accurate to far more bits than the margin of the fast one.
func TestFastLog_HasTheBitsOfTheSlowOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	slow, rounds := 0, longtest.Pick(100_000, 50_000_000)
	edge := func() float64 {
		x := (float64(firstStep+r.IntN(lastStep-firstStep)) + 0.5) / stepsAUnit
		for range r.IntN(3) {
			x = math.Nextafter(x, 4*r.Float64())
		}
		return math.Ldexp(x, r.IntN(9)-4)
	}
	for range rounds {
		for _, x := range []float64{
			math.Float64frombits(r.Uint64() & 0x7FEF_FFFF_FFFF_FFFF), r.Float64() * 100_000, 1 + r.NormFloat64()*math.Ldexp(1, -r.IntN(60)), edge(),
		} {
			if x <= 0 {
				continue
			}
			fast, ok := fastLog(x)
			if !ok {
				slow++
				continue
			}
			if want := logOf(x).hi; math.Float64bits(fast) != math.Float64bits(want) {
				t.Fatalf("log %v is %v, want %v", x, fast, want)
			}
		}
	}
	if slow > rounds/20 {
		t.Errorf("%d of %d values need the slow way", slow, 4*rounds)
	}
}

func BenchmarkLog(b *testing.B) {
	x := 1.5
	for b.Loop() {
		x = Log(x) + 40_000.3
	}
}

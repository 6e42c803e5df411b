package calc

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSince_SecondDerivation searches each window from its newest value back.
func TestSince_SecondDerivation(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 9))
	src := make([]float64, 3_000)
	for i := range src {
		src[i] = float64(r.IntN(12)) // many equal values
		if r.IntN(40) == 0 {
			src[i] = math.NaN()
		}
	}
	for _, n := range []int{1, 2, 5, 15, 64} {
		for _, sign := range []float64{1, -1} {
			m := NewSlab()
			state := m.SinceMax(n)
			if sign < 0 {
				state = m.SinceMin(n)
			}
			for i, x := range src {
				want := math.NaN()
				if i+1 >= n {
					want = 0
					for k := range n {
						if v := src[i-k]; v != v {
							want = math.NaN()
							break
						} else if sign*v > sign*src[i-int(want)] {
							want = float64(k)
						}
					}
				}
				if got := state.Step(x); got != want && (got == got || want == want) {
					t.Fatalf("n %d, sign %v, bar %d: %v, want %v", n, sign, i, got, want)
				}
			}
		}
	}
}

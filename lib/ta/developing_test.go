package ta

import (
	"math"
	"math/rand/v2"
	"testing"

	"candela/internal/testkit/longtest"
	"candela/lib/market"
)

// widening returns n bars of a kind that widen the range of their session often: even
// steps and volumes, steps of a tick, random ones, jumps that leave rows empty, bars
// without range, and both directions in turn.
func widening(r *rand.Rand, kind, n int) *market.Bars {
	b := market.MakeBars(n, false)
	price := 1000.0
	for i := range n {
		height, volume := 2.0, 10.0
		switch kind {
		case 0:
			price += 0.125
		case 1:
			price += 0.01 * float64(r.IntN(4))
			height, volume = 0.01*float64(r.IntN(30)), float64(1+r.IntN(5))
		case 2:
			price *= 1 + 0.001*r.Float64()
			height, volume = price*0.002*r.Float64(), math.Exp(3*r.NormFloat64())
		case 3:
			price += 50 * float64(r.IntN(20)/19)
			height, volume = r.Float64(), r.Float64()
		case 4:
			price += 0.5 * float64(r.IntN(3))
			height = 0
		case 5:
			price = 1000 + float64(i)*float64(1-2*(i%2))*0.25
		}
		b.Append(market.Bar{T: testStart + int64(i)*3600, O: price, H: price + height, L: price, C: price + height*r.Float64(), V: volume})
	}
	return &b
}

// TestDeveloping_WideningSessions compares the value area of every bar with that of a
// profile made from the beginning, in sessions for which the volume curve is used.
func TestDeveloping_WideningSessions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(longtest.Seed(), 9))
	n := longtest.Pick(300, 2_000)
	for kind := range 6 {
		for _, bins := range []int{1, 2, 24, 97, 500} {
			b := widening(r, kind, n)
			d, curved := develop(b, stretch{0, n}, bins), 0
			for end := 1; end <= n; end++ {
				got, has := d.next()
				p, want, ok := sessionProfile(b, 0, end, bins)
				if has != ok || got != want {
					t.Fatalf("kind %d, %d rows, bars to %d: %v %v, want %v %v", kind, bins, end, got, has, want, ok)
				}
				if ok && (!same(d.low, p.low) || !same(d.row, p.row)) {
					t.Fatalf("kind %d, %d rows, bars to %d: other rows", kind, bins, end)
				}
				if !d.filled {
					curved++
				}
			}
			if curved < n/4 && bins <= 24 && kind != 3 { // few bars of kind 3 widen the range
				t.Errorf("kind %d, %d rows: the curve was certain for %d of %d bars", kind, bins, curved, n)
			}
			t.Logf("kind %d, %d rows: certain for %d of %d bars", kind, bins, curved, n)
		}
	}
}

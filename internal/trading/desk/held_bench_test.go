package desk_test

import (
	"testing"

	"candela/internal/trading/desk"
)

// BenchmarkHeldPrice measures a price from the feed to the decision on 20 held orders of its
// symbol that it does not reach. It must not allocate.
func BenchmarkHeldPrice(b *testing.B) {
	see := desk.HeldPrices(20)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i++; see(50_000 + float64(i%100)) {
			b.Fatal("reached")
		}
	}
}

func TestHeldPrice_DoesNotAllocate(t *testing.T) {
	see, i := desk.HeldPrices(20), 0
	if n := testing.AllocsPerRun(1000, func() { i++; see(50_000 + float64(i%100)) }); n != 0 {
		t.Errorf("a price allocates %v times", n)
	}
}

package fake_test

import (
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/internal/testkit/fake"
	"candela/lib/market"
)

// TestAt_IsTheLastBar asks for each second of two minutes, twice: the price is that of the
// bar that runs, whatever was asked before.
func TestAt_IsTheLastBar(t *testing.T) {
	t.Parallel()
	var now time.Time
	p := fake.NewPrices(1, 0, func() time.Time { return now })
	seen := make(map[float64]bool)
	for second := range 240 {
		now = time.Unix(1_800_000_000+int64(second%120), 0)
		bars, _ := p.Bars("BTCUSDT", provider.BarQuery{Interval: market.Minute1, Limit: 2})
		price, volume := p.At("BTCUSDT", now)
		if price != bars.C[bars.Len()-1] || volume != bars.V[0] {
			t.Errorf("second %d: the price is %v with %v traded, and the bars are %v with %v", second, price, volume, bars.C, bars.V)
		}
		seen[price] = true
	}
	if len(seen) < 20 {
		t.Errorf("in two minutes there were %d prices", len(seen))
	}
	if price, _ := p.At("BTCUSDT", now); price == 0 {
		t.Error("there is no price")
	} else if other, _ := p.At("ETHUSDT", now); other == price {
		t.Error("two symbols have the same price")
	}
}

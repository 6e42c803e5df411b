package fake_test

import (
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/internal/testkit/fake"
	"candela/lib/market"
)

// TestFix holds that a fixed price is in the bars from its minute on, with what was traded.
func TestFix(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	p := fake.NewPrices(1, 0, func() time.Time { return now })
	p.Fix("BTCUSDT", 50000, 2)
	p.Fix("BTCUSDT", 49000, 3)
	now = now.Add(time.Minute)
	p.Fix("BTCUSDT", 51000, 4)
	bars, running := p.Bars("BTCUSDT", provider.BarQuery{Interval: market.Minute1, Limit: 3})
	first, last := bars.At(1), bars.At(2)
	if !running || first.O != 50000 || first.L != 49000 || first.C != 49000 || first.V != 5 {
		t.Errorf("the first minute is %+v", first)
	}
	if last.O != 49000 || last.H != 51000 || last.C != 51000 || last.V != 4 {
		t.Errorf("the second minute is %+v", last)
	}
	if price, volume := p.At("BTCUSDT", now); price != 51000 || volume != 4 {
		t.Errorf("the price is %v, and %v were traded", price, volume)
	}
	now = now.Add(time.Minute)
	if bars, running := p.Bars("BTCUSDT", provider.BarQuery{Interval: market.Minute1, Limit: 3}); !running || bars.Len() != 3 || bars.C[2] != 51000 || bars.V[2] != 0 {
		t.Errorf("a new minute is %+v, running %v", bars, running)
	}
	if before, _ := p.At("BTCUSDT", now.Add(-time.Hour)); before == 51000 {
		t.Error("it is fixed before, too")
	}
}

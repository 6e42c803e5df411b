package paper_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestObserve_MarksLateFills holds that what a bar fills is late if the bar comes after a newer one, or long after its
// end, and only then.
func TestObserve_MarksLateFills(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		minutes []int64       // of closed bars, as they come; the last one fills
		after   time.Duration // its end it comes
		late    bool
	}{
		"in time":                  {[]int64{1, 2}, time.Second, false},
		"half a minute after":      {[]int64{1, 2}, 31 * time.Second, true},
		"after a newer one":        {[]int64{1, 3, 2}, 29 * time.Second, true},
		"long after its end":       {[]int64{1, 2}, time.Hour, true},
		"a moment before it is so": {[]int64{1, 2}, 30 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := int64(1_800_000_000)
			now := time.Unix(start, 0)
			m := papertest.NewMarket(papertest.BTCUSDT())
			m.Set(btc(), order.Quote{Last: dec("50000"), At: now})
			b := paper.New(paper.Config{
				Journal: &papertest.Journal{}, Market: m, Rates: paper.Usual(), Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
				Cash: map[string]decimal.Decimal{"USDT": dec("100000")},
			})
			limit := spec(order.Buy, order.Limit, "1", "49000")
			if err := b.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Submit(t.Context(), limit); err != nil {
				t.Fatal(err)
			}
			for i, minute := range c.minutes {
				low := 50000.0
				now = time.Unix(start+60*(minute+1), 0).Add(time.Second)
				if i == len(c.minutes)-1 {
					low, now = 48000, time.Unix(start+60*(minute+1), 0).Add(c.after)
				}
				b.Observe(provider.Event{
					Sub: provider.Sub{Symbol: btc(), Interval: market.Minute1}, Kind: provider.Closed, At: time.Unix(start+60*(minute+1), 0),
					Bar: market.Bar{T: start + 60*minute, O: 50000, H: 50000, L: low, C: 50000, V: 9},
				}, provider.Clock{})
			}
			r, err := b.Query(t.Context(), limit.Handle())
			if err != nil || len(r.Fills) != 1 || r.Fills[0].Late != c.late {
				t.Errorf("the fills are %+v, %v; want late %t", r.Fills, err, c.late)
			}
		})
	}
}

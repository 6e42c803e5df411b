package paper_test

import (
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// BenchmarkObserve is the cost of one event, which comes for every price of every symbol:
// for a symbol in which no order waits, and for one whose orders it does not reach.
func BenchmarkObserve(b *testing.B) {
	for name, prepare := range map[string]func(*venue){
		"nobody waits": func(*venue) {},
		"a pair": func(v *venue) {
			v.submit(b, spec(order.Buy, order.Market, "1", ""))
			v.place(b, pair("1", "40000", "60000")...)
		},
		"a limit": func(v *venue) { v.submit(b, spec(order.Buy, order.Limit, "0.1", "40000")) },
	} {
		b.Run(name, func(b *testing.B) {
			v := open(b, &papertest.Journal{})
			prepare(v)
			e := provider.Event{Sub: provider.Sub{Symbol: btc(), Interval: market.Minute1}, Kind: provider.Forming, Bar: v.bar, Price: 50000, At: time.Now().Add(time.Hour)}
			b.ReportAllocs()
			for b.Loop() {
				e.Bar.V++
				v.Observe(e, provider.Clock{})
			}
		})
	}
}

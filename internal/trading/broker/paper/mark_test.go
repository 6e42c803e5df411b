package paper_test

import (
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/order"
)

// TestMarkTriggers_StopWaitsForTheMarkPrice holds that a stop in a symbol whose stops wait for the mark price is not
// triggered by bars while mark prices come, that the mark price triggers it, and that it trades at the last price.
func TestMarkTriggers_StopWaitsForTheMarkPrice(t *testing.T) {
	t.Parallel()
	for _, byMark := range []bool{true, false} {
		inst := perpetual()
		inst.MarkTriggers = byMark
		v := newPerpsOf(t, inst, "5", paper.Usual())
		v.sent(order.Buy, "0.1", nil)
		v.step(50000, 50000, 50000, 50000)
		v.sent(order.Sell, "0.1", func(r *order.Request) { r.ReduceOnly, r.Protect.StopLoss = true, dec("49000") })
		v.step(50000, 50000, 49900, 50000)
		v.now = v.now.Add(time.Minute)
		v.marked(50010)
		v.now = v.now.Add(-time.Minute)
		v.step(50000, 50000, 48900, 49500)
		if left := v.position().Quantity; left.IsZero() == byMark {
			t.Errorf("by mark %v: %v is left after a bar", byMark, left)
		}
		v.marked(48990)
		if left := v.position().Quantity; !left.IsZero() {
			t.Errorf("by mark %v: %v is left after the mark price", byMark, left)
		}
		fills, _, _ := v.Fills(t.Context(), inst.Symbol, "")
		if at := fills[len(fills)-1].Price; byMark && (at.GreaterThan(dec("49500")) || at.LessThan(dec("49400"))) {
			t.Errorf("it traded at %v", at)
		}
	}
}

// marked sends a mark price.
func (v *perps) marked(price float64) {
	v.Observe(provider.Event{Sub: provider.Sub{Symbol: perpetual().Symbol}, Kind: provider.Marked, Price: price, At: v.now}, provider.Clock{})
}

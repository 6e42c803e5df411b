package desk_test

import (
	"testing"
	"time"

	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
)

// TestPlan_AStopWithoutItsPositionEnds sells at the venue all that a stop is for. The line ends with the
// position, and the stop, which would open one, is cancelled.
func TestPlan_AStopWithoutItsPositionEnds(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.placed(order.Request{Symbol: brokertest.MemorySymbol(), Side: order.Buy, Type: order.Market, Quantity: dec("1"), Protect: order.Protection{StopLoss: dec("48000")}})
		time.Sleep(2 * time.Second)
		w.venue.Place(order.Spec{Symbol: brokertest.MemorySymbol(), Side: order.Sell, Type: order.Market, Quantity: dec("1")})
		time.Sleep(30 * time.Second)
		if lines := w.store.Book(owner).Lines(brokertest.MemorySymbol()); len(lines) > 0 {
			t.Errorf("the plan is %+v", lines)
		}
		for _, leg := range p.Legs {
			w.wants(w.order(leg.ID), order.Canceled)
		}
		for _, r := range w.venue.Orders() {
			if !r.Status.Final() {
				t.Errorf("the venue has %+v", r)
			}
		}
	})
}

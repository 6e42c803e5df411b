package desk_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// TestSerial_OneRequestAtATime places 50 orders at once and cancels them at a venue that takes one request at a time.
func TestSerial_OneRequestAtATime(t *testing.T) {
	t.Parallel()
	for _, serial := range []bool{true, false} {
		inWorld(t, func(w *world) {
			off := guard.Limit{Off: true}
			w.policy.MaxOrdersPerMinute, w.policy.MaxOpenOrders, w.policy.MaxSymbolOpenOrders = off, off, off
			w.venue.Can(func(c *order.Capabilities) { c.Serial = serial })
			w.stop()
			w.start()
			time.Sleep(2 * time.Second)
			w.wants(w.place(buy("0.01")), order.Filled) // the capabilities are known
			for range 5 {
				w.venue.Fail(brokertest.Fault{}, brokertest.Fault{Hang: true, Done: true})
			}
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					r := limit("0.001", "40000")
					r.Key = "k" + strconv.Itoa(i)
					if o, err := w.Place(w.t.Context(), caller(), r); err == nil && !o.Status.Final() {
						_, _ = w.Cancel(w.t.Context(), caller(), o.ID)
					}
				})
			}
			wg.Wait()
			time.Sleep(2 * time.Minute)
			if n := w.venue.MostAtOnce(); (n == 1) != serial {
				t.Errorf("serial %v: %d requests at a time", serial, n)
			}
			w.equal()
		})
	}
}

// TestNeedsEdge_EveryMarketOrder holds that market orders have their worst price at a venue that needs it, entries and
// exits, and none elsewhere.
func TestNeedsEdge_EveryMarketOrder(t *testing.T) {
	t.Parallel()
	for _, needs := range []bool{true, false} {
		inWorld(t, func(w *world) {
			w.venue.Can(func(c *order.Capabilities) { c.NeedsEdge = needs })
			w.stop()
			w.start()
			time.Sleep(2 * time.Second)
			w.wants(w.place(buy("0.1")), order.Filled)
			w.wants(w.place(order.Request{Symbol: brokertest.MemorySymbol(), Side: order.Sell, Type: order.Market, Quantity: dec("0.1"), ReduceOnly: true}), order.Filled)
			for _, r := range w.venue.Orders() {
				if r.Edge.IsPositive() != needs || needs && r.Edge.Cmp(dec("50000")) != int(r.Side.Sign()) {
					t.Errorf("needs %v: a %v has the edge %v", needs, r.Side, r.Edge)
				}
			}
		})
	}
}

// TestMarkTriggers_StopPassed holds that a stop which a line lacks has been passed by the mark price, where the
// venue's stops wait for that, and not by the last one.
func TestMarkTriggers_StopPassed(t *testing.T) {
	t.Parallel()
	for _, byMark := range []bool{true, false} {
		inWorld(t, func(w *world) {
			w.venue.Can(func(c *order.Capabilities) { c.MarkTriggers = byMark })
			w.stop()
			w.start()
			time.Sleep(2 * time.Second)
			r := limit("0.1", "50000")
			r.Protect.StopLoss = dec("49000")
			w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("50000"), Mark: dec("50010"), MarkedAt: time.Now()})
			p := w.placed(r)
			w.wants(p.Order, order.Filled)
			w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("48900"), Mark: dec("49900"), MarkedAt: time.Now().Add(time.Minute)})
			w.venue.Expire(w.legs(p)[0].ID, "as the test has it")
			time.Sleep(20 * time.Second)
			held := w.store.Book(owner).Position(brokertest.MemorySymbol()).Quantity
			if held.IsZero() == byMark {
				t.Errorf("by mark %v: %v is held", byMark, held)
			}
		})
	}
}

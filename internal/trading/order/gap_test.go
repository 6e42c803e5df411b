package order_test

import (
	"testing"
	"time"

	"candela/internal/trading/order"
)

// TestUnprotectedFor holds how long an order is said to have left a part of a position without a stop.
func TestUnprotectedFor(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC)
	later := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	for name, c := range map[string]struct {
		next func(at func(ms int, events ...order.Event), w *planWorld)
		want time.Duration
	}{
		"two lines, one after the other": {func(at func(int, ...order.Event), w *planWorld) {
			at(80, w.stands("third", "one", "91")...)
			at(100, w.stands("fourth", "two", "91")...)
		}, 100 * time.Millisecond},
		"one of them has none yet": {func(at func(int, ...order.Event), w *planWorld) {
			at(80, w.stands("third", "one", "91")...)
		}, time.Second},
		"the price has passed the stops, and all is sold": {func(at func(int, ...order.Event), w *planWorld) {
			for _, line := range []string{"one", "two"} {
				g := origin("sold "+line, order.Sell, "1")
				g.Role, g.ReduceOnly, g.Parent, g.Type = order.StopLoss, true, line, order.Market
				at(30, created(g), event(g.ID, order.KindSent), event(g.ID, order.KindAccepted))
				w.trades++
				at(40, filled(trade(g, w.trades, "1", "100")))
			}
		}, 40 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPlanWorld(t)
			for _, id := range []string{"one", "two"} {
				w.fills(w.entered(id, order.Buy, "1", "stop 90"), "1")
			}
			w.placed("first", "one", "1", "stop 90")
			w.placed("second", "two", "1", "stop 90")
			asks := origin("asks", order.Sell, "2")
			asks.ReduceOnly, asks.Role = true, order.Exit
			w.apply(created(asks))
			at := func(ms int, events ...order.Event) {
				for i := range events {
					events[i].At = later(ms)
				}
				w.apply(events...)
			}
			for i, id := range []string{"first", "second"} {
				asked := event(id, order.KindCancelRequested)
				asked.Reason = "asks"
				at(20*i, asked, event(id, order.KindCanceled))
			}
			c.next(at, w)
			o, _ := w.Order("asks")
			if got := w.UnprotectedFor(o, later(1000)); got != c.want {
				t.Errorf("it says %v, want %v", got, c.want)
			}
		})
	}
}

// stands returns the events of a stop that the venue accepts.
func (w *planWorld) stands(id, line, stop string) []order.Event {
	g := origin(id, order.Sell, "1")
	g.Role, g.ReduceOnly, g.Parent, g.Type, g.StopPrice = order.StopLoss, true, line, order.Market, dec(stop)
	return []order.Event{created(g), event(id, order.KindSent), event(id, order.KindAccepted)}
}

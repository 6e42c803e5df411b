package desk_test

import (
	"testing"
	"time"

	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// TestLinked_CountsForItsStop holds that what a stop became at the venue is no other order: its fills are those of
// the stop, whenever the venue says so.
func TestLinked_CountsForItsStop(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]brokertest.Links{"said first": brokertest.LinksFirst, "said last": brokertest.LinksLast, "said when asked": brokertest.LinksAsked} {
		for _, way := range []string{"reported", "while the stream is down", "while candela is down"} {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				inWorld(t, func(w *world) {
					w.venue.Link(when)
					r := buy("1")
					r.Protect.StopLoss = dec("49000")
					r.Type, r.Price = order.Limit, dec("50000")
					entry := w.placed(r)
					w.wants(entry.Order, order.Filled)
					time.Sleep(time.Minute)
					switch way {
					case "while the stream is down":
						w.venue.Drop()
					case "while candela is down":
						w.stop()
					}
					w.venue.SetPrice(dec("48900"))
					w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("48900")})
					if way == "while candela is down" {
						w.start()
					}
					time.Sleep(2 * time.Minute)
					book := w.store.Book(owner)
					if n := len(book.Orders()); n != 2 {
						t.Errorf("there are %d orders: %+v", n, book.Orders())
					}
					w.wants(w.legs(entry)[0], order.Filled)
					if trades := book.Trades(); len(trades) != 1 || trades[0].Reason != order.ByStop {
						t.Errorf("%+v", trades)
					}
					if w.restricted(guard.Mismatch) {
						t.Errorf("%+v", w.Status().State.Restrictions)
					}
					if !book.Position(brokertest.MemorySymbol()).Quantity.IsZero() {
						t.Errorf("%v is held", book.Position(brokertest.MemorySymbol()).Quantity)
					}
				})
			})
		}
	}
}

// TestLinked_AnotherOrderIsRecorded holds that an order of another client is recorded beside a stop that becomes
// another order, a moment later.
func TestLinked_AnotherOrderIsRecorded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.venue.Link(brokertest.LinksLast)
		r := buy("1")
		r.Protect.StopLoss = dec("49000")
		r.Type, r.Price = order.Limit, dec("50000")
		w.wants(w.place(r), order.Filled)
		w.venue.Place(order.Spec{ID: "theirs", Symbol: brokertest.MemorySymbol(), Side: order.Sell, Type: order.Limit, Quantity: dec("0.1"), Price: dec("60000")})
		w.venue.Place(order.Spec{ID: "gone", Symbol: brokertest.MemorySymbol(), Side: order.Sell, Type: order.Market, Quantity: dec("0.2")})
		time.Sleep(2 * time.Minute)
		external := 0
		for _, o := range w.store.Book(owner).Orders() {
			if o.External {
				external++
			}
		}
		if held := w.store.Book(owner).Position(brokertest.MemorySymbol()).Quantity; external != 2 || !held.Equal(dec("0.8")) {
			t.Errorf("%d external orders, %v is held", external, held)
		}
		if w.restricted(guard.Mismatch) {
			t.Errorf("%+v", w.Status().State.Restrictions)
		}
	})
}

package desk_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// pages reads all orders in pages of a size.
func (w *world) pages(most int) []order.Order {
	w.t.Helper()
	var all []order.Order
	for q := (order.Query{Most: most}); ; {
		p, err := w.OrderPage(w.t.Context(), caller(), q)
		if err != nil || len(p.Orders) > most {
			w.t.Fatalf("a page of %d has %d orders, %v", most, len(p.Orders), err)
		}
		all = append(all, p.Orders...)
		if p.Left == 0 {
			return all
		}
		q.After = p.Orders[len(p.Orders)-1].Mark()
	}
}

// TestOrderPage_ReachesEveryOrder lists orders of which most are no longer in memory, while newer
// ones are placed, and after a restart.
func TestOrderPage_ReachesEveryOrder(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.policy.MaxOrdersPerMinute, w.policy.MaxOrderQuantity = guard.Limit{Off: true}, guard.Limit{Value: dec("1")}
		w.remember = 5
		w.stop()
		w.start()
		time.Sleep(2 * time.Second)
		oldest := w.place(buy("0.001"))
		for i := range 40 {
			time.Sleep(5 * time.Second)
			if i%3 == 0 {
				w.place(buy("0.001"))
			} else if _, err := w.Place(w.t.Context(), caller(), buy("2")); fault.Of(err) == nil {
				w.t.Fatal("an order that is too large is taken")
			}
			if i%8 == 0 {
				time.Sleep(2 * time.Hour) // what has ended is evicted
			}
		}
		check := func() {
			w.t.Helper()
			want, _ := w.store.Book(owner).List(order.Mark{}, 1000)
			for _, most := range []int{1, 7, 500} {
				if diff := cmp.Diff(want, w.pages(most), cmpopts.EquateEmpty()); diff != "" || len(want) != 41 {
					w.t.Errorf("%d orders in pages of %d: %s", len(want), most, diff)
				}
			}
			p, err := w.OrderPage(w.t.Context(), caller(), order.Query{ID: oldest.ID})
			if err != nil || len(p.Orders) != 1 || p.Orders[0].ID != oldest.ID || len(p.Orders[0].Fills) != 1 {
				w.t.Errorf("the oldest is %+v, %v", p.Orders, err)
			}
		}
		check()
		w.stop()
		w.start()
		check()
		if _, err := w.OrderPage(w.t.Context(), caller(), order.Query{ID: "none"}); fault.KindOf(err) != fault.NotFound {
			w.t.Errorf("an unknown order: %v", err)
		}
		stranger := caller()
		stranger.Subject = "somebody else"
		if _, err := w.OrderPage(w.t.Context(), stranger, order.Query{Most: 1}); fault.KindOf(err) != fault.Unauthorized {
			w.t.Errorf("a stranger: %v", err)
		}
	})
}

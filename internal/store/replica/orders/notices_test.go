package orders_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
)

// TestNotices_OnceWhateverWriterEnds lets one writer take over after the other. Some publish nothing, and some go on after
// another has taken over. In the end the log has the notice of each order once, in the order of the orders.
func TestNotices_OnceWhateverWriterEnds(t *testing.T) {
	t.Parallel()
	writers, each := longtest.Pick(6, 45), longtest.Pick(10, 22)
	prefix := replicatest.NewPrefix()
	log := replicatest.OpenStore(t, replicatest.Servers(), prefix)
	book := order.NewBook("ann")
	var running sync.WaitGroup
	var stops []context.CancelFunc
	publish := func(o *orders.Store) {
		run, err := o.OpenNotices(t.Context(), log)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stops = append(stops, stop)
		running.Go(func() { run(ctx) })
	}
	for w := range writers {
		o := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
		if w%3 != 1 { // else it ends before it publishes anything
			publish(o)
		} else if _, err := o.OpenNotices(t.Context(), log); err != nil {
			t.Fatal(err)
		}
		for i := range each {
			events := replicatest.Placed("ann", fmt.Sprintf("o%d", w*each+i))
			g := events[0].Origin
			events = append(events, order.Event{Kind: order.KindFill, OrderID: g.ID, At: time.Now().UTC(), Fill: &order.Fill{
				TradeID: g.ID, OrderID: g.ID, Symbol: g.Symbol, Side: g.Side, Quantity: g.Quantity, Price: g.Price, At: time.Now().UTC(),
			}})
			notices := book.Notices(events)
			for n := range notices {
				notices[n].Owner = "owner"
			}
			if len(notices) != 1 {
				t.Fatalf("%d notices", len(notices))
			}
			kept, err := o.AppendEvents(t.Context(), replicatest.Ann(), events, notices...)
			if err != nil || len(kept) != 3 {
				t.Fatal(err)
			}
			for _, e := range kept {
				if err := book.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			// A known trade is not stored again, and neither is its notice.
			if kept, err := o.AppendEvents(t.Context(), replicatest.Ann(), events[2:], notice(notices[0])); err != nil || len(kept) != 0 {
				t.Fatal(kept, err)
			}
		}
		if len(stops) > 1 && w%2 == 0 { // the one before goes on for a while
			stops[len(stops)-2]()
		}
	}
	publish(replicatest.OpenOrders(t, replicatest.Servers(), prefix))
	var found []notify.Entry
	replicatest.Eventually(t, "all notices are in the log", func() bool {
		found = nil
		for e, err := range log.Entries(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, e)
		}
		return len(found) >= writers*each
	})
	for _, stop := range stops {
		stop()
	}
	running.Wait()
	if len(found) != writers*each {
		t.Fatalf("%d notices of %d orders", len(found), writers*each)
	}
	for i, e := range found {
		var r order.NoticeRecord
		if err := json.Unmarshal(e.Data, &r); err != nil || r.OrderID != fmt.Sprintf("o%d", i) || e.Kind != notify.Order || e.Type != order.NoticeFilled || e.Owner != "owner" {
			t.Fatalf("notice %d is %s (%v %s of %s): %v", i, e.Data, e.Kind, e.Type, e.Owner, err)
		}
	}
}

// notice returns a notice as that of the first event.
func notice(n order.Notice) order.Notice {
	n.Of = 0
	return n
}

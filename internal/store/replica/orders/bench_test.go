package orders_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/internal/trading/order"
)

// writeHistory writes ann's orders like a desk: each with a key, in three messages, and filled at
// once.
func writeHistory(b *testing.B, prefix string, orders int) {
	b.Helper()
	writer := replicatest.OpenOrders(b, replicatest.Servers(), prefix)
	writer.SetSize(1) // an event, a message
	begin := time.Now().Add(-time.Duration(orders) * 24 * time.Hour / 1000).UTC().Truncate(time.Microsecond)
	var some []order.Event
	for i := range orders {
		at := begin.Add(time.Duration(i) * 24 * time.Hour / 1000)
		events := replicatest.Placed("ann", fmt.Sprintf("0192a4f0-7c1e-7d3a-9b1c-%012d", i))
		g := events[0].Origin
		f := order.Fill{
			TradeID: strconv.Itoa(i), OrderID: g.ID, VenueID: "v" + strconv.Itoa(i), Symbol: g.Symbol, Side: g.Side,
			Quantity: g.Quantity, Price: g.Price, Fee: decimal.New(1, -3), FeeAsset: "USDT", At: at,
		}
		events = append(events, order.Event{Kind: order.KindFill, OrderID: g.ID, VenueID: f.VenueID, VenueAt: at, Fill: &f})
		for k := range events {
			events[k].At = at
		}
		if some = append(some, events...); len(some) < 990 && i < orders-1 {
			continue
		}
		if _, err := writer.AppendEvents(b.Context(), replicatest.Ann(), some); err != nil {
			b.Fatal(err)
		}
		some = nil
	}
	size, err := writer.Bytes(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d orders take %d bytes each at each server", orders, size/orders)
}

// BenchmarkTakeover takes over an account of many orders, from all events and from a snapshot, and
// reports the memory in use afterwards. CANDELA_BENCH_ORDERS sets the number of orders.
func BenchmarkTakeover(b *testing.B) {
	count := 5000
	if n, err := strconv.Atoi(os.Getenv("CANDELA_BENCH_ORDERS")); err == nil {
		count = n
	}
	prefix := replicatest.NewPrefix()
	writeHistory(b, prefix, count)
	take := func(b *testing.B) {
		b.Helper()
		c := replicatest.Connect(b, replicatest.Servers(), prefix)
		var o *orders.Store
		var book *order.Book
		before := heap()
		for b.Loop() {
			var err error
			if o, err = orders.Open(b.Context(), c, time.Now); err != nil {
				b.Fatal(err)
			}
			book, _ = begin(b, o)
			book.Evict(time.Now().Add(-30*24*time.Hour), 20_000, 1000)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/order")
		b.ReportMetric((heap()-before)/1e6, "MB")
		if o.SaveSnapshot(b.Context(), replicatest.Ann(), book) != nil {
			b.Fatal("no snapshot is stored")
		}
	}
	b.Run("events", take)
	b.Run("snapshot", take)
}

func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkAppendEvents writes one order like a desk.
func BenchmarkAppendEvents(b *testing.B) {
	o := replicatest.OpenOrders(b, replicatest.Servers(), replicatest.NewPrefix())
	for i := 0; b.Loop(); i++ {
		if err := place(b.Context(), o, "o"+strconv.Itoa(i)); err != nil {
			b.Fatal(err)
		}
	}
}

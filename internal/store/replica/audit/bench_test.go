package audit_test

import (
	"flag"
	"testing"
	"time"

	"candela/internal/kit/id"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/replica/audit"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/internal/trading/order"
)

var busyEvents = flag.Int("busy-events", 2000, "how many events a busy owner has in the benchmark")

// BenchmarkBusyOwner reads the log of an owner with many events, three in a message: the receipt of the first order and of the last, the
// newest events, a page of one kind of which there are few, and all of it.
func BenchmarkBusyOwner(b *testing.B) {
	c := replicatest.Connect(b, replicatest.Servers(), replicatest.NewPrefix())
	writer, err := orders.Open(b.Context(), c, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	writer.OnCheckpoint = func(chain.Signed) {}
	var ids []string
	for range *busyEvents / 3 {
		ids = append(ids, id.New(time.Now()))
		events := append(replicatest.Placed("ann", ids[len(ids)-1]), order.Event{Kind: order.KindRejected, OrderID: ids[len(ids)-1], At: time.Now().UTC()})
		if _, err := writer.AppendEvents(b.Context(), replicatest.Ann(), events); err != nil {
			b.Fatal(err)
		}
	}
	for _, one := range []struct {
		name string
		read func() error
	}{
		{"receipt of the first order", func() error { _, err := issuer(c).Issue(b.Context(), "ann", ids[0]); return err }},
		{"receipt of the last order", func() error { _, err := issuer(c).Issue(b.Context(), "ann", ids[len(ids)-1]); return err }},
		{"50 newest", func() error { _, err := audit.Recent(b.Context(), c, 50); return err }},
		{"a page of what there is not", func() error {
			_, err := audit.Log{Conn: c}.Page(b.Context(), ledger.Filter{Kinds: []string{"alert_set"}, Limit: 50})
			return err
		}},
		{"verify", func() error { _, err := audit.Verify(b.Context(), c, nil); return err }},
	} {
		b.Run(one.name, func(b *testing.B) {
			for b.Loop() {
				if err := one.read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

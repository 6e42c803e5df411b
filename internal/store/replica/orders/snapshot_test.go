package orders_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/ledger/storetest"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// forgetful is replicatest.BookOf without final orders.
func forgetful(tb testing.TB, o *orders.Store) *order.Book {
	tb.Helper()
	b := replicatest.BookOf(tb, o)
	b.Evict(time.Now().Add(time.Hour), 0, 0)
	return b
}

// blobStore counts the messages of the stream of blobs.
func blobStore(t *testing.T, to *natstest.Cluster, prefix string) uint64 {
	t.Helper()
	return replicatest.StreamOf(t, to, prefix+"_BOOKS").CachedInfo().State.Msgs
}

// begin returns the initial book of a desk and the number of events after the snapshot.
func begin(tb testing.TB, o *orders.Store) (*order.Book, int) {
	tb.Helper()
	data, since, err := o.Snapshot(tb.Context(), "ann")
	if err != nil {
		tb.Fatal(err)
	}
	b := order.NewBook("ann")
	if data != nil {
		if b, err = order.ReadSnapshot("ann", data); err != nil {
			tb.Fatal(err)
		}
	}
	n := 0
	for e, err := range since {
		if err = errors.Join(err, b.Apply(e)); err != nil {
			tb.Fatal(err)
		}
		n++
	}
	return b, n
}

func TestSnapshot_PassesTheSuite(t *testing.T) {
	t.Parallel()
	dirs := replicatest.NewDirs()
	storetest.RunSnapshots(t, func(t *testing.T, dir string) storetest.SnapshotStore {
		t.Helper()
		return replicatest.OpenOrders(t, replicatest.Lone(), dirs.Prefix(dir))
	})
}

// TestSnapshot_RefusesAFencedWriter lets a fenced writer save a snapshot: it is refused, and the
// current one stays, whatever blobs the fenced writer has written.
func TestSnapshot_RefusesAFencedWriter(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	former := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	replicatest.CloseOrders(t, former, 0, 20)
	if err := former.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, former)); err != nil {
		t.Fatal(err)
	}
	stale := forgetful(t, former)
	counted := blobStore(t, replicatest.Servers(), prefix)

	other := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	replicatest.CloseOrders(t, other, 20, 25)
	wantFenced(t, former.SaveSnapshot(t.Context(), replicatest.Ann(), stale))
	wantFenced(t, former.SaveSnapshot(t.Context(), replicatest.Ann(), stale))
	wantFenced(t, former.SaveJournalSnapshot(t.Context(), "ann", "paper", []byte("stale")))
	if n := blobStore(t, replicatest.Servers(), prefix); n <= counted {
		t.Fatalf("%d messages: the fenced writer wrote no blobs", n)
	}

	third := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	if n := blobStore(t, replicatest.Servers(), prefix); n != counted {
		t.Errorf("%d messages are left, want %d", n, counted)
	}
	b, n := begin(t, third)
	if n != 15 || len(b.Orders()) != 5 {
		t.Errorf("starts with %d events and %d orders", n, len(b.Orders()))
	}
	if diff := cmp.Diff(25, len(replicatest.BookOf(t, third).Orders())); diff != "" {
		t.Error(diff)
	}
	if _, err := third.OrderByKey(t.Context(), "ann", "key of o3"); err != nil {
		t.Error(err)
	}
	data, _, err := third.JournalSnapshot(t.Context(), "ann", "paper")
	if err != nil || data != nil {
		t.Errorf("the journal snapshot is %q, %v", data, err)
	}
}

// TestSnapshot_SurvivesACrashHalfway ends a writer after it wrote the blobs of a snapshot and before
// it committed it, and right after that.
func TestSnapshot_SurvivesACrashHalfway(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	o := replicatest.OpenOrders(t, replicatest.Lone(), prefix)
	replicatest.CloseOrders(t, o, 0, 9)
	if err := o.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, o)); err != nil {
		t.Fatal(err)
	}
	o = replicatest.OpenOrders(t, replicatest.Lone(), prefix) // at once
	if b, n := begin(t, o); n != 0 || len(b.Orders()) != 0 {
		t.Errorf("starts with %d events and %d orders", n, len(b.Orders()))
	}
	replicatest.CloseOrders(t, o, 9, 12)
	for range 3 {
		if err := o.PutBlob(t.Context(), []byte(strings.Repeat("x", 600<<10))); err != nil {
			t.Fatal(err)
		}
	}
	counted := blobStore(t, replicatest.Lone(), prefix)
	o = replicatest.OpenOrders(t, replicatest.Lone(), prefix)
	if b, n := begin(t, o); n != 9 || len(b.Orders()) != 3 {
		t.Errorf("starts with %d events and %d orders", n, len(b.Orders()))
	}
	if n := blobStore(t, replicatest.Lone(), prefix); n != counted-9 {
		t.Errorf("%d messages are left of %d", n, counted)
	}
	for i := range 12 {
		if _, err := o.Order(t.Context(), "ann", "o"+strconv.Itoa(i)); err != nil {
			t.Error(err)
		}
	}
}

// TestSnapshot_DamagedIsIgnored removes or changes parts of a snapshot: all events are replayed, and
// nothing is missing.
func TestSnapshot_DamagedIsIgnored(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, s jetstream.Stream, subject string){
		"all parts are gone": func(t *testing.T, s jetstream.Stream, _ string) {
			t.Helper()
			if err := s.Purge(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"one is gone": func(t *testing.T, s jetstream.Stream, subject string) {
			t.Helper()
			if err := s.Purge(t.Context(), jetstream.WithPurgeSubject(subject)); err != nil {
				t.Error(err)
			}
		},
		"one is another": func(t *testing.T, _ jetstream.Stream, subject string) {
			t.Helper()
			if _, err := replicatest.Admin(t, replicatest.Lone()).Publish(t.Context(), subject, []byte("x")); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := replicatest.NewPrefix()
			o := replicatest.OpenOrders(t, replicatest.Lone(), prefix)
			replicatest.CloseOrders(t, o, 0, 9)
			if err := o.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, o)); err != nil {
				t.Fatal(err)
			}
			replicatest.CloseOrders(t, o, 9, 11)
			s := replicatest.StreamOf(t, replicatest.Lone(), prefix+"_BOOKS")
			info, err := s.Info(t.Context(), jetstream.WithSubjectFilter(">"))
			if err != nil {
				t.Fatal(err)
			}
			for subject := range info.State.Subjects {
				harm(t, s, subject)
				break
			}
			again := replicatest.OpenOrders(t, replicatest.Lone(), prefix)
			want, err := replicatest.BookOf(t, again).Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			b, n := begin(t, again)
			got, err := b.Snapshot()
			if err != nil || string(got) != string(want) || n != 33 {
				t.Errorf("starts with %d events and another book, %v", n, err)
			}
			// The next snapshot is used again.
			if err := again.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, again)); err != nil {
				t.Fatal(err)
			}
			if _, n := begin(t, replicatest.OpenOrders(t, replicatest.Lone(), prefix)); n != 0 {
				t.Errorf("then starts with %d events", n)
			}
		})
	}
}

// TestSnapshot_RefusesAnotherBook saves a book that does not match the events.
func TestSnapshot_RefusesAnotherBook(t *testing.T) {
	t.Parallel()
	o := replicatest.OpenOrders(t, replicatest.Lone(), replicatest.NewPrefix())
	if err := place(t.Context(), o, "o1"); err != nil {
		t.Fatal(err)
	}
	behind := replicatest.BookOf(t, o)
	if _, err := o.AppendEvents(t.Context(), replicatest.Ann(), []order.Event{{Kind: order.KindAccepted, OrderID: "o1", At: time.Now().UTC().Add(time.Second)}}); err != nil {
		t.Fatal(err)
	}
	if err := place(t.Context(), o, "o2"); err != nil {
		t.Fatal(err)
	}
	ahead := replicatest.BookOf(t, o)
	for _, e := range replicatest.Placed("ann", "o3") {
		if err := ahead.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range map[string]*order.Book{"behind": behind, "ahead": ahead, "empty": order.NewBook("ann")} {
		if err := o.SaveSnapshot(t.Context(), replicatest.Ann(), b); err == nil {
			t.Errorf("a book that is %s is saved", name)
		}
	}
	if err := o.SaveSnapshot(t.Context(), replicatest.Ann(), replicatest.BookOf(t, o)); err != nil {
		t.Error(err)
	}
}

// TestSnapshot_ManySegments archives more orders than one segment holds, and finds each.
func TestSnapshot_ManySegments(t *testing.T) {
	t.Parallel()
	size := longtest.Pick(1<<10, orders.SegmentSize)
	count := 2*size + size/4
	found, missed, segments := orders.FindArchived(count, 7, size)
	if found != count || missed != 0 || segments != 3 {
		t.Errorf("%d of %d are found, %d that were never there, in %d segments", found, count, missed, segments)
	}
}

// TestSnapshot_BoundsMemory saves snapshots repeatedly: the orders in memory stay few, and archived
// ones are found.
func TestSnapshot_BoundsMemory(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	o := replicatest.OpenOrders(t, replicatest.Lone(), prefix)
	for i := range 5 {
		replicatest.CloseOrders(t, o, 10*i, 10*i+10)
		if err := o.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, o)); err != nil {
			t.Fatal(err)
		}
		if n := o.InMemory("ann"); n != 0 {
			t.Errorf("%d orders are in memory", n)
		}
		if n := blobStore(t, replicatest.Lone(), prefix); n != 3 {
			t.Errorf("%d messages", n)
		}
	}
	want := replicatest.BookOf(t, o)
	for _, from := range []*orders.Store{o, replicatest.OpenOrders(t, replicatest.Lone(), prefix)} {
		for i := range 50 {
			id := fmt.Sprintf("o%d", i)
			have, err := from.OrderByKey(t.Context(), "ann", "key of "+id)
			if err != nil {
				t.Fatal(err)
			}
			should, _ := want.Order(id)
			if diff := cmp.Diff(should, have, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		}
	}
	again := replicatest.OpenOrders(t, replicatest.Lone(), prefix)
	if err := place(t.Context(), again, "o7"); fault.Of(err) == nil || fault.Of(err).Code != "order_exists" && fault.Of(err).Code != "idempotency_key_used" {
		t.Errorf("placed again: %v", err)
	}
}

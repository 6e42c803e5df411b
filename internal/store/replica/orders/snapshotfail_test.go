package orders_test

import (
	"strconv"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/replicatest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// TestSnapshot_InconsistentIsIgnored takes over accounts of which one has a snapshot that does not
// match the later events: all events are replayed.
func TestSnapshot_InconsistentIsIgnored(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]int{"one of few accounts": 2, "one of many": 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := replicatest.NewPrefix()
			o := replicatest.OpenOrders(t, replicatest.Lone(), prefix)
			for i := range others {
				owner := principal.Owner("other" + strconv.Itoa(i))
				if _, err := o.AppendEvents(t.Context(), principal.Caller{Subject: owner}, replicatest.Placed(owner, "of "+string(owner))); err != nil {
					t.Fatal(err)
				}
			}
			replicatest.CloseOrders(t, o, 0, 3)
			if err := place(t.Context(), o, "open"); err != nil {
				t.Fatal(err)
			}
			if err := o.CommitSnapshot(t.Context(), replicatest.Ann(), order.NewBook("ann")); err != nil {
				t.Fatal(err)
			}
			if _, err := o.AppendEvents(t.Context(), replicatest.Ann(), []order.Event{{Kind: order.KindAccepted, OrderID: "open", At: time.Now().UTC()}}); err != nil {
				t.Fatal(err)
			}
			again := replicatest.OpenOrders(t, replicatest.Lone(), prefix)
			if b, _ := begin(t, again); len(b.Orders()) != 4 {
				t.Errorf("starts with %d orders", len(b.Orders()))
			}
			for i := range others {
				owner := principal.Owner("other" + strconv.Itoa(i))
				if _, err := again.Order(t.Context(), owner, "of "+string(owner)); err != nil {
					t.Error(err)
				}
			}
			if err := again.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, again)); err != nil {
				t.Fatal(err)
			}
			if b, n := begin(t, replicatest.OpenOrders(t, replicatest.Lone(), prefix)); n != 0 || len(b.Orders()) != 1 {
				t.Errorf("then starts with %d events and %d orders", n, len(b.Orders()))
			}
		})
	}
}

// TestSnapshot_UnreadableReferenceIsIgnored damages the reference to a snapshot: all events are
// replayed, and no blob is deleted, since it may be in use.
func TestSnapshot_UnreadableReferenceIsIgnored(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no object": `x`, "of another form": `{"items":[["x"]]}`, "without a value": `{"items":[]}`,
		"with pages that cannot be": `{"items":[{"value":{"name":"x","pages":-1}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := replicatest.NewPrefix()
			o := replicatest.OpenOrders(t, replicatest.Lone(), prefix)
			replicatest.CloseOrders(t, o, 0, 3)
			if err := o.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, o)); err != nil {
				t.Fatal(err)
			}
			counted := blobStore(t, replicatest.Lone(), prefix)
			if err := replicatest.WriteSealed(t.Context(), o.Conn, "ORDERS", o.SnapshotSubject("ann"), []byte(text)); err != nil {
				t.Fatal(err)
			}
			again := replicatest.OpenOrders(t, replicatest.Lone(), prefix)
			if b, n := begin(t, again); n != 9 || len(b.Orders()) != 3 {
				t.Errorf("starts with %d events and %d orders", n, len(b.Orders()))
			}
			if n := blobStore(t, replicatest.Lone(), prefix); n != counted && name != "with pages that cannot be" {
				t.Errorf("%d messages are left of %d", n, counted)
			}
			if err := again.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, again)); err != nil {
				t.Fatal(err)
			}
			if _, n := begin(t, replicatest.OpenOrders(t, replicatest.Lone(), prefix)); n != 0 {
				t.Errorf("then starts with %d events", n)
			}
		})
	}
}

// TestSnapshot_WithoutItsStream deletes the stream of blobs under a writer: it continues without a
// long delay and creates the stream again.
func TestSnapshot_WithoutItsStream(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	o := replicatest.OpenOrders(t, replicatest.Lone(), prefix)
	replicatest.CloseOrders(t, o, 0, 3)
	if err := o.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, o)); err != nil {
		t.Fatal(err)
	}
	if err := o.AppendJournal(t.Context(), "ann", "paper", [][]byte{[]byte(`{}`), []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if err := o.SaveJournalSnapshot(t.Context(), "ann", "paper", []byte("two")); err != nil {
		t.Fatal(err)
	}
	if err := replicatest.Admin(t, replicatest.Lone()).DeleteStream(t.Context(), prefix+"_BOOKS"); err != nil {
		t.Fatal(err)
	}
	replicatest.CloseOrders(t, o, 3, 6)
	o.SnapshotTimeout = 2 * time.Second // the default
	began := time.Now()
	if err := o.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, o)); err == nil {
		t.Error("a snapshot was saved in a missing stream")
	}
	if took := time.Since(began); took >= replicatest.Patience { // other writes are retried for that long
		t.Errorf("it delayed the writer for %v", took)
	}
	o.SnapshotTimeout = replicatest.Patience
	data, since, err := o.JournalSnapshot(t.Context(), "ann", "paper")
	if err != nil || data != nil {
		t.Fatalf("the journal has %q, %v", data, err)
	}
	entries := 0
	for _, err := range since {
		if entries++; err != nil {
			t.Fatal(err)
		}
	}
	if entries != 2 {
		t.Errorf("%d entries are read", entries)
	}
	if err := o.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, o)); err != nil {
		t.Fatal(err)
	}
	again := replicatest.OpenOrders(t, replicatest.Lone(), prefix)
	if _, n := begin(t, again); n != 0 {
		t.Errorf("then starts with %d events", n)
	}
	for i := range 6 {
		if _, err := again.Order(t.Context(), "ann", "o"+strconv.Itoa(i)); err != nil {
			t.Error(err)
		}
	}
}

// TestDeleteOrphans_SparesTheSuccessorsBlobs lets a fenced writer delete orphans: what it finds is
// its successor's.
func TestDeleteOrphans_SparesTheSuccessorsBlobs(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	former := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	replicatest.CloseOrders(t, former, 0, 3)
	if err := former.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, former)); err != nil {
		t.Fatal(err)
	}
	other := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	replicatest.CloseOrders(t, other, 3, 5)
	if err := other.SaveSnapshot(t.Context(), replicatest.Ann(), forgetful(t, other)); err != nil {
		t.Fatal(err)
	}
	counted := blobStore(t, replicatest.Servers(), prefix)
	former.DeleteOrphans(t.Context())
	if n := blobStore(t, replicatest.Servers(), prefix); n != counted {
		t.Errorf("%d messages are left of %d", n, counted)
	}
	if _, n := begin(t, replicatest.OpenOrders(t, replicatest.Servers(), prefix)); n != 0 {
		t.Errorf("starts with %d events", n)
	}
}

func TestSaveState_RefusesSnapshotNames(t *testing.T) {
	t.Parallel()
	o := replicatest.OpenOrders(t, replicatest.Lone(), replicatest.NewPrefix())
	for _, name := range []string{"snapshot", "snapshot paper"} {
		if err := o.SaveState(t.Context(), replicatest.Ann(), name, []byte(`{}`)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := o.SaveState(t.Context(), replicatest.Ann(), "snapshots", []byte(`{}`)); err != nil {
		t.Error(err)
	}
}

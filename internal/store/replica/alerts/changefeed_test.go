package alerts_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

// openFeed opens a store and its change feed on a connection of their own.
func openFeed(tb testing.TB, to *natstest.Cluster, prefix string) (*replica, *alerts.Store) {
	tb.Helper()
	r := &replica{conn: replicatest.Connect(tb, to, prefix)}
	store, err := alerts.Open(tb.Context(), r.conn, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	if r.feed, err = store.OpenChangeFeed(tb.Context(), alerts.ChangeFeedConfig{Restore: r.restore, Publish: r.publish, Log: replicatest.Quiet()}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.feed.Close)
	return r, store
}

// seqs returns the published sequence numbers in order.
func (r *replica) seqs() []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]uint64, len(r.published))
	for i, e := range r.published {
		all[i] = e.Seq
	}
	return all
}

func TestCoordinator_ListsAlertsAcknowledgedElsewhere(t *testing.T) {
	t.Parallel()
	prefix, ann := replicatest.NewPrefix(), principal.Caller{Subject: "ann"}
	other := replicatest.OpenStore(t, replicatest.Servers(), prefix)
	before := replicatest.PriceAlert(99)
	if err := other.PutAlert(t.Context(), ann, before); err != nil {
		t.Fatal(err)
	}
	_, c, _ := startFakeEngine(t, replicatest.Servers(), prefix)
	replicatest.Eventually(t, "the engine has its alerts", c.Balanced)
	for i := range 30 {
		a := replicatest.PriceAlert(i)
		if err := other.PutAlert(t.Context(), ann, a); err != nil {
			t.Fatal(err)
		}
		list, err := c.Alerts(t.Context(), ann)
		if err != nil || len(list) != 2 || !slices.ContainsFunc(list, func(l alert.Alert) bool { return l.ID == a.ID }) {
			t.Fatalf("after %d: %v, %v", i, list, err)
		}
		if err := other.CancelAlert(t.Context(), ann, a.ID); err != nil {
			t.Fatal(err)
		}
		if list, err := c.Alerts(t.Context(), ann); err != nil || len(list) != 1 || list[0].ID != before.ID {
			t.Fatalf("after the cancel of %d: %v, %v", i, list, err)
		}
	}
}

func TestChangeFeed_PublishesAlertsFiredElsewhere(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	r, _ := openFeed(t, replicatest.Servers(), prefix)
	other := replicatest.OpenStore(t, replicatest.Servers(), prefix)
	entry := replicatest.Fire(t, other, 1)
	if err := r.feed.CatchUp(t.Context()); err != nil || !slices.Equal(r.seqs(), []uint64{entry.Seq}) {
		t.Errorf("published %v, %v", r.seqs(), err)
	}
}

func TestCatchUp_SharesOneBarrier(t *testing.T) {
	t.Parallel()
	r, store := openFeed(t, replicatest.Servers(), replicatest.NewPrefix())
	before, err := store.LastEntry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() {
			if err := r.feed.CatchUp(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if after, err := store.LastEntry(t.Context()); err != nil || after-before > 100 {
		t.Errorf("%d barriers for 500 callers, %v", after-before, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.feed.CatchUp(ended); err == nil {
		t.Error("a cancelled caller got no error")
	}
	late, stop := context.WithDeadline(t.Context(), time.Now())
	defer stop()
	if err := r.feed.CatchUp(late); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a caller whose time is over: %v", err)
	}
}

// TestChangeFeed_PublishesEachOnceWhenServersStop stops the server a feed reads from, the leader of
// the stream, and then all servers, while alerts fire.
func TestChangeFeed_PublishesEachOnceWhenServersStop(t *testing.T) {
	t.Parallel()
	three, prefix := replicatest.Start(t, 3), replicatest.NewPrefix()
	r, _ := openFeed(t, three, prefix)
	other := replicatest.OpenStore(t, three, prefix)
	var want []uint64
	fires := func(n int) {
		for range n {
			want = append(want, replicatest.Fire(t, other, len(want)).Seq)
		}
	}
	fires(5)
	for _, server := range []func() int{
		func() (n int) {
			replicatest.Eventually(t, "the feed is connected", func() bool {
				_, err := fmt.Sscanf(r.conn.Stats().Server, "n%d", &n)
				return err == nil
			})
			return n
		},
		func() int { return replicatest.LeaderOf(t, three, prefix+"_ALERTS") },
	} {
		n := server()
		three.Kill(n)
		fires(5)
		replicatest.Restart(t, three, n)
		replicatest.CaughtUp(t, three, prefix+"_ALERTS")
		fires(5)
	}
	for i := range 3 {
		three.Kill(i)
	}
	replicatest.Restart(t, three, 0, 1, 2)
	fires(5)
	replicatest.Eventually(t, "all are published", func() bool { return len(r.seqs()) >= len(want) })
	if err := r.feed.CatchUp(t.Context()); err != nil || !slices.Equal(r.seqs(), want) {
		t.Errorf("published %v of %v, %v", r.seqs(), want, err)
	}
	later, _ := openFeed(t, three, prefix)
	if !slices.Equal(later.seqs(), want) || later.last < want[len(want)-1] {
		t.Errorf("a later feed restored %v up to %d", later.seqs(), later.last)
	}
}

func TestWatermark_CoversTheAlertsItsWriterKnew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id           int
		knownThrough uint64
		holds        bool
	}{
		"a known alert":                            {29_000, 29_000, true},
		"a later alert":                            {29_001, 29_000, false},
		"an old alert":                             {1, 29_000, true},
		"an old alert, an old watermark":           {1, 2, false}, // their order is unknown
		"a later alert, an old watermark":          {29_000, 2, false},
		"a watermark for all alerts":               {30_000, 0, true},
		"a watermark for all alerts, an old alert": {1, 0, true},
	} {
		holds, kept := alerts.Covers(30_000, strconv.Itoa(c.id), c.knownThrough)
		if holds != c.holds || kept > 20_000 {
			t.Errorf("%s: covered %v, %d remembered", name, holds, kept)
		}
	}
}

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
)

// openTail opens a tail on a connection of its own, with its store.
func openTail(tb testing.TB, to *natstest.Cluster, prefix string) (*replica, *alerts.Store) {
	tb.Helper()
	r := &replica{conn: replicatest.Connect(tb, to, prefix)}
	store, err := alerts.Open(tb.Context(), r.conn, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	if r.tail, err = store.OpenChangeFeed(tb.Context(), alerts.ChangeFeedConfig{Restore: r.restore, Publish: r.publish, Log: replicatest.Quiet()}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.tail.Close)
	return r, store
}

// seqs returns the numbers that were told, in order.
func (r *replica) seqs() []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]uint64, len(r.told))
	for i, e := range r.told {
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
	r, _ := openTail(t, replicatest.Servers(), prefix)
	other := replicatest.OpenStore(t, replicatest.Servers(), prefix)
	entry := replicatest.Fire(t, other, 1)
	if err := r.tail.CatchUp(t.Context()); err != nil || !slices.Equal(r.seqs(), []uint64{entry.Seq}) {
		t.Errorf("published %v, %v", r.seqs(), err)
	}
}

func TestCatchUp_SharesOneBarrier(t *testing.T) {
	t.Parallel()
	r, store := openTail(t, replicatest.Servers(), replicatest.NewPrefix())
	before, err := store.LastEntry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() {
			if err := r.tail.CatchUp(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if after, err := store.LastEntry(t.Context()); err != nil || after-before > 100 {
		t.Errorf("%d marks for 500 who asked, %v", after-before, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.tail.CatchUp(ended); err == nil {
		t.Error("one who does not wait was told that all is there")
	}
}

// TestChangeFeed_PublishesEachOnceWhenServersStop stops the server that a tail reads from, the one
// that leads the stream, and then all of them, while alerts fire.
func TestChangeFeed_PublishesEachOnceWhenServersStop(t *testing.T) {
	t.Parallel()
	three, prefix := replicatest.Start(t, 3), replicatest.NewPrefix()
	r, _ := openTail(t, three, prefix)
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
			replicatest.Eventually(t, "the tail is connected", func() bool {
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
	replicatest.Eventually(t, "all are told", func() bool { return len(r.seqs()) >= len(want) })
	if err := r.tail.CatchUp(t.Context()); err != nil || !slices.Equal(r.seqs(), want) {
		t.Errorf("told %v of %v, %v", r.seqs(), want, err)
	}
	later, _ := openTail(t, three, prefix)
	if !slices.Equal(later.seqs(), want) || later.last < want[len(want)-1] {
		t.Errorf("one that comes later was told %v up to %d", later.seqs(), later.last)
	}
}

func TestWatermark_CoversTheAlertsItsWriterKnew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id    int
		told  uint64
		holds bool
	}{
		"one that it knew":                         {29_000, 29_000, true},
		"one that came later":                      {29_001, 29_000, false},
		"one of long ago":                          {1, 29_000, true},
		"one of long ago for an old mark":          {1, 2, false}, // nobody remembers which was first
		"one that came later for an old mark":      {29_000, 2, false},
		"a mark that holds for all there are":      {30_000, 0, true},
		"a mark that holds for all there were ago": {1, 0, true},
	} {
		holds, kept := alerts.Covers(30_000, strconv.Itoa(c.id), c.told)
		if holds != c.holds || kept > 20_000 {
			t.Errorf("%s: it holds: %v, and %d are remembered", name, holds, kept)
		}
	}
}

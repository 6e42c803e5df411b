package alerts_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger/storetest"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
)

func TestStore_PassesTheAlertSuite(t *testing.T) {
	t.Parallel()
	dirs := replicatest.NewDirs()
	storetest.RunAlerts(t, func(t *testing.T, dir string) storetest.AlertStore {
		t.Helper()
		return replicatest.SuiteStore{Store: replicatest.OpenStore(t, replicatest.Servers(), dirs.Prefix(dir))}
	})
}

func TestStore_PassesTheAlertSuiteOnOneServer(t *testing.T) {
	t.Parallel()
	dirs := replicatest.NewDirs()
	storetest.RunAlerts(t, func(t *testing.T, dir string) storetest.AlertStore {
		t.Helper()
		return replicatest.SuiteStore{Store: replicatest.OpenStore(t, replicatest.Lone(), dirs.Prefix(dir))}
	})
}

func TestStore_PassesTheAlertSuiteWithManyOwners(t *testing.T) {
	t.Parallel()
	dirs := replicatest.NewDirs()
	storetest.RunAlerts(t, func(t *testing.T, dir string) storetest.AlertStore {
		t.Helper()
		s, err := alerts.Open(t.Context(), replicatest.ConnectMany(t, replicatest.Lone(), dirs.Prefix(dir)), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return replicatest.SuiteStore{Store: s}
	})
}

func TestStore_KeepsRecordsOfOwners(t *testing.T) {
	t.Parallel()
	dirs := replicatest.NewDirs()
	storetest.RunKept(t, func(t *testing.T, dir string) storetest.KeptStore {
		t.Helper()
		return replicatest.SuiteStore{Store: replicatest.OpenStore(t, replicatest.Lone(), dirs.Prefix(dir))}
	})
}

// TestStore_LosesNothingWhenTheLeaderStops fires alerts from two replicas while the stream's leader
// restarts.
func TestStore_LosesNothingWhenTheLeaderStops(t *testing.T) {
	t.Parallel()
	count := longtest.Pick(60, 200)
	three, prefix := replicatest.Start(t, 3), replicatest.NewPrefix()
	replicas := []*alerts.Store{replicatest.OpenStore(t, three, prefix), replicatest.OpenStore(t, three, prefix)}
	firings := make([]alert.Firing, count)
	for i := range firings {
		firings[i] = alert.Firing{Alert: replicatest.PriceAlert(i), Value: 1, At: time.Now()}
		if err := replicas[0].PutAlert(t.Context(), principal.Caller{Subject: "ann"}, firings[i].Alert); err != nil {
			t.Fatal(err)
		}
	}
	floor, half := replicatest.Measure(t, three), make(chan struct{})
	var mu sync.Mutex
	published := make(map[uint64]int)
	stall := time.Duration(0)
	var wg sync.WaitGroup
	for _, s := range replicas {
		wg.Go(func() {
			for i := range firings {
				began := time.Now()
				entries, err := s.FireAlerts(context.WithoutCancel(t.Context()), firings[i:i+1])
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				stall = max(stall, time.Since(began))
				for _, e := range entries {
					published[e.Seq]++
				}
				if len(published) == count/2 && len(entries) > 0 {
					close(half)
				}
				mu.Unlock()
			}
		})
	}
	<-half
	elected := replicatest.ReplaceLeader(t, three, prefix+"_ALERTS")
	wg.Wait()
	checkPublished(t, replicatest.OpenStore(t, three, prefix), published, count)
	replicatest.CheckLongestWrite(t, stall, max(elected(), floor()))
}

// checkPublished demands that each stored notification was published once.
func checkPublished(t *testing.T, s *alerts.Store, published map[uint64]int, alerts int) {
	t.Helper()
	var kept []notify.Entry
	for e, err := range s.Entries(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, e)
		if published[e.Seq] != 1 {
			t.Errorf("notification %d was published %d times", e.Seq, published[e.Seq])
		}
	}
	if len(kept) != alerts || len(published) != alerts {
		t.Errorf("%d notifications stored and %d published, of %d alerts", len(kept), len(published), alerts)
	}
}

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
		return replicatest.OpenStore(t, replicatest.Servers(), dirs.Prefix(dir))
	})
}

func TestStore_PassesTheStateSuite(t *testing.T) {
	t.Parallel()
	dirs := replicatest.NewDirs()
	storetest.RunStates(t, func(t *testing.T, dir string) storetest.StateStore {
		t.Helper()
		return replicatest.OpenStore(t, replicatest.Servers(), dirs.Prefix(dir))
	})
}

func TestStore_PassesTheAlertSuiteOnOneServer(t *testing.T) {
	t.Parallel()
	dirs := replicatest.NewDirs()
	storetest.RunAlerts(t, func(t *testing.T, dir string) storetest.AlertStore {
		t.Helper()
		return replicatest.OpenStore(t, replicatest.Lone(), dirs.Prefix(dir))
	})
}

// TestStore_LosesNothingWhenTheLeaderStops fires alerts from two replicas while the
// server that leads their stream goes and comes back.
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
	told := make(map[uint64]int)
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
					told[e.Seq]++
				}
				if len(told) == count/2 && len(entries) > 0 {
					close(half)
				}
				mu.Unlock()
			}
		})
	}
	<-half
	elected := replicatest.ReplaceLeader(t, three, prefix+"_ALERTS")
	wg.Wait()
	checkTold(t, replicatest.OpenStore(t, three, prefix), told, count)
	replicatest.CheckLongestWrite(t, stall, max(elected(), floor()))
}

// checkTold demands that each notification of the log was announced once.
func checkTold(t *testing.T, s *alerts.Store, told map[uint64]int, alerts int) {
	t.Helper()
	var kept []notify.Entry
	for e, err := range s.Entries(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, e)
		if told[e.Seq] != 1 {
			t.Errorf("notification %d was announced %d times", e.Seq, told[e.Seq])
		}
	}
	if len(kept) != alerts || len(told) != alerts {
		t.Errorf("%d notifications are kept and %d were announced, of %d alerts", len(kept), len(told), alerts)
	}
}

package alerts_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
)

// meeting holds writers until all have read: each replica comes once to every round, and all
// continue when the last has come.
type meeting struct {
	mu     sync.Mutex
	size   int
	rounds map[int]*gathering
}

type gathering struct {
	came map[int]bool // by replica
	full chan struct{}
}

func newMeeting(size int) *meeting { return &meeting{size: size, rounds: make(map[int]*gathering)} }

// come waits for the others of a round. A second call of the same replica does not wait: it repeats
// a write that was refused or not acknowledged.
func (m *meeting) come(round, id int) {
	m.mu.Lock()
	g := m.rounds[round]
	if g == nil {
		g = &gathering{came: make(map[int]bool), full: make(chan struct{})}
		m.rounds[round] = g
	}
	first := !g.came[id]
	if g.came[id] = true; first && len(g.came) == m.size {
		close(g.full)
	}
	m.mu.Unlock()
	if !first {
		return
	}
	select {
	case <-g.full:
	case <-time.After(replicatest.Patience): // a replica could not read; its own check fails
	}
}

// race lets three replicas fire the same alerts at the same time and returns the number of
// firings. With together, the stores' clock makes all replicas read before one writes.
func race(t *testing.T, unguarded, together bool, count int) int64 {
	t.Helper()
	const replicas = 3
	prefix, meeting := replicatest.NewPrefix(), newMeeting(replicas)
	var at [replicas]atomic.Int64 // the alert that each fires; 0 for none
	var stores [replicas]*alerts.Store
	for id := range stores {
		c := replicatest.Connect(t, replicatest.Servers(), prefix)
		if unguarded {
			replicatest.DropCompareAndSet(c)
		}
		var err error
		stores[id], err = alerts.Open(t.Context(), c, func() time.Time {
			if round := at[id].Load(); together && round > 0 {
				meeting.come(int(round), id)
			}
			return time.Now()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	firings := make([]alert.Firing, count)
	for i := range firings {
		firings[i] = alert.Firing{Alert: replicatest.PriceAlert(i), Value: 1, At: time.Now()}
		if err := stores[0].PutAlert(t.Context(), principal.Caller{Subject: "ann"}, firings[i].Alert); err != nil {
			t.Fatal(err)
		}
	}
	var won atomic.Int64
	var wg sync.WaitGroup
	for id, s := range stores {
		wg.Go(func() {
			for i := range firings {
				at[id].Store(int64(i + 1))
				entries, err := s.FireAlerts(context.WithoutCancel(t.Context()), firings[i:i+1])
				if err != nil {
					t.Error(err)
				}
				won.Add(int64(len(entries)))
			}
		})
	}
	wg.Wait()
	return won.Load()
}

func TestStore_ReplicasThatRaceFireOnce(t *testing.T) {
	t.Parallel()
	for name, together := range map[string]bool{"unsynchronised": false, "all have read before one writes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alerts := longtest.Pick(25, 200)
			if won := race(t, false, together, alerts); won != int64(alerts) {
				t.Errorf("%d firings of %d alerts", won, alerts)
			}
		})
	}
}

// TestStore_WithoutCompareAndSetFiringsDouble shows that the test above can fail: each replica fires
// each alert, except for lost acknowledgements.
func TestStore_WithoutCompareAndSetFiringsDouble(t *testing.T) {
	t.Parallel()
	const alerts = 10
	won := race(t, true, true, alerts)
	if won <= alerts {
		t.Errorf("%d firings of %d alerts: the race did not happen", won, alerts)
	}
	t.Logf("%d firings of %d alerts", won, alerts)
}

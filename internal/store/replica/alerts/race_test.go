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

// meeting holds those who are about to write what they have read until all have read:
// each comes once to every round, and goes on when the last of them has come.
type meeting struct {
	mu     sync.Mutex
	size   int
	rounds map[int]*gathering
}

type gathering struct {
	came map[int]bool // by who came
	full chan struct{}
}

func newMeeting(size int) *meeting { return &meeting{size: size, rounds: make(map[int]*gathering)} }

// come waits for the others of a round. A second call of the same replica does not wait:
// it repeats a write that was refused or not answered.
func (m *meeting) come(round, who int) {
	m.mu.Lock()
	g := m.rounds[round]
	if g == nil {
		g = &gathering{came: make(map[int]bool), full: make(chan struct{})}
		m.rounds[round] = g
	}
	first := !g.came[who]
	if g.came[who] = true; first && len(g.came) == m.size {
		close(g.full)
	}
	m.mu.Unlock()
	if !first {
		return
	}
	select {
	case <-g.full:
	case <-time.After(replicatest.Patience): // somebody could not read, and says so
	}
}

// race lets three replicas fire the same alerts at the same time, and returns how many
// firings they were told to announce. A store asks for the time after it has read an
// alert and before it writes its end: together they have all read before one writes.
func race(t *testing.T, unguarded, together bool, count int) int64 {
	t.Helper()
	const replicas = 3
	prefix, meeting := replicatest.NewPrefix(), newMeeting(replicas)
	var at [replicas]atomic.Int64 // the alert that each fires; 0 for none
	var stores [replicas]*alerts.Store
	for who := range stores {
		c := replicatest.Connect(t, replicatest.Servers(), prefix)
		if unguarded {
			replicatest.DropCompareAndSet(c)
		}
		var err error
		stores[who], err = alerts.Open(t.Context(), c, func() time.Time {
			if round := at[who].Load(); together && round > 0 {
				meeting.come(int(round), who)
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
	for who, s := range stores {
		wg.Go(func() {
			for i := range firings {
				at[who].Store(int64(i + 1))
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
	for name, together := range map[string]bool{"as they come": false, "all have read before one writes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alerts := longtest.Pick(25, 200)
			if won := race(t, false, together, alerts); won != int64(alerts) {
				t.Errorf("%d firings of %d alerts", won, alerts)
			}
		})
	}
}

// TestStore_WithoutCompareAndSetFiringsDouble shows that the test above can fail: each
// replica fires each alert, but for those of which an answer gets lost.
func TestStore_WithoutCompareAndSetFiringsDouble(t *testing.T) {
	t.Parallel()
	const alerts = 10
	won := race(t, true, true, alerts)
	if won <= alerts {
		t.Errorf("%d firings of %d alerts: the race did not happen", won, alerts)
	}
	t.Logf("%d firings of %d alerts", won, alerts)
}

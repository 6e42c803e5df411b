package cluster

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"candela/e2e/remote"
)

// BenchmarkSetAlert measures how many alerts a second three replicas take, each of
// them on the disks of two servers before it is acknowledged.
func BenchmarkSetAlert(b *testing.B) {
	for b.Loop() {
		s := newSite(b, 3, true, options{})
		for _, many := range []int{1, 32} {
			var clients []*remote.Client
			for i := range many {
				c := s.visitor(i, s.replicas[i%3], s.owner)
				s.enter(b.Context(), c)
				clients = append(clients, c)
			}
			n, took := s.set(clients, 8*time.Second)
			b.ReportMetric(float64(n)/8, fmt.Sprintf("alerts/s-%d-clients", many))
			b.ReportMetric(at(took, 0.5)*1e3, fmt.Sprintf("ms-p50-%d-clients", many))
			b.ReportMetric(at(took, 0.99)*1e3, fmt.Sprintf("ms-p99-%d-clients", many))
		}
	}
}

// set sets alerts that never fire, for a while, and returns how many and how long
// each took, ascending.
func (s *site) set(clients []*remote.Client, d time.Duration) (n int, took []time.Duration) {
	s.Helper()
	ends := time.Now().Add(d)
	var mu sync.Mutex
	var busy sync.WaitGroup
	for i, c := range clients {
		busy.Go(func() {
			for k := i; time.Now().Before(ends); k++ {
				began := time.Now()
				if _, err := c.Call(s.Context(), "set_alert", fmt.Sprintf(`{"symbol":"C%02dUSDT","condition":{"price_above":1e9}}`, k%60)); err != nil {
					s.Error(err)
					return
				}
				mu.Lock()
				n++
				took = append(took, time.Since(began))
				mu.Unlock()
			}
		})
	}
	busy.Wait()
	slices.Sort(took)
	return n, took
}

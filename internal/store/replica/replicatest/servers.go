package replicatest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/replica/natstest"
)

// Start runs servers for one test.
func Start(tb testing.TB, n int) *natstest.Cluster {
	tb.Helper()
	c, err := natstest.Start(tb.TempDir(), n)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Stop)
	return c
}

// Restart starts servers again and waits until they have caught up.
func Restart(t *testing.T, c *natstest.Cluster, servers ...int) {
	t.Helper()
	for _, i := range servers {
		if err := c.Restart(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Settle(); err != nil {
		t.Fatal(err)
	}
}

// CaughtUp waits until every copy of a stream is complete, so that the next server may stop.
func CaughtUp(t *testing.T, c *natstest.Cluster, stream string) {
	t.Helper()
	js := Admin(t, c)
	Eventually(t, "all copies are complete", func() bool {
		once, end := Question(t)
		defer end()
		s, err := js.Stream(once, stream)
		if err != nil {
			return false
		}
		cluster := s.CachedInfo().Cluster
		return cluster.Leader != "" && len(cluster.Replicas) == 2 && !slices.ContainsFunc(cluster.Replicas, func(p *jetstream.PeerInfo) bool {
			return !p.Current || p.Offline || p.Lag > 0
		})
	})
}

// LeaderOf waits until a stream has a leader and returns its index.
func LeaderOf(tb testing.TB, c *natstest.Cluster, stream string) (leader int) {
	tb.Helper()
	Eventually(tb, "a server leads "+stream, func() bool {
		leader = c.Leader(stream)
		return leader >= 0
	})
	return leader
}

// StreamOf waits until the servers return a stream.
func StreamOf(tb testing.TB, to *natstest.Cluster, name string) (s jetstream.Stream) {
	tb.Helper()
	js := Admin(tb, to)
	Eventually(tb, "the servers return "+name, func() (ok bool) {
		once, end := Question(tb)
		defer end()
		var err error
		s, err = js.Stream(once, name)
		return err == nil
	})
	return s
}

// ReplaceLeader restarts the server that leads a stream. elected returns how long the election of
// the next leader took.
func ReplaceLeader(t *testing.T, of *natstest.Cluster, stream string) (elected func() time.Duration) {
	t.Helper()
	leader, took := LeaderOf(t, of, stream), make(chan time.Duration, 1)
	began := time.Now()
	of.Kill(leader)
	if err := of.Restart(leader); err != nil {
		t.Error(err)
	}
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for of.Leader(stream) < 0 && time.Since(began) < Patience {
			<-tick.C
		}
		took <- time.Since(began)
	}()
	return func() time.Duration { return <-took }
}

// Measure writes to a stream of its own until longest is called, which returns the longest time
// until a write succeeded.
func Measure(t *testing.T, of *natstest.Cluster) (longest func() time.Duration) {
	t.Helper()
	js, stream := Admin(t, of), NewPrefix()
	Eventually(t, "the servers create a stream", func() bool {
		once, end := Question(t)
		defer end()
		_, err := js.CreateStream(once, jetstream.StreamConfig{Name: stream, Subjects: []string{stream}, Replicas: 3})
		return err == nil
	})
	ctx, stop := context.WithCancel(t.Context())
	took := make(chan time.Duration, 1)
	go func() {
		var most time.Duration
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for began := time.Now(); ctx.Err() == nil; <-tick.C {
			once, end := context.WithTimeout(ctx, 2*time.Second)
			_, err := js.Publish(once, stream, nil)
			end()
			most = max(most, time.Since(began))
			if err == nil {
				began = time.Now()
			}
		}
		took <- most
	}()
	return func() time.Duration {
		stop()
		return <-took
	}
}

// CheckLongestWrite demands that the longest write was within a connection's retry limit. It is
// not checked if the servers alone took half of that, as on a loaded machine.
func CheckLongestWrite(t *testing.T, longest, servers time.Duration) {
	t.Helper()
	if longest > Usual && servers < Usual/2 {
		t.Errorf("a write took %s, and the servers %s", longest, servers)
	}
	t.Logf("the longest write took %s, and the servers %s", longest, servers)
}

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

// CaughtUp waits until every copy of a stream is whole: what was held in memory has
// to be copied to a server that was away before the next one may go.
func CaughtUp(t *testing.T, c *natstest.Cluster, stream string) {
	t.Helper()
	js := Admin(t, c)
	Eventually(t, "the copies are whole", func() bool {
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

// LeaderOf waits until a server leads a stream, and returns which.
func LeaderOf(tb testing.TB, c *natstest.Cluster, stream string) (leader int) {
	tb.Helper()
	Eventually(tb, "a server leads "+stream, func() bool {
		leader = c.Leader(stream)
		return leader >= 0
	})
	return leader
}

// StreamOf waits until the servers tell of a stream, and returns it as it is then.
func StreamOf(tb testing.TB, to *natstest.Cluster, name string) (s jetstream.Stream) {
	tb.Helper()
	js := Admin(tb, to)
	Eventually(tb, "the servers tell of "+name, func() (ok bool) {
		once, end := Question(tb)
		defer end()
		var err error
		s, err = js.Stream(once, name)
		return err == nil
	})
	return s
}

// ReplaceLeader ends the server that leads a stream, and begins it again. elected
// returns how long it took until there was a leader.
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

// Measure writes to a stream of its own until longest is called, which returns how long
// a client took that does no more than ask again until it is answered.
func Measure(t *testing.T, of *natstest.Cluster) (longest func() time.Duration) {
	t.Helper()
	js, stream := Admin(t, of), NewPrefix()
	Eventually(t, "the servers make a stream", func() bool {
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

// CheckLongestWrite wants the longest write to have been done with the patience that a
// connection has. Servers that took half of that themselves, such as those of a loaded
// machine, say nothing about it.
func CheckLongestWrite(t *testing.T, longest, servers time.Duration) {
	t.Helper()
	if longest > Usual && servers < Usual/2 {
		t.Errorf("a write took %s, and the servers %s", longest, servers)
	}
	t.Logf("the longest write took %s, and the servers %s", longest, servers)
}

package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/cluster/natstest"
)

// replaceLeader ends the server that leads a stream, and begins it again. elected
// returns how long it took until there was a leader.
func replaceLeader(t *testing.T, of *natstest.Cluster, stream string) (elected func() time.Duration) {
	t.Helper()
	leader, took := leaderOf(t, of, stream), make(chan time.Duration, 1)
	began := time.Now()
	of.Kill(leader)
	if err := of.Restart(leader); err != nil {
		t.Error(err)
	}
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for of.Leader(stream) < 0 && time.Since(began) < patience {
			<-tick.C
		}
		took <- time.Since(began)
	}()
	return func() time.Duration { return <-took }
}

// measure writes to a stream of its own until longest is called, which returns how long
// a client took that does no more than ask again until it is answered.
func measure(t *testing.T, of *natstest.Cluster) (longest func() time.Duration) {
	t.Helper()
	js, stream := adminOf(t, of), newPrefix()
	eventually(t, "the servers make a stream", func() bool {
		once, end := question(t)
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

// wantPatience wants the longest write to have been done with the patience that a
// connection has. Servers that took half of that themselves, such as those of a loaded
// machine, say nothing about it.
func wantPatience(t *testing.T, longest, servers time.Duration) {
	t.Helper()
	if longest > usual && servers < usual/2 {
		t.Errorf("a write took %s, and the servers %s", longest, servers)
	}
	t.Logf("the longest write took %s, and the servers %s", longest, servers)
}

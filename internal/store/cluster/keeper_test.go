package cluster_test

import (
	"testing"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/recordtest"
	"candela/internal/store/cluster"
	"candela/internal/store/cluster/natstest"
)

func openKeeper(tb testing.TB, c *cluster.Conn) *cluster.Keeper {
	tb.Helper()
	k, err := c.OpenKeeper(tb.Context(), quiet())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(k.Close)
	return k
}

func TestKeeper_KeepsTheSuite(t *testing.T) {
	t.Parallel()
	dirs := newDirs()
	recordtest.Run(t, patience, func(t *testing.T, place string) recordtest.Closer {
		t.Helper()
		return openKeeper(t, connect(t, servers, dirs.prefix(place)))
	})
}

// overServers opens logs over servers, each on a connection of its own.
func overServers(on *natstest.Cluster) recordtest.Opener {
	dirs := newDirs()
	return func(t *testing.T, place string, r *recordtest.Replica) (*notify.Log, func()) {
		t.Helper()
		c := connect(t, on, dirs.prefix(place))
		k := openKeeper(t, c)
		log, err := notify.OpenShared(t.Context(), r.Config(), r.Shared(k))
		if err != nil {
			t.Fatal(err)
		}
		return log, c.Close
	}
}

func TestKeeper_KeepsLogs(t *testing.T) {
	t.Parallel()
	recordtest.RunLogs(t, patience, overServers(servers))
}

func TestKeeper_KeepsReplicas(t *testing.T) {
	t.Parallel()
	recordtest.RunReplicas(t, patience, overServers(servers))
}

// TestKeeper_OutlivesItsServers stops all servers at once under replicas that live on,
// with a stream open and a batch not settled.
func TestKeeper_OutlivesItsServers(t *testing.T) {
	t.Parallel()
	three := start(t, 3)
	recordtest.RunOutage(t, patience, overServers(three), func() {
		for i := range 3 {
			three.Kill(i)
		}
		restart(t, three, 0, 1, 2)
	})
}

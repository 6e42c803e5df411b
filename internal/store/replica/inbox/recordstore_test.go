package inbox_test

import (
	"testing"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/recordtest"
	"candela/internal/alerting/notify/replicated"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/inbox"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/replicatest"
)

func openRecordStore(tb testing.TB, c *conn.Conn) *inbox.RecordStore {
	tb.Helper()
	k, err := inbox.Open(tb.Context(), c, replicatest.Quiet())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(k.Close)
	return k
}

func TestRecordStore_PassesTheSuite(t *testing.T) {
	t.Parallel()
	dirs := replicatest.NewDirs()
	recordtest.Run(t, replicatest.Patience, func(t *testing.T, place string) recordtest.Closer {
		t.Helper()
		return openRecordStore(t, replicatest.Connect(t, replicatest.Servers(), dirs.Prefix(place)))
	})
}

// overServers opens inboxes over servers, each on its own connection.
func overServers(on *natstest.Cluster) recordtest.Opener {
	dirs := replicatest.NewDirs()
	return func(t *testing.T, place string, r *recordtest.Replica) (notify.Inbox, func()) {
		t.Helper()
		c := replicatest.Connect(t, on, dirs.Prefix(place))
		k := openRecordStore(t, c)
		log, err := replicated.Open(t.Context(), r.Config(k))
		if err != nil {
			t.Fatal(err)
		}
		return log, c.Close
	}
}

func TestRecordStore_PassesTheInboxSuite(t *testing.T) {
	t.Parallel()
	recordtest.RunInbox(t, replicatest.Patience, overServers(replicatest.Servers()))
}

func TestRecordStore_PassesTheReplicaSuite(t *testing.T) {
	t.Parallel()
	recordtest.RunReplicas(t, replicatest.Patience, overServers(replicatest.Servers()))
}

// TestRecordStore_SurvivesServerRestarts stops all servers under running replicas, with an open
// stream and an unsettled batch.
func TestRecordStore_SurvivesServerRestarts(t *testing.T) {
	t.Parallel()
	three := replicatest.Start(t, 3)
	recordtest.RunOutage(t, replicatest.Patience, overServers(three), func() {
		for i := range 3 {
			three.Kill(i)
		}
		replicatest.Restart(t, three, 0, 1, 2)
	})
}

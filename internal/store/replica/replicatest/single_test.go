package replicatest_test

import (
	"testing"
	"time"

	"candela/internal/store/replica/replicatest"
)

// TestSingleServer_RecoversAfterARestart restarts a single server, which loses its in-memory
// streams; the replicas recreate them.
func TestSingleServer_RecoversAfterARestart(t *testing.T) {
	t.Parallel()
	one, prefix, now := replicatest.Start(t, 1), replicatest.NewPrefix(), time.Now()
	a, _ := replicatest.Join(t, one, prefix, "a")
	b, _ := replicatest.Join(t, one, prefix, "b")
	replicatest.Agree(t, a, b)
	s := replicatest.OpenLogins(t, one, prefix)
	other := replicatest.OpenLogins(t, one, prefix)
	tok, key := replicatest.IssueToken(t, s, "first", now), s.Seal()

	one.Kill(0)
	replicatest.Restart(t, one, 0)
	beat := time.Now()
	replicatest.Eventually(t, "heartbeats are acknowledged again", func() bool { return a.LastHeartbeat().After(beat) && b.LastHeartbeat().After(beat) })
	replicatest.Agree(t, a, b)
	replicatest.WaitEnded(t, s, tok, now)
	replicatest.WaitEnded(t, other, tok, now)
	replicatest.Eventually(t, "both seal with the same new key", func() bool { return s.Seal() != key && s.Seal() == other.Seal() })

	second := replicatest.IssueToken(t, s, "second", now)
	replicatest.Eventually(t, "a token of one replica is valid at the other", func() bool {
		_, err := other.Token(t.Context(), second.Hash, now)
		return err == nil
	})
}

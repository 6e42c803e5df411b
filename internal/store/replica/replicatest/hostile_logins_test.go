package replicatest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"candela/internal/access/oauth"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

// known waits until a replica knows a token.
func known(t *testing.T, s *logins.Store, tok oauth.Token, now time.Time) {
	t.Helper()
	replicatest.Eventually(t, "the replica knows the token", func() bool {
		all, err := s.Tokens(t.Context(), tok.Grant.Subject, now)
		for _, one := range all {
			if one.ID == tok.ID {
				return err == nil
			}
		}
		return false
	})
}

// ended waits until a replica refuses a token.
func ended(t *testing.T, s *logins.Store, tok oauth.Token, now time.Time) {
	t.Helper()
	replicatest.Eventually(t, "the token has ended", func() bool {
		_, err := s.Token(t.Context(), tok.Hash, now)
		return errors.Is(err, oauth.ErrNotFound)
	})
}

// TestRevoke_WorksAtAReplicaWithAWrongClock revokes a token, and then all, at a replica whose
// clock is wrong by more than conn.MaxDelay.
func TestRevoke_WorksAtAReplicaWithAWrongClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"behind": -65 * time.Second, "ahead": 65 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix, now := replicatest.NewPrefix(), time.Now()
			wrong, conn := tokensOn(t, prefix)
			right, _ := tokensOn(t, prefix)
			one, two := replicatest.IssueToken(t, wrong, "one", now), replicatest.IssueToken(t, wrong, "two", now)
			known(t, right, one, now)
			known(t, right, two, now)
			replicatest.ShiftClock(conn, off)
			if err := wrong.Revoke(t.Context(), "ann", one.ID); err != nil {
				t.Fatal(err)
			}
			ended(t, right, one, now)
			if _, err := wrong.RevokeAll(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			ended(t, right, two, now)
			if right.Seal() != wrong.Seal() {
				t.Error("the replicas seal with different keys")
			}
			replicatest.Eventually(t, "a new replica has the current generation", func() bool {
				fresh, _ := tokensOn(t, prefix)
				return fresh.Seal() == right.Seal()
			})
		})
	}
}

func TestGroup_ReportsAWrongClock(t *testing.T) {
	t.Parallel()
	m, conn := replicatest.Join(t, replicatest.Lone(), replicatest.NewPrefix(), "a")
	if m.Late() {
		t.Error("an ordinary heartbeat is late")
	}
	for _, off := range []time.Duration{-65 * time.Second, 65 * time.Second} {
		replicatest.ShiftClock(conn, off)
		replicatest.Eventually(t, "the heartbeat is late", m.Late)
		replicatest.ShiftClock(conn, 0)
		replicatest.Eventually(t, "the heartbeat is no longer late", func() bool { return !m.Late() })
	}
}

// TestHostileNATS_HidesNoRevocation overwrites a revocation before another replica has read it.
func TestHostileNATS_HidesNoRevocation(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	first, _ := tokensOn(t, prefix)
	second, conn := tokensOn(t, prefix)
	tok, other := replicatest.IssueToken(t, first, "token", now), replicatest.IssueToken(t, first, "other", now)
	known(t, second, tok, now)
	known(t, second, other, now)
	revoked := make(chan oauth.Hash, 1)
	second.OnRevoke(func(gone ...oauth.Hash) {
		for _, h := range gone {
			revoked <- h
		}
	})
	by := newStranger(t)
	by.write(prefix+".token."+tok.Hash.Hex(), []byte("junk")) // replaces the revocation
	NotExecuted(t, conn, "row")
	ended(t, second, tok, now)
	if h := <-revoked; h != tok.Hash {
		t.Errorf("unexpected notification of %s", h.Hex())
	}
	if _, err := second.Token(t.Context(), other.Hash, now); err != nil {
		t.Errorf("another token: %v", err)
	}
}

// TestHostileNATS_RestoresNoRevokedTokenForNewReplicas replays a revoked token and starts a
// replica, which does not know of the revocation.
func TestHostileNATS_RestoresNoRevokedTokenForNewReplicas(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	s, conn := tokensOn(t, prefix)
	tok := replicatest.IssueToken(t, s, "revoked", now)
	by, subject := newStranger(t), prefix+".token."+tok.Hash.Hex()
	row := by.row(prefix+"_TOKENS", subject)
	if err := s.Revoke(t.Context(), "ann", tok.ID); err != nil {
		t.Fatal(err)
	}
	by.write(subject, row)
	NotExecuted(t, conn, "replay")
	replicatest.Eventually(t, "a replica that starts refuses the token", func() bool {
		fresh, _ := tokensOn(t, prefix)
		_, err := replicatest.LookUp(t, fresh, tok, now)
		return errors.Is(err, oauth.ErrNotFound)
	})
}

// TestHostileNATS_FutureRowsAreRefused: a message sealed by a fast clock could be replayed for
// longer.
func TestHostileNATS_FutureRowsAreRefused(t *testing.T) {
	t.Parallel()
	sealedAt(t, 24*time.Hour)
}

// TestHostileNATS_ReportsNoReplayedCallAsUnexecuted replays a call in progress after it has become
// too old.
func TestHostileNATS_ReportsNoReplayedCallAsUnexecuted(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	a, _ := replicatest.Join(t, replicatest.Lone(), prefix, "a")
	b, conn := replicatest.Join(t, replicatest.Lone(), prefix, "b")
	replicatest.Agree(t, a, b)
	begun, held := make(chan struct{}), make(chan struct{})
	b.Handle("desk.place", func(context.Context, []byte) ([]byte, error) {
		close(begun)
		<-held
		return []byte("done"), nil
	})
	by := newStranger(t)
	calls, err := by.nc.SubscribeSync(prefix + ".peer.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := by.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := a.Call(t.Context(), replicatest.OwnedShard(t, b), "desk.place", nil)
		got <- err
	}()
	<-begun
	m, err := calls.NextMsg(replicatest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	replicatest.ShiftClock(conn, 31*time.Second) // now it is too old
	if err := by.nc.PublishMsg(&nats.Msg{Subject: m.Subject, Reply: m.Reply, Data: m.Data}); err != nil {
		t.Fatal(err)
	}
	NotExecuted(t, conn, "call")
	replicatest.ShiftClock(conn, 0)
	close(held)
	if err := <-got; err != nil {
		t.Errorf("the caller gets %v, %+v", err, fault.Of(err))
	}
}

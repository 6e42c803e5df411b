package deskproxy_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/replicatest"
)

// withHaltFiles returns two replicas that could trade and do not, and the path of the second's halt
// file. The first sends no heartbeats, so that it never declares the second dead.
func withHaltFiles(t *testing.T, log *slog.Logger) (a *deskproxy.Desk, members [2]*member.Group, halt string) {
	t.Helper()
	prefix := replicatest.NewPrefix()
	var desks [2]*deskproxy.Desk
	for i, name := range []string{"a", "b"} {
		m, err := member.Join(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), member.Info{Name: name, Account: accountName}, replicatest.Quiet())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		m.Activate(t.Context())
		halt = t.TempDir() + "/HALT"
		members[i], desks[i] = m, deskproxy.New(m, deskproxy.Config{Account: accountName, HaltFile: halt, Log: log, Now: time.Now})
	}
	replicatest.Agree(t, members[:]...)
	t.Cleanup(replicatest.HoldHeartbeats(members[0]))
	replicatest.Eventually(t, "the first knows the second", func() bool { return members[0].Live(members[1].Self()) })
	return desks[0], members, halt
}

// TestDesk_TradesBesideAnUnresponsiveReplica has one replica not report its halt-file status, like on
// a hanging disk: another trades after a while and logs it.
func TestDesk_TradesBesideAnUnresponsiveReplica(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a, members, _ := withHaltFiles(t, slog.New(slog.NewTextHandler(&log, nil)))
	hangs := make(chan struct{})
	defer close(hangs)
	members[1].Handle("desk.haltfile "+accountName, func(context.Context, []byte) ([]byte, error) {
		<-hangs
		return nil, member.ErrNotShardOwner
	})
	if files := a.SoughtHaltFiles(t.Context()); len(files) > 0 {
		t.Errorf("it found %v", files)
	}
	if line := "trading started without halt-file status"; !strings.Contains(log.String(), line) {
		t.Errorf("the log does not contain %q: %s", line, log.String())
	}
}

// TestDesk_BusyReplicaHasNoHaltFileStatus fills a replica with calls: its refusal says nothing about
// a halt file.
func TestDesk_BusyReplicaHasNoHaltFileStatus(t *testing.T) {
	t.Parallel()
	a, members, halt := withHaltFiles(t, replicatest.Quiet())
	if err := os.WriteFile(halt, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	occupy(t, members[0], members[1])
	if silent := a.SilentReplicas(t.Context()); !slices.Equal(silent, []string{"b"}) {
		t.Errorf("silent are %v", silent)
	}
}

// occupy fills a replica with the maximum of prioritized calls until the test ends.
func occupy(t *testing.T, caller, busy *member.Group) {
	t.Helper()
	const method = "occupy"
	over, began := make(chan struct{}), make(chan struct{}, 64)
	busy.Handle(method, func(context.Context, []byte) ([]byte, error) {
		began <- struct{}{}
		<-over
		return nil, nil
	})
	busy.Prioritize(method)
	var calls sync.WaitGroup
	t.Cleanup(func() { close(over); calls.Wait() })
	for n := 0; ; n++ {
		declined := make(chan struct{})
		calls.Go(func() {
			if _, err := caller.CallReplica(context.WithoutCancel(t.Context()), busy.Self(), method, nil); err != nil {
				close(declined)
			}
		})
		select {
		case <-began:
		case <-declined:
			if n == 0 {
				t.Fatal("no call was executed")
			}
			return
		case <-time.After(replicatest.Patience):
			t.Fatal("a call is neither executed nor declined")
		}
	}
}

package cluster_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/store/cluster"
)

// withHaltFiles is two replicas that could trade and do not, the second by its members
// and the path of its halt file. The first sends no heartbeats, so that
// the second counts as live for it, however slow the machine.
func withHaltFiles(t *testing.T, log *slog.Logger) (a *cluster.Desk, b *cluster.Members, halt string) {
	t.Helper()
	prefix := newPrefix()
	var members [2]*cluster.Members
	var desks [2]*cluster.Desk
	for i, name := range []string{"a", "b"} {
		m, err := connect(t, servers, prefix).Join(t.Context(), cluster.Who{Name: name, Account: accountName}, quiet())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		m.Enter(t.Context())
		halt = t.TempDir() + "/HALT"
		members[i], desks[i] = m, cluster.NewDesk(m, cluster.DeskConfig{Account: accountName, HaltFile: halt, Log: log, Now: time.Now})
	}
	agree(t, members[:]...)
	t.Cleanup(members[0].HoldBeats())
	eventually(t, "the first knows the second", func() bool { return members[0].Live(members[1].Self()) })
	return desks[0], members[1], halt
}

// TestDesk_TradesBesideASilentReplica has one replica not say whether a halt file lies
// there, as on a disk that hangs: another trades after a while, and says so in its log.
func TestDesk_TradesBesideASilentReplica(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a, b, _ := withHaltFiles(t, slog.New(slog.NewTextHandler(&log, nil)))
	hangs := make(chan struct{})
	defer close(hangs)
	b.Handle("desk.haltfile "+accountName, func(context.Context, []byte) ([]byte, error) {
		<-hangs
		return nil, cluster.ErrNotOwner
	})
	if files := a.SoughtHaltFiles(t.Context()); len(files) > 0 {
		t.Errorf("it found %v", files)
	}
	if line := "trading begins although a replica does not say"; !strings.Contains(log.String(), line) {
		t.Errorf("the log does not say %q: %s", line, log.String())
	}
}

// TestDesk_HearsNoHaltFileOfABusyReplica has so many calls under way at a replica that
// it answers no more: that is no word on whether a halt file lies there.
func TestDesk_HearsNoHaltFileOfABusyReplica(t *testing.T) {
	t.Parallel()
	a, b, halt := withHaltFiles(t, quiet())
	if err := os.WriteFile(halt, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.Fill()
	if silent := a.SilentReplicas(t.Context()); !slices.Equal(silent, []string{"b"}) {
		t.Errorf("silent are %v", silent)
	}
}

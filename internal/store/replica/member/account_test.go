package member_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"candela/internal/kit/fault"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/replicatest"
)

// TestJoin_RefusesAnotherAccount changes the account of replicas one by one.
func TestJoin_RefusesAnotherAccount(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	paper := member.Info{Name: "a:1", Account: "owner", Policy: "p1"}
	var log bytes.Buffer
	m, err := member.Join(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), paper, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	changed, conn := m.Changed(), replicatest.Connect(t, replicatest.Servers(), prefix)
	live := member.Info{Name: "b:1", Account: "owner/binance-live", Policy: "p1"}
	_, err = member.Join(t.Context(), conn, live, replicatest.Quiet())
	f := fault.Of(err)
	if f == nil || f.Code != "another_account" || !strings.Contains(f.Message, "configured for account owner/binance-live") || !strings.Contains(f.Message, "replica a:1 trades on owner.") {
		t.Fatalf("got %v", err)
	}
	select {
	case <-changed:
		t.Error("it joined before it was refused")
	default:
	}
	m.Close() // ends logging
	enter := func() (*member.Group, error) {
		return replicatest.Insist(t, func() (*member.Group, error) { return member.Join(t.Context(), conn, live, replicatest.Quiet()) })
	}
	after, err := enter()
	if strings.Contains(log.String(), "announcing departure failed") { // the servers stalled; its heartbeat expires
		replicatest.Eventually(t, "it joins after the other", func() bool {
			if f := fault.Of(err); f != nil && f.Code == "another_account" {
				after, err = enter()
			}
			return err == nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	after.Close()
}

func TestJoin_WarnsOfAnotherPolicy(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	joined := func(policy string) string {
		var log bytes.Buffer
		m, err := member.Join(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), member.Info{Name: "a", Account: "owner", Policy: policy}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		m.Close() // ends logging
		return log.String()
	}
	first, err := member.Join(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), member.Info{Name: "a", Account: "owner", Policy: "p1"}, replicatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(first.Close)
	if log := joined("p1"); strings.Contains(log, "trading policies differ") {
		t.Errorf("unexpected log: %s", log)
	}
	if log := joined("p2"); !strings.Contains(log, "trading policies differ") {
		t.Errorf("unexpected log: %s", log)
	}
}

// TestJoin_RefusesOtherPlans holds that replicas with different plans of owners do not run together.
func TestJoin_RefusesOtherPlans(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	join := func(name, plans string) error {
		m, err := member.Join(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), member.Info{Name: name, Account: "owner", Plans: plans}, replicatest.Quiet())
		if err == nil {
			t.Cleanup(m.Close)
		}
		return err
	}
	if err := join("a:1", "x"); err != nil {
		t.Fatal(err)
	}
	if f := fault.Of(join("b:1", "y")); f == nil || f.Code != "other_plans" || !strings.Contains(f.Message, "replica a:1") {
		t.Errorf("got %v", f)
	}
	if err := join("c:1", "x"); err != nil {
		t.Error(err)
	}
}

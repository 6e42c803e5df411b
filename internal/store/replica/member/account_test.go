package member_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"candela/internal/store/replica/member"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

// TestJoin_RefusesAnotherAccount changes the account of replicas one by one.
func TestJoin_RefusesAnotherAccount(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	paper := member.Info{Name: "a:1", Account: "owner", Rules: "p1"}
	var log bytes.Buffer
	m, err := member.Join(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), paper, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	changed, conn := m.Changed(), replicatest.Connect(t, replicatest.Servers(), prefix)
	live := member.Info{Name: "b:1", Account: "owner/binance-live", Rules: "p1"}
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

// TestJoin_RefusesAnotherPolicy holds for every pair of four policies that replicas with different ones
// do not run together, until the policy of the running one is replaced.
func TestJoin_RefusesAnotherPolicy(t *testing.T) {
	t.Parallel()
	policies := []string{"p1", "p2", "p3", "p4"}
	for _, first := range policies {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			prefix := replicatest.NewPrefix()
			join := func(name, rules string) (*member.Group, error) {
				m, err := member.Join(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), member.Info{Name: name, Account: "owner", Rules: rules}, replicatest.Quiet())
				if err == nil {
					t.Cleanup(m.Close)
				}
				return m, err
			}
			running, err := join("a:1", first)
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range policies {
				m, err := join("b:"+other, other)
				if f := fault.Of(err); other != first && (f == nil || f.Code != "other_policy" || f.Value != other || f.Allowed != first || !strings.Contains(f.Message, "replica a:1")) {
					t.Errorf("%s beside %s: %v", other, first, err)
				}
				if other == first && err != nil {
					t.Errorf("the same policy: %v", err)
				}
				if err == nil {
					m.Close()
				}
			}
			running.SetPolicy(t.Context(), "p5")
			second, err := replicatest.Insist(t, func() (*member.Group, error) { return join("c:1", "p5") })
			if err != nil {
				t.Fatal(err)
			}
			replicatest.Agree(t, running, second)
			if err := errors.Join(running.CheckPolicies(), second.CheckPolicies()); err != nil {
				t.Errorf("both have p5: %v", err)
			}
			second.SetPolicy(t.Context(), "p6")
			replicatest.Eventually(t, "the replicas see that they differ", func() bool {
				f := fault.Of(running.CheckPolicies())
				return f != nil && f.Code == "other_policy" && second.CheckPolicies() != nil
			})
		})
	}
}

func TestJoin_WarnsOfOtherSettings(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	first, err := member.Join(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), member.Info{Name: "a", BaseURL: "https://a", Toolsets: "market"}, replicatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(first.Close)
	for _, c := range []struct{ base, tools, want string }{
		{"https://a", "market", ""}, {"https://b", "market", "settings=[base-url]"}, {"https://a", "none", "settings=[toolsets]"}, {"https://b", "none", `settings="[base-url toolsets]"`},
	} {
		var log bytes.Buffer
		m, err := member.Join(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), member.Info{Name: "b", BaseURL: c.base, Toolsets: c.tools}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		m.Close() // ends logging
		if warned := strings.Contains(log.String(), "settings differ"); warned != (c.want != "") || !strings.Contains(log.String(), c.want) {
			t.Errorf("%+v: %s", c, log.String())
		}
	}
}

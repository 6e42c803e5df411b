package cluster_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"candela/internal/kit/fault"
	"candela/internal/store/cluster"
)

// TestJoin_RefusesAnotherAccount begins to change the account of replicas one by
// one.
func TestJoin_RefusesAnotherAccount(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	paper := cluster.Who{Name: "a:1", Account: "owner", Policy: "p1"}
	var log bytes.Buffer
	m, err := connect(t, servers, prefix).Join(t.Context(), paper, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	changed, conn := m.Changed(), connect(t, servers, prefix)
	live := cluster.Who{Name: "b:1", Account: "owner/binance-live", Policy: "p1"}
	_, err = conn.Join(t.Context(), live, quiet())
	f := fault.Of(err)
	if f == nil || f.Code != "another_account" || !strings.Contains(f.Message, "trade on owner/binance-live") || !strings.Contains(f.Message, "replica a:1 trades on owner:") {
		t.Fatalf("got %v", err)
	}
	select {
	case <-changed:
		t.Error("it took part before it was refused")
	default:
	}
	m.Close() // nothing is logged any more
	enter := func() (*cluster.Members, error) {
		return insist(t, func() (*cluster.Members, error) { return conn.Join(t.Context(), live, quiet()) })
	}
	after, err := enter()
	if strings.Contains(log.String(), "the servers were not told") { // as they stalled: it is forgotten in time
		eventually(t, "it joins after the other", func() bool {
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
	prefix := newPrefix()
	joined := func(policy string) string {
		var log bytes.Buffer
		m, err := connect(t, servers, prefix).Join(t.Context(), cluster.Who{Name: "a", Account: "owner", Policy: policy}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		m.Close() // nothing is logged any more
		return log.String()
	}
	first, err := connect(t, servers, prefix).Join(t.Context(), cluster.Who{Name: "a", Account: "owner", Policy: "p1"}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(first.Close)
	if log := joined("p1"); strings.Contains(log, "another policy") {
		t.Errorf("the log is %s", log)
	}
	if log := joined("p2"); !strings.Contains(log, "another policy") {
		t.Errorf("the log is %s", log)
	}
}

package cluster_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"candela/internal/store/cluster"
	"candela/internal/store/cluster/natstest"
	"candela/internal/store/ledger/storetest"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper/papertest"
)

// openOrders takes over the orders of a prefix on a connection of its own.
func openOrders(tb testing.TB, to *natstest.Cluster, prefix string) *cluster.Orders {
	tb.Helper()
	o, err := connect(tb, to, prefix).OpenOrders(tb.Context(), time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	o.SetHaste(patience)
	return o
}

// journals is those of which each must keep what the others do not touch, by owner and
// name.
func journals() [][2]string { return [][2]string{{"ann", "paper"}, {"ann", "other"}, {"bob", "paper"}} }

// runOrders runs all suites that a store of orders must pass, that of journals for some
// of them, one after the other.
func runOrders(t *testing.T, to *natstest.Cluster, dirs *dirs, journals [][2]string) {
	t.Helper()
	t.Run("orders", func(t *testing.T) {
		t.Parallel()
		storetest.RunOrders(t, func(t *testing.T, dir string) storetest.OrderStore {
			t.Helper()
			return openOrders(t, to, dirs.prefix(dir))
		})
	})
	t.Run("states", func(t *testing.T) {
		t.Parallel()
		storetest.RunStates(t, func(t *testing.T, dir string) storetest.StateStore {
			t.Helper()
			return openOrders(t, to, dirs.prefix(dir))
		})
	})
	t.Run("journals", func(t *testing.T) {
		t.Parallel()
		prefix := dirs.prefix(t.TempDir())
		for _, of := range journals {
			papertest.RunJournal(t, func(tb testing.TB) broker.Journal {
				tb.Helper()
				return journal{openOrders(tb, to, prefix), of[0], of[1]}
			})
		}
	})
}

// journal is one of the shared ones, as the paper account sees it.
type journal struct {
	*cluster.Orders
	owner, name string
}

func (j journal) Append(ctx context.Context, entries ...[]byte) error {
	return j.AppendJournal(ctx, j.owner, j.name, entries)
}

func (j journal) Entries(ctx context.Context) iter.Seq2[[]byte, error] {
	return j.Journal(ctx, j.owner, j.name)
}

func (j journal) SaveSnapshot(ctx context.Context, value []byte) error {
	return j.SaveJournalSnapshot(ctx, j.owner, j.name, value)
}

func (j journal) Snapshot(ctx context.Context) ([]byte, iter.Seq2[[]byte, error], error) {
	return j.JournalSnapshot(ctx, j.owner, j.name)
}

func TestOrders_KeepTheLedgersPromises(t *testing.T) {
	t.Parallel()
	runOrders(t, servers, newDirs(), journals())
}

func TestOrders_KeepThemOnOneServer(t *testing.T) {
	t.Parallel()
	runOrders(t, lone, newDirs(), journals()[:longtest.Pick(1, 3)])
}

// TestTwoServersOfThree_KeepThePromises runs the suites of orders and of alerts while a
// server is away.
func TestTwoServersOfThree_KeepThePromises(t *testing.T) {
	t.Parallel()
	three, orders, alerts := start(t, 3), newDirs(), newDirs()
	// Three copies can be made only while three servers are there.
	var made sync.WaitGroup
	var makers []func() error
	for range 16 {
		c := connect(t, three, newPrefix())
		orders.ready = append(orders.ready, c.Prefix())
		makers = append(makers, func() error { _, err := c.OpenOrders(t.Context(), time.Now); return err })
	}
	for range 24 {
		c := connect(t, three, newPrefix())
		alerts.ready = append(alerts.ready, c.Prefix())
		makers = append(makers, func() error { _, err := c.OpenStore(t.Context(), time.Now); return err })
	}
	for some := range slices.Chunk(makers, len(makers)/4) {
		made.Go(func() {
			for _, one := range some {
				if err := one(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if made.Wait(); t.Failed() {
		return
	}
	three.Kill(1)
	runOrders(t, three, orders, journals()[:longtest.Pick(1, 3)])
	t.Run("alerts", func(t *testing.T) {
		t.Parallel()
		storetest.RunAlerts(t, func(t *testing.T, dir string) storetest.AlertStore {
			t.Helper()
			return openStore(t, three, alerts.prefix(dir))
		})
	})
}

package cluster_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"candela/internal/broker/paper"
	"candela/internal/broker/paper/papertest"
	"candela/internal/cluster"
	"candela/internal/cluster/natstest"
	"candela/internal/ledger/storetest"
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

// runOrders runs all suites that a store of orders must pass.
func runOrders(t *testing.T, to *natstest.Cluster, dirs *dirs) {
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
		for _, of := range [][2]string{{"ann", "paper"}, {"ann", "other"}, {"bob", "paper"}} {
			papertest.RunJournal(t, func(tb testing.TB) paper.Journal {
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
	runOrders(t, servers, newDirs())
}

func TestOrders_KeepThemOnOneServer(t *testing.T) {
	t.Parallel()
	runOrders(t, start(t, 1), newDirs())
}

func TestOrders_KeepThemOnTwoServersOfThree(t *testing.T) {
	t.Parallel()
	three, dirs := start(t, 3), newDirs()
	for range 16 {
		// Three copies can be made only while three servers are there.
		dirs.ready = append(dirs.ready, newPrefix())
		openOrders(t, three, dirs.ready[len(dirs.ready)-1])
	}
	three.Kill(1)
	runOrders(t, three, dirs)
}

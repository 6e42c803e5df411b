package orders_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/ledger/storetest"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper/papertest"
)

// journals lists independent journals by owner and name.
func journals() [][2]string { return [][2]string{{"ann", "paper"}, {"ann", "other"}, {"bob", "paper"}} }

// runOrders runs all suites of an order store in turn, that of journals for the given ones.
func runOrders(t *testing.T, to *natstest.Cluster, dirs *replicatest.Dirs, journals [][2]string) {
	t.Helper()
	t.Run("orders", func(t *testing.T) {
		t.Parallel()
		storetest.RunOrders(t, func(t *testing.T, dir string) storetest.OrderStore {
			t.Helper()
			return replicatest.OpenOrders(t, to, dirs.Prefix(dir))
		})
	})
	t.Run("states", func(t *testing.T) {
		t.Parallel()
		storetest.RunStates(t, func(t *testing.T, dir string) storetest.StateStore {
			t.Helper()
			return replicatest.OpenOrders(t, to, dirs.Prefix(dir))
		})
	})
	t.Run("journals", func(t *testing.T) {
		t.Parallel()
		prefix := dirs.Prefix(t.TempDir())
		for _, of := range journals {
			papertest.RunJournal(t, func(tb testing.TB) broker.Journal {
				tb.Helper()
				return replicatest.Journal{Store: replicatest.OpenOrders(tb, to, prefix), Owner: principal.Owner(of[0]), Name: of[1]}
			})
		}
	})
}

func TestOrders_PassTheSuites(t *testing.T) {
	t.Parallel()
	runOrders(t, replicatest.Servers(), replicatest.NewDirs(), journals())
}

func TestOrders_PassTheSuitesOnOneServer(t *testing.T) {
	t.Parallel()
	runOrders(t, replicatest.Lone(), replicatest.NewDirs(), journals()[:longtest.Pick(1, 3)])
}

// TestTwoServersOfThree_PassTheSuites runs the suites of orders and alerts while a server is down.
func TestTwoServersOfThree_PassTheSuites(t *testing.T) {
	t.Parallel()
	three, orderDirs, alertDirs := replicatest.Start(t, 3), replicatest.NewDirs(), replicatest.NewDirs()
	// Three replicas of a stream can be created only while three servers run.
	var made sync.WaitGroup
	var makers []func() error
	for range 16 {
		c := replicatest.Connect(t, three, replicatest.NewPrefix())
		orderDirs.Ready = append(orderDirs.Ready, replicatest.PrefixOf(c))
		makers = append(makers, func() error { _, err := orders.Open(t.Context(), c, time.Now); return err })
	}
	for range 24 {
		c := replicatest.Connect(t, three, replicatest.NewPrefix())
		alertDirs.Ready = append(alertDirs.Ready, replicatest.PrefixOf(c))
		makers = append(makers, func() error { _, err := alerts.Open(t.Context(), c, time.Now); return err })
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
	runOrders(t, three, orderDirs, journals()[:longtest.Pick(1, 3)])
	t.Run("alerts", func(t *testing.T) {
		t.Parallel()
		storetest.RunAlerts(t, func(t *testing.T, dir string) storetest.AlertStore {
			t.Helper()
			return replicatest.SuiteStore{Store: replicatest.OpenStore(t, three, alertDirs.Prefix(dir))}
		})
	})
}

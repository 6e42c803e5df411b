package ledger_test

import (
	"testing"
	"time"

	"candela/internal/ledger"
	"candela/internal/ledger/storetest"
)

// open opens the store of a directory and closes it with the test.
func open(tb testing.TB, dir string) *ledger.Ledger {
	tb.Helper()
	l, err := ledger.Open(tb.Context(), dir, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func TestLedger_KeepsAlerts(t *testing.T) {
	t.Parallel()
	storetest.RunAlerts(t, func(t *testing.T, dir string) storetest.AlertStore { t.Helper(); return open(t, dir) })
}

func TestLedger_KeepsStates(t *testing.T) {
	t.Parallel()
	storetest.RunStates(t, func(t *testing.T, dir string) storetest.StateStore { t.Helper(); return open(t, dir) })
}

func TestLedger_KeepsOrders(t *testing.T) {
	t.Parallel()
	storetest.RunOrders(t, func(t *testing.T, dir string) storetest.OrderStore { t.Helper(); return open(t, dir) })
}

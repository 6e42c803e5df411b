package ledger_test

import (
	"context"
	"iter"
	"strconv"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/internal/store/ledger/storetest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper/papertest"
	"candela/lib/market"
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

func TestLedger_KeepsRecordsOfOwners(t *testing.T) {
	t.Parallel()
	storetest.RunKept(t, func(t *testing.T, dir string) storetest.KeptStore { t.Helper(); return open(t, dir) })
}

func TestLedger_KeepsOrders(t *testing.T) {
	t.Parallel()
	storetest.RunOrders(t, func(t *testing.T, dir string) storetest.OrderStore { t.Helper(); return open(t, dir) })
}

func TestLedger_KeepsSnapshots(t *testing.T) {
	t.Parallel()
	storetest.RunSnapshots(t, func(t *testing.T, dir string) storetest.SnapshotStore { t.Helper(); return open(t, dir) })
}

// journal is one of the ledger's, as the paper account sees it.
type journal struct {
	*ledger.Ledger
	owner principal.Owner
	name  string
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

func TestLedger_KeepsJournals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	for _, of := range [][2]string{{"ann", "paper"}, {"ann", "other"}, {"bob", "paper"}} {
		papertest.RunJournal(t, func(testing.TB) broker.Journal { return journal{l, principal.Owner(of[0]), of[1]} })
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range open(t, dir).Journal(t.Context(), "ann", "paper") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 26 {
		t.Errorf("after a restart there are %d entries", n)
	}
}

// TestLedger_NumbersHaveNoGaps holds what the suite does not ask of every store.
func TestLedger_NumbersHaveNoGaps(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	for want := range uint64(5) {
		if last, err := l.LastEntry(t.Context()); err != nil || last != want {
			t.Fatalf("the last number is %d, %v; want %d", last, err, want)
		}
		a := alert.Alert{
			ID: strconv.FormatUint(want, 10), Owner: "ann", Symbol: market.Symbol{Name: "A"}, Instrument: market.Symbol{Venue: "binance", Name: "A"},
			Condition: alert.Condition{Type: alert.PriceAbove}, Created: time.Now(),
		}
		if err := l.PutAlert(t.Context(), principal.Caller{Subject: "ann"}, a); err != nil {
			t.Fatal(err)
		}
		if got, err := l.FireAlerts(t.Context(), []alert.Firing{{Alert: a}, {Alert: a}}); err != nil || len(got) != 1 || got[0].Seq != want+1 {
			t.Fatalf("entries %v, %v", got, err)
		}
	}
}

package alerts_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/recordtest"
	"candela/internal/alerting/notify/replicated"
	"candela/internal/kit/id"
	"candela/internal/market"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/inbox"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
)

const ofOwner = 5 // alerts, and notifications

func scaleAlert(owner, k int) alert.Alert {
	s := market.Symbol{Venue: "binance", Name: fmt.Sprintf("S%03dUSDT", (owner*7+k*31)%200)}
	return alert.Alert{
		ID: id.New(time.Now()), Owner: fmt.Sprintf("%026d", owner), Symbol: market.Symbol{Name: s.Name}, Instrument: s,
		Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.New(int64(100_000+owner%1000+k), -2)}, Created: time.Now().UTC().Truncate(time.Microsecond),
	}
}

// TestOwners_StartOfAReplica seeds owners with five alerts and five notifications each at three
// servers, and measures what a replica reads and holds at its start.
func TestOwners_StartOfAReplica(t *testing.T) { //nolint:paralleltest // it measures
	sizes := longtest.Pick([]int{20, 100, 400}, []int{1_000, 5_000, 20_000})
	var memory, took []float64
	for _, n := range sizes {
		prefix := replicatest.NewPrefix()
		seedOwners(t, prefix, n)
		m, d := startWithOwners(t, prefix, n)
		memory, took = append(memory, m), append(took, d.Seconds())
		t.Logf("%6d owners: start %.2f s (%.1f us an owner), %.0f bytes an owner", n, d.Seconds(), 1e6*d.Seconds()/float64(n), m/float64(n))
	}
	lower, upper := (memory[1]-memory[0])/float64(sizes[1]-sizes[0]), (memory[2]-memory[1])/float64(sizes[2]-sizes[1])
	t.Logf("memory of one owner more: %.0f bytes up to %d, %.0f up to %d: %.2f", lower, sizes[1], upper, sizes[2], upper/lower)
	if slack := longtest.Pick(1.5, 1.10); upper > slack*lower {
		t.Errorf("the memory of an owner grows from %.0f to %.0f bytes", lower, upper)
	}
}

func seedOwners(t *testing.T, prefix string, owners int) {
	t.Helper()
	s, err := alerts.Open(t.Context(), replicatest.ConnectMany(t, replicatest.Servers(), prefix), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var all []alert.Alert
	var entries []notify.Entry
	flush := func() {
		if err := s.Seed(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddEntries(t.Context(), entries); err != nil {
			t.Fatal(err)
		}
		all, entries = all[:0], entries[:0]
	}
	for i := range owners {
		for k := range ofOwner {
			all = append(all, scaleAlert(i, k))
			f := alert.Firing{Alert: scaleAlert(i, k), Value: 1000.5, At: time.Now()}
			entries = append(entries, notify.Entry{Owner: f.Owner, Symbol: f.Instrument, Type: "price_above", At: time.Now(), Data: f.AppendJSON(nil)})
		}
		if len(all) >= 5000 {
			flush()
		}
	}
	flush()
}

// startWithOwners reads what a replica reads at its start, and returns the memory that it holds and
// how long that took.
func startWithOwners(t *testing.T, prefix string, owners int) (memory float64, took time.Duration) {
	t.Helper()
	c := replicatest.ConnectMany(t, replicatest.Servers(), prefix)
	before := heapInUse()
	began := time.Now()
	s, err := alerts.Open(t.Context(), c, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := inbox.Open(t.Context(), c, replicatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	box, err := replicated.Open(t.Context(), replicated.Config{
		Now: time.Now, Log: replicatest.Quiet(), Store: kept, Replicas: recordtest.NewMembers().Join("one"), CatchUp: func(ctx context.Context) error { return ctx.Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	index := alert.NewIndex()
	feed, err := s.OpenChangeFeed(t.Context(), alerts.ChangeFeedConfig{Restore: box.Restore, Publish: box.Append, Log: replicatest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	read := time.Since(began)
	for _, a := range feed.TakeInitial() {
		if err := index.AddInactive(a); err != nil {
			t.Fatal(err)
		}
	}
	took = time.Since(began)
	t.Logf("%d owners: notifications after %v, alerts after %v", owners, read, took)
	if n := len(index.List(fmt.Sprintf("%026d", owners-1))); n != ofOwner {
		t.Errorf("an owner has %d alerts", n)
	}
	memory = heapInUse() - before
	runtime.KeepAlive(index)
	runtime.KeepAlive(box)
	return memory, took
}

func heapInUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

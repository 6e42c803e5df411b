package ledger_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/internal/store/ledger"
	"candela/internal/trading/order"
	"candela/lib/market"
)

var loadAlerts = flag.Int("alerts", 10_000, "active alerts that the benchmark of a start loads; the figures are for 1000000")

// floor is what no durable write can beat: one page appended to a file and synced.
type floor struct {
	file *os.File
	page [4096]byte
}

func newFloor(b *testing.B) *floor {
	b.Helper()
	file, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	check(b, err)
	b.Cleanup(func() { _ = file.Close() })
	return &floor{file: file}
}

func (f *floor) write(b *testing.B) {
	b.Helper()
	_, err := f.file.Write(f.page[:])
	check(b, err)
	check(b, f.file.Sync())
}

// quantiles reports the median and the 99th percentile in microseconds, and how many
// of them a second has.
func quantiles(b *testing.B, what string, took []time.Duration) time.Duration {
	b.Helper()
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	b.ReportMetric(float64(len(took))/sum.Seconds(), what+"/s")
	slices.Sort(took)
	p50 := took[len(took)/2]
	b.ReportMetric(float64(p50)/1e3, what+"-p50-us")
	b.ReportMetric(float64(took[len(took)*99/100])/1e3, what+"-p99-us")
	return p50
}

// BenchmarkCommit times durable commits of one writer against the floor, in turns,
// so that both meet the same machine. A set alert is two rows and the head, a fired
// one is one row less, two more and the head.
func BenchmarkCommit(b *testing.B) {
	l, f := open(b, b.TempDir()), newFloor(b)
	took := make(map[string][]time.Duration)
	timed := func(what string, do func()) {
		start := time.Now()
		do()
		took[what] = append(took[what], time.Since(start))
	}
	for b.Loop() {
		a := newAlert(1)
		timed("floor", func() { f.write(b) })
		timed("put", func() { check(b, l.PutAlert(b.Context(), owner(), a)) })
		timed("fire", func() {
			_, err := l.FireAlerts(b.Context(), []alert.Firing{firing(a)})
			check(b, err)
		})
	}
	bare := quantiles(b, "floor", took["floor"])
	put := quantiles(b, "put", took["put"])
	quantiles(b, "fire", took["fire"])
	b.ReportMetric(float64(put)/float64(bare), "put/floor")
}

// BenchmarkSharedCommit sets alerts from many goroutines, which share syncs.
func BenchmarkSharedCommit(b *testing.B) {
	for _, writers := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			l := open(b, b.TempDir())
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ResetTimer()
			for range writers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if err := l.PutAlert(context.WithoutCancel(b.Context()), owner(), newAlert(1)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

// BenchmarkFireMany fires a thousand alerts in one commit, as a jump in price does.
func BenchmarkFireMany(b *testing.B) {
	const many = 1000
	l := open(b, b.TempDir())
	for b.Loop() {
		b.StopTimer()
		firings := make([]alert.Firing, many)
		for i := range firings {
			firings[i] = firing(newAlert(1))
		}
		seed(b, l, firings)
		b.StartTimer()
		entries, err := l.FireAlerts(b.Context(), firings)
		check(b, err)
		if len(entries) != many {
			b.Fatalf("%d fired", len(entries))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*many), "us/alert")
}

func seed(b *testing.B, l *ledger.Ledger, firings []alert.Firing) {
	b.Helper()
	done := make(chan error, len(firings))
	for _, f := range firings {
		go func() { done <- l.PutAlert(context.WithoutCancel(b.Context()), owner(), f.Alert) }()
	}
	for range firings {
		check(b, <-done)
	}
}

// BenchmarkLoad reads every active alert, as a start does.
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	check(b, open(b, dir).Close())
	check(b, behind(b, dir, fmt.Sprintf(`
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO alerts
		SELECT printf('01a1dd3f-%%04x-7%%03x-8000-%%012x', i / 65536, i %% 4096, i), 'owner', printf('S%%dUSDT', i %% 1000), printf('binance:S%%dUSDT', i %% 1000), '',
			'price_above', printf('%%d.%%02d', i, i %% 100), '', '', 1700000000000000 + i, 0, '', 0 FROM n`, *loadAlerts)))
	l := open(b, dir)
	for b.Loop() {
		n := 0
		for _, err := range l.Alerts(b.Context()) {
			check(b, err)
			n++
		}
		if n != *loadAlerts {
			b.Fatalf("%d alerts", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(*loadAlerts), "ns/alert")
	info, err := os.Stat(filepath.Join(dir, ledger.FileName))
	check(b, err)
	b.ReportMetric(float64(info.Size())/float64(*loadAlerts), "B/alert")
}

// BenchmarkOrder persists the way of an order, one commit for each step, as a desk
// does that persists before it sends.
func BenchmarkOrder(b *testing.B) {
	l, f := open(b, b.TempDir()), newFloor(b)
	var bare, steps []time.Duration
	for b.Loop() {
		for _, e := range life(id.New(time.Now())) {
			start := time.Now()
			f.write(b)
			middle := time.Now()
			_, err := l.AppendEvents(b.Context(), owner(), []order.Event{e})
			check(b, err)
			bare, steps = append(bare, middle.Sub(start)), append(steps, time.Since(middle))
		}
	}
	floor := quantiles(b, "floor", bare)
	b.ReportMetric(float64(quantiles(b, "step", steps))/float64(floor), "step/floor")
}

// life returns the events of an order that is filled at once.
func life(id string) []order.Event {
	now, symbol := time.Now(), market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	event := func(k order.Kind) order.Event { return order.Event{Kind: k, OrderID: id, At: now} }
	created, filled := event(order.KindCreated), event(order.KindFill)
	created.Origin = &order.Origin{
		Spec:   order.Spec{ID: id, Owner: "owner", Symbol: symbol, Side: order.Buy, Type: order.Market, Quantity: decimal.New(1, 0)},
		Broker: "paper", Mode: order.Paper, Key: id, Token: "key", Client: "client",
	}
	filled.Fill = &order.Fill{
		TradeID: id, OrderID: id, Symbol: symbol, Side: order.Buy, Quantity: decimal.New(1, 0), Price: decimal.New(6512345, -2),
		Fee: decimal.New(65, -3), FeeAsset: "USDT", At: now,
	}
	return []order.Event{created, event(order.KindSent), event(order.KindAccepted), filled}
}

// BenchmarkReplay reads an owner's events and folds them into a book, as a start does.
func BenchmarkReplay(b *testing.B) {
	l := open(b, b.TempDir())
	events := make([]order.Event, 0, 4000)
	for len(events) < cap(events) {
		events = append(events, life(id.New(time.Now()))...)
	}
	_, err := l.AppendEvents(b.Context(), owner(), events)
	check(b, err)
	for b.Loop() {
		book := order.NewBook("owner")
		for e, err := range l.OrderEvents(b.Context(), "owner") {
			check(b, err)
			check(b, book.Apply(e))
		}
		if len(book.Orders()) != len(events)/4 {
			b.Fatal("orders are missing")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
}

// fill writes events into a new store and opens its log.
func fill(b *testing.B, events int) *ledger.Audit {
	b.Helper()
	dir := b.TempDir()
	l := open(b, dir)
	firings := make([]alert.Firing, events)
	for i := range firings {
		firings[i] = firing(newAlert(1))
	}
	seed(b, l, firings)
	log, err := ledger.OpenAudit(b.Context(), dir)
	check(b, err)
	return log
}

// BenchmarkVerify reads and hashes a log.
func BenchmarkVerify(b *testing.B) {
	const events = 2000
	log := fill(b, events)
	for b.Loop() {
		report, err := log.Verify(b.Context())
		check(b, err)
		if report.Events != events || len(report.Breaks) > 0 {
			b.Fatalf("%+v", report)
		}
	}
	check(b, log.Close())
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

// BenchmarkCopy is the part of a backup before it is verified.
func BenchmarkCopy(b *testing.B) {
	const events = 10_000
	log := fill(b, events)
	for b.Loop() {
		check(b, log.CopyTo(b.Context(), b.TempDir()))
	}
	check(b, log.Close())
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

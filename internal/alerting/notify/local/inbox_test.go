package local

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/market"
)

func TestInbox_RemovesIdleSubscribers(t *testing.T) {
	t.Parallel()
	b := New(Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	for i := range 300 {
		c := principal.Caller{Subject: "owner", Key: fmt.Sprint("key-", i), ClientKey: "client"}
		first, err := b.Open(t.Context(), c, "")
		if err != nil {
			t.Fatal(err)
		}
		second, err := b.Open(t.Context(), c, "")
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if err := b.Subscribe(t.Context(), c, notify.Filter{}); err != nil {
				t.Fatal(err)
			}
			if existed, err := b.Unsubscribe(t.Context(), c); !existed || err != nil {
				t.Fatalf("%v, %v", existed, err)
			}
		}
		first.Close()
		second.Close()
		second.Close()
	}
	same := b.subs.SameClient(principal.Caller{Subject: "owner", ClientKey: "client"})
	if got := b.Stats(); len(b.subs.ByKey)+len(same)+got.Streams > 0 {
		t.Errorf("left: %d subscribers, %d of the client, %d streams", len(b.subs.ByKey), len(same), got.Streams)
	}
}

// BenchmarkFlush writes the file of ten thousand subscribers and reports the memory of one.
func BenchmarkFlush(b *testing.B) {
	before := heap()
	log := New(Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	const n = 10_000
	for i := range n {
		c := principal.Caller{Subject: "owner", Key: fmt.Sprintf("%064d", i), ClientKey: fmt.Sprintf("%032d", i), Expires: time.Now()}
		if err := log.Subscribe(b.Context(), c, notify.Filter{Symbols: []market.Symbol{{Name: "AAPL"}}}); err != nil {
			b.Fatal(err)
		}
	}
	used := float64(heap()-before) / n
	log.cfg.Path = filepath.Join(b.TempDir(), "subscriptions.json")
	for b.Loop() {
		if _, err := log.Open(b.Context(), principal.Caller{Subject: "owner", Key: "k"}, ""); err != nil { // something changed
			b.Fatal(err)
		}
		if err := log.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(used, "B/subscriber")
	runtime.KeepAlive(log)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

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
	"candela/lib/market"
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

// TestInbox_LiveTokenKeepsItsSubscription restarts with a token that is live and one that is
// not. Another token of the client takes over the subscription of the second alone.
func TestInbox_LiveTokenKeepsItsSubscription(t *testing.T) {
	t.Parallel()
	cfg := Config{Path: filepath.Join(t.TempDir(), "subscriptions.json"), Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	caller := func(key string) principal.Caller {
		return principal.Caller{Subject: "owner", Key: key, ClientKey: "client", Expires: time.Now().Add(time.Hour)}
	}
	first := New(cfg)
	for _, key := range []string{"live", "ended"} {
		if err := first.Subscribe(t.Context(), caller(key), notify.Filter{Types: []string{key}}); err != nil {
			t.Fatal(err)
		}
	}
	cfg.TokenLive = func(key string) bool { return key == "live" }
	again, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"new": "[ended]", "live": "[live]"} {
		s, err := again.Subscription(t.Context(), caller(key))
		if got := fmt.Sprint(s.Filter.Types); err != nil || got != want {
			t.Errorf("%s has the subscription %s, %v", key, got, err)
		}
	}
	if s, err := again.Subscription(t.Context(), caller("another")); err != nil || s.Active {
		t.Errorf("a third token has a subscription: %+v, %v", s, err)
	}
}

package inboxtest

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/lib/market"
)

func newLog(tb testing.TB, path string) *local.Inbox {
	tb.Helper()
	log, err := local.Open(local.Config{Path: path, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	return log
}

// connected returns an inbox with n subscribers that have streams.
func connected(tb testing.TB, n int) (*local.Inbox, []notify.Stream) {
	tb.Helper()
	log := newLog(tb, "")
	streams := make([]notify.Stream, n)
	for i := range streams {
		c := caller(fmt.Sprint("key-", i))
		if err := log.Subscribe(tb.Context(), c, notify.Filter{Symbols: []market.Symbol{{Name: "AAPL"}}}); err != nil {
			tb.Fatal(err)
		}
		stream, err := log.Open(tb.Context(), c, "")
		if err != nil {
			tb.Fatal(err)
		}
		streams[i] = stream
	}
	return log, streams
}

// BenchmarkAppend measures how long the engine waits while ten thousand streams are matched.
func BenchmarkAppend(b *testing.B) {
	for name, symbol := range map[string]string{"wanted by all": "AAPL", "wanted by none": "MSFT"} {
		b.Run(name, func(b *testing.B) {
			log, streams := connected(b, 10_000)
			b.ReportAllocs()
			for seq := uint64(1); b.Loop(); seq++ {
				log.Append([]notify.Entry{entry(seq, symbol, "price_above", time.Now())})
				b.StopTimer()
				for _, s := range streams {
					woken(s)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkTake measures one entry per stream: taking it, and asking for more.
func BenchmarkTake(b *testing.B) {
	log, streams := connected(b, 1)
	var events []notify.Event
	b.ReportAllocs()
	for seq := uint64(1); b.Loop(); seq++ {
		b.StopTimer()
		log.Append([]notify.Entry{entry(seq, "AAPL", "price_above", time.Now())})
		b.StartTimer()
		events = streams[0].Take(events[:0])
		if again := streams[0].Take(events); len(events) != 1 || len(again) != 1 {
			b.Fatalf("took %d, then %d", len(events), len(again)-1)
		}
	}
}

// BenchmarkReconnect measures a stream that reconnects after 100,000 entries, a tenth of which
// match, and takes the newest thousand of them.
func BenchmarkReconnect(b *testing.B) {
	log := newLog(b, "")
	c := caller("k")
	if err := log.Subscribe(b.Context(), c, notify.Filter{Symbols: []market.Symbol{{Name: "AAPL"}}}); err != nil {
		b.Fatal(err)
	}
	entries := make([]notify.Entry, 100_000)
	for i := range entries {
		entries[i] = entry(uint64(i+1), map[bool]string{true: "AAPL", false: "MSFT"}[i%10 == 0], "price_above", time.Now())
	}
	log.Append(entries)
	b.ReportAllocs()
	for b.Loop() {
		stream, err := log.Open(b.Context(), c, "1") // resumes from the start every time
		if err != nil {
			b.Fatal(err)
		}
		got := 0
		var events []notify.Event
		for events = stream.Take(events[:0]); len(events) > 0; events = stream.Take(events[:0]) {
			got += len(events)
		}
		if got != notify.MaxBacklog {
			b.Fatalf("%d came", got)
		}
		stream.Close()
	}
}

// Take must not allocate: with ten thousand clients the garbage collector would be the bottleneck.
func TestTake_DoesNotAllocate(t *testing.T) {
	log, streams := connected(t, 1)
	events := make([]notify.Event, 0, 8)
	seq := uint64(0)
	entries := make([]notify.Entry, 200)
	for i := range entries {
		entries[i] = entry(uint64(i+1), "AAPL", "price_above", time.Now())
	}
	allocated := testing.AllocsPerRun(100, func() {
		log.Append(entries[seq : seq+1])
		seq++
	})
	with := testing.AllocsPerRun(80, func() {
		log.Append(entries[seq : seq+1])
		seq++
		for events = streams[0].Take(events[:0]); len(events) > 0; events = streams[0].Take(events[:0]) {
			woken(streams[0])
		}
	})
	if with > allocated+0.5 {
		t.Errorf("%.1f allocations with Take, %.1f without", with, allocated)
	}
}

package feed_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/feed"
	"candela/internal/data/provider"
	"candela/lib/market"
)

// size is how much is followed, and for how long.
type size struct {
	symbols, streams int
	span             time.Duration
}

// TestFeed_ManySymbolsOverFewStreams follows 1,000 and 10,000 symbols at three
// intervals, each updated every two seconds, and logs the cost, which
// includes the fake that makes the events.
func TestFeed_ManySymbolsOverFewStreams(t *testing.T) {
	sizes := []size{{1000, 3, 5 * time.Minute}, {10_000, 30, 70 * time.Second}}
	if raced {
		sizes = []size{{400, 2, 2 * time.Minute}} // the detector wants the code, not the load
	}
	for _, tc := range sizes {
		t.Run(fmt.Sprintf("%d symbols", tc.symbols), func(t *testing.T) {
			began := time.Now()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			events := 0
			synctest.Test(t, func(t *testing.T) {
				v := newVenue(1)
				v.every, v.caps.MaxSubs = 2*time.Second, 1024
				f := newFeed(v)
				for i := range tc.symbols {
					for _, iv := range []market.Interval{market.Minute1, market.Minute15, market.Hour4} {
						subscribe(t, f, sub(fmt.Sprintf("S%d", i), iv))
					}
				}
				l := &counter{next: map[provider.Sub]int64{}}
				r := follow(t, f, l.take)
				time.Sleep(tc.span + time.Second) // beyond the bars that close with the span
				synctest.Wait()
				runtime.GC()
				runtime.ReadMemStats(&after)
				r()
				events = l.events
				s := f.Status()
				minutes := int(tc.span / time.Minute)
				_, most, _ := v.seen()
				if most != tc.streams || s.Streamed != uint64(tc.symbols*minutes) || s.Backfilled != 0 || len(v.asked()) != 0 || l.wrong != 0 {
					t.Errorf("%d streams at most, %d bars in %d minutes, %d wrong, status %+v", most, l.closed, minutes, l.wrong, s)
				}
			})
			took := time.Since(began)
			t.Logf("%d symbols x 3 intervals over %d streams: %d events in %v of virtual time, %v of ours: %.2f µs an event, %.1f%% of a core; %.1f MB",
				tc.symbols, tc.streams, events, tc.span, took, float64(took.Microseconds())/float64(events), 100*took.Seconds()/tc.span.Seconds(),
				float64(after.HeapInuse-before.HeapInuse)/1e6)
		})
	}
}

// counter counts events and checks the order of closed bars.
type counter struct {
	next                  map[provider.Sub]int64
	events, closed, wrong int
}

func (c *counter) take(e feed.Event) {
	c.events++
	if e.Kind != provider.Closed || e.Ahead {
		return
	}
	c.closed++
	if want := c.next[e.Sub]; want != 0 && want != e.Bar.T {
		c.wrong++
	}
	c.next[e.Sub] = e.Bar.T + e.Interval.Seconds()
}

// follow runs a feed and hands its events on. What it returns stops both.
func follow(t *testing.T, f *feed.Feed, take func(feed.Event)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, done, read := make(chan feed.Event, 1024), make(chan error, 1), make(chan struct{})
	go func() {
		done <- f.Run(ctx, out)
		close(out)
	}()
	go func() {
		defer close(read)
		for e := range out {
			take(e)
		}
	}()
	return func() {
		cancel()
		<-done
		<-read
	}
}

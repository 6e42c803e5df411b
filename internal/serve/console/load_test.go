package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/access/owner"
	"candela/internal/testkit/longtest"
)

// hearing is a response that notes when its stream says that the state has changed, or all has
// because it was behind.
type hearing struct {
	sinkWriter
	once, first sync.Once
	follows     func() // called with the first beat
	heard       func()
}

func (w *hearing) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "event: beat") {
		w.first.Do(w.follows)
	}
	if text := string(p); strings.Contains(text, "data: state") || strings.Contains(text, "data: all") {
		w.once.Do(w.heard)
	}
	return len(p), nil
}

// watchers opens pages in as many sessions as they need, and waits until all of them follow.
func (s *scene) watchers(ctx context.Context, count int, heard func()) (open *sync.WaitGroup) {
	open = &sync.WaitGroup{}
	var refused, follow atomic.Int64
	var b *browser
	for i := range count {
		if i%owner.MaxStreams == 0 {
			b = s.browser().login() //nolint:contextcheck // a login is no stream
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, base+"/console/events", nil)
		r.Header.Set("User-Agent", userAgent)
		for name, value := range b.cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		w := &hearing{sinkWriter: sinkWriter{http.Header{}}, follows: func() { follow.Add(1) }, heard: heard}
		open.Go(func() {
			s.handler.ServeHTTP(w, r)
			if ctx.Err() == nil {
				refused.Add(1)
			}
		})
	}
	for follow.Load() < int64(count) {
		runtime.Gosched()
		if n := refused.Load(); n > 0 {
			s.tb.Fatalf("%d streams were refused", n)
		}
	}
	return open
}

// TestLoad_HaltReachesEveryConsole presses halt while many pages are open.
func TestLoad_HaltReachesEveryConsole(t *testing.T) {
	t.Parallel()
	s := newCrowdedScene(t)
	s.book.fill()
	count := longtest.Pick(40, 10_000)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Add(count)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	open := s.watchers(ctx, count, waiting.Done)
	runtime.GC()
	runtime.ReadMemStats(&after)
	press := s.browser().login()
	began := time.Now()
	if r := press.post("/console/halt"); r.status != http.StatusSeeOther {
		t.Fatalf("%d %s", r.status, r.body)
	}
	halted := time.Since(began)
	waiting.Wait()
	t.Logf("%d consoles: halted %v after the press, all know after %v; %d KB each with its session", count, halted, time.Since(began),
		int(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/count>>10)
	cancel()
	open.Wait()
}

// TestLoad_OpenConsolesAreCheap measures the processor's time of 200 open pages and how long
// pages take beside them. It only reports: the numbers are the machine's.
func TestLoad_OpenConsolesAreCheap(t *testing.T) { //nolint:paralleltest // it measures the processor's time of the process
	s := newCrowdedScene(t)
	s.book.busy()
	ctx, cancel := context.WithCancel(t.Context())
	open := s.watchers(ctx, longtest.Pick(8, 200), func() {})
	server := httptest.NewServer(s.handler)
	defer server.Close()
	lines, leave := s.browser().login().stream(t, server)
	await(t, lines, "event: beat")
	looks, began, used := longtest.Pick(2, 40), time.Now(), processorTime(t)
	for i := range looks { // each is half a second after the one before
		s.book.mu.Lock()
		for k := range s.book.held {
			s.book.held[k].Quote.Last = dec("47284.01").Add(decimal.NewFromInt(int64(i)))
		}
		s.book.mu.Unlock()
		await(t, lines, "event: price")
	}
	leave()
	used, took := processorTime(t)-used, time.Since(began)
	t.Logf("%d consoles, a price in each of %d looks: %.2f %% of a core", s.handler.Streams(), looks, 100*used.Seconds()/took.Seconds())
	b := s.browser().login()
	for _, path := range []string{"/console/", "/console/orders?since=all"} {
		times := make([]time.Duration, longtest.Pick(5, 1000))
		spent := make([]time.Duration, len(times)) // on the processor, whatever else wants it
		for i := range times {
			s.pass(time.Second)
			began, used := time.Now(), processorTime(t)
			if r := b.get(path); r.status != http.StatusOK {
				t.Fatalf("%s: %d", path, r.status)
			}
			times[i], spent[i] = time.Since(began), processorTime(t)-used
		}
		slices.Sort(times)
		slices.Sort(spent)
		t.Logf("%s: p50 %v, p99 %v; processor's time p50 %v, p99 %v", path, times[len(times)/2], times[len(times)*99/100], spent[len(spent)/2], spent[len(spent)*99/100])
	}
	cancel()
	open.Wait()
}

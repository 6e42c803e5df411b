package console_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/trading/order"
)

// stream opens the events of a session and returns its lines, and a function that leaves.
func (b *browser) stream(t *testing.T, server *httptest.Server) (lines <-chan string, leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/console/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User-Agent", b.agent)
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", answer.StatusCode, answer.Header)
	}
	out := make(chan string, 64)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(out)
		for s := bufio.NewScanner(answer.Body); s.Scan(); {
			out <- s.Text()
		}
	})
	return out, func() {
		cancel()
		for range out {
		}
		_ = answer.Body.Close()
		reading.Wait()
	}
}

// await reads lines until one is as wanted.
func await(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	for line := range lines {
		if line == want {
			return
		}
	}
	t.Fatalf("the stream ended before %q", want)
}

func TestEvents_FollowTheAccount(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	server := httptest.NewServer(s.handler)
	defer server.Close()
	lines, leave := b.stream(t, server)
	await(t, lines, "event: beat")
	if r := b.post("/console/halt"); r.status != http.StatusSeeOther {
		t.Fatalf("%d %s", r.status, r.body)
	}
	await(t, lines, "data: state")
	s.book.mu.Lock()
	s.book.held[0].Quote.Last = dec("47284.01")
	s.book.mu.Unlock()
	await(t, lines, `data: ["binance:BTCUSDT","47284.01"]`)
	leave()
	for s.handler.Watching() {
		runtime.Gosched() // the server hears of it soon
	}
}

// TestEvents_BeginAfterTheFirstLook holds that the account was read before the first beat: a
// change between the two would be sent to nobody.
func TestEvents_BeginAfterTheFirstLook(t *testing.T) {
	t.Parallel()
	for range 20 {
		s := newScene(t)
		s.book.fill()
		before := s.book.looks.Load()
		ctx, cancel := context.WithCancel(t.Context())
		s.watchers(ctx, 1, func() {})
		if s.book.looks.Load() == before {
			t.Error("a page follows an account that was not read")
		}
		cancel()
	}
}

// A fill, an order that needs approval and an alert that fired are shown on every page.
func TestEvents_HaveNotices(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	server := httptest.NewServer(s.handler)
	defer server.Close()
	lines, leave := b.stream(t, server)
	defer leave()
	await(t, lines, "event: beat")
	s.book.mu.Lock()
	s.book.held[0].Quote.Last = dec("47284.01")
	s.book.mu.Unlock()
	await(t, lines, "event: price") // what was there at the first look is no news
	s.book.mu.Lock()
	s.book.orders[1].Status, s.book.orders[1].Filled, s.book.orders[1].Cost = order.Filled, dec("0.04"), dec("1886")
	s.book.orders[1].Fills = []order.Fill{{Quantity: dec("0.04"), Price: dec("47150"), At: noon()}}
	s.book.mu.Unlock()
	await(t, lines, `data: {"text":"Bought 0.04 BTCUSDT at 47,150.00, Claude","to":"/console/orders/o1"}`)
	s.book.mu.Lock()
	asked := s.book.orders[0]
	asked.ID = "ask2"
	s.book.orders = append([]order.Order{asked}, s.book.orders...)
	s.book.mu.Unlock()
	await(t, lines, `data: {"text":"Claude asks to buy 0.04 BTCUSDT and needs your approval","to":"/console/approvals/ask2"}`)
	s.book.mu.Lock()
	s.book.fired, s.book.alerts = 8, []alert.Alert{{ID: "another"}}
	s.book.mu.Unlock()
	await(t, lines, `data: {"text":"Alert fired: BTCUSDT price below 47,000 at 46,998.1","to":"/console/alerts/al1"}`)
}

// A revoked session ends its streams, and so does the bound.
func TestEvents_AreBounded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	server := httptest.NewServer(s.handler)
	defer server.Close()
	for range 4 {
		lines, leave := b.stream(t, server)
		defer leave()
		await(t, lines, "event: beat")
	}
	if r := b.get("/console/events"); r.status != http.StatusTooManyRequests {
		t.Errorf("the fifth stream: %d", r.status)
	}
	if r := s.browser().get("/console/events"); r.status != http.StatusSeeOther && r.status != http.StatusForbidden {
		t.Errorf("a stream without a session: %d", r.status)
	}
}

// busy fills the book with as much as the budget of a page assumes.
func (b *book) busy() {
	b.fill()
	for len(b.held) < 3 {
		b.held = append(b.held, b.held[0])
	}
	for i := range 50 - len(b.orders) {
		b.orders = append(b.orders, anOrder("busy"+string(rune('A'+i)), []order.Status{order.Accepted, order.Denied, order.Canceled}[i%3], "Claude"))
	}
}

// TestBudget_PagesAreSmall measures the first visit: the page, its style and its script, as they
// are sent.
func TestBudget_PagesAreSmall(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.busy()
	b := s.browser().login()
	packed := http.Header{"Accept-Encoding": {"gzip"}}
	for _, path := range []string{"/console/", "/console/orders?since=all", "/console/approvals", "/console/alerts"} {
		page := b.get(path)
		sum := len(b.do(http.MethodGet, path, nil, packed).body)
		for part := range strings.SplitSeq(page.body, `"`) {
			if strings.HasPrefix(part, "/console/static/") {
				file := b.do(http.MethodGet, part, nil, packed)
				if file.status != http.StatusOK || !strings.Contains(file.header.Get("Cache-Control"), "immutable") {
					t.Errorf("%s: %d %v", part, file.status, file.header)
				}
				sum += len(file.body)
			}
		}
		if t.Logf("%s: %d bytes, %d on the wire with its files", path, len(page.body), sum); sum > 80<<10 {
			t.Errorf("%s has %d bytes", path, sum)
		}
	}
}

func BenchmarkPage(b *testing.B) {
	for _, path := range []string{"/console/", "/console/orders?since=all"} {
		b.Run(path, func(b *testing.B) {
			s := newScene(b)
			s.book.busy()
			browser := s.browser().login()
			for b.Loop() {
				s.pass(time.Second)
				s.book.calls = nil
				if r := browser.get(path); r.status != http.StatusOK {
					b.Fatal(r.status)
				}
			}
		})
	}
}

// sinkWriter is a response that nobody reads.
type sinkWriter struct{ header http.Header }

func (w *sinkWriter) Header() http.Header            { return w.header }
func (*sinkWriter) Write(p []byte) (int, error)      { return len(p), nil }
func (*sinkWriter) WriteHeader(int)                  {}
func (*sinkWriter) Flush()                           {}
func (*sinkWriter) SetReadDeadline(time.Time) error  { return nil }
func (*sinkWriter) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkStream measures the memory of an open stream without its connection.
func BenchmarkStream(b *testing.B) {
	s := newScene(b)
	var before, after runtime.MemStats
	ctx, cancel := context.WithCancel(b.Context())
	var open sync.WaitGroup
	const count = 80
	browsers := make([]*browser, count/4)
	for i := range browsers {
		browsers[i] = s.browser().login()
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range count {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, base+"/console/events", nil)
		r.Header.Set("User-Agent", userAgent)
		for name, value := range browsers[i/4].cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		open.Go(func() { s.handler.ServeHTTP(&sinkWriter{http.Header{}}, r) })
	}
	for s.handler.Streams() < count {
		runtime.Gosched()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
	}
	b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/count, "B/stream")
	cancel()
	open.Wait()
	if s.handler.Watching() {
		b.Error("something runs while nobody looks")
	}
}

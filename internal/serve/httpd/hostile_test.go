package httpd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"candela/internal/data/marketdata"
	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/testkit/longtest"
	"candela/lib/chart"
	"candela/lib/market"
)

// unpainted checks a picture and draws nothing: this is about requests.
type unpainted struct{}

func (unpainted) PNG(spec *chart.Spec) ([]byte, error) { return []byte("\x89PNG"), spec.Check() }

// oneMarket answers for every symbol with the same few bars, read once: neither is
// this about bars.
type oneMarket struct{ set marketdata.BarSet }

func newMarket(t *testing.T) oneMarket {
	t.Helper()
	set, err := marketdatatest.Bars{}.Bars(t.Context(), marketdata.Request{Interval: market.Hour4, Bars: 300})
	if err != nil {
		t.Fatal(err)
	}
	return oneMarket{set}
}

func (m oneMarket) Bars(context.Context, marketdata.Request) (marketdata.BarSet, error) {
	return m.set, nil
}

// panics is a log that many goroutines write. It counts the lines that report a panic
// and keeps none: the heap is measured.
type panics struct{ atomic.Int64 }

func (p *panics) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("panic")) {
		p.Add(1)
	}
	return len(line), nil
}

// attacker makes requests that no client should send.
type attacker struct {
	*rand.Rand
	tools []string
	names []string // of arguments
}

func (a *attacker) pick(from []string) string { return from[a.IntN(len(from))] }

// value is a JSON value of a type that was hardly asked for.
func (a *attacker) value(depth int) string {
	switch a.IntN(14) {
	case 0:
		return "null"
	case 1:
		return "true"
	case 2:
		return strconv.Itoa(a.IntN(10000) - 100)
	case 3:
		return "1e" + strconv.Itoa(a.IntN(100000)-50000)
	case 4:
		return strings.Repeat("9", 1+a.IntN(5000))
	case 5:
		return "-0." + strings.Repeat("0", a.IntN(400)) + "1"
	case 6:
		return `"` + strings.Repeat(a.pick([]string{"A", "é", `\u0000`, "🕯", "../", "'; --", `\\`}), a.IntN(300)) + `"`
	case 7:
		return `"` + a.pick(a.names) + `"`
	case 8:
		n := 1 + a.IntN(100)
		return strings.Repeat("[", n) + strings.Repeat("]", n)
	case 9:
		n := 1 + a.IntN(100)
		return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
	case 10:
		return `{"` + a.pick(a.names) + `":1,"` + a.pick(a.names) + `":2}`
	case 11:
		if depth < 3 {
			return "[" + a.value(depth+1) + "," + a.value(depth+1) + "]"
		}
		return "[]"
	case 12:
		return a.pick([]string{`"NaN"`, `"15min"`, `"buy"`, `"limit"`, `["rsi"]`, `[{"name":"rsi","length":-1}]`, `{"price_above":1,"price_below":2}`, `"series"`})
	default:
		return a.pick([]string{"NaN", "Infinity", "01", "+1", "'x'", "undefined", "", `"\ud800"`, "\"\xff\xfe\"", "\"\x00\""})
	}
}

func (a *attacker) arguments() string {
	var fields []string
	for range a.IntN(6) {
		fields = append(fields, `"`+a.pick(a.names)+`":`+a.value(0))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// body is a request that is wrong in some way, or not.
func (a *attacker) body() string {
	id := a.pick([]string{"1", "2", "3", `"x"`, `"y"`, "1e999", "-0", "9007199254740993", "null", "{}", strings.Repeat("7", 400)})
	method := a.pick([]string{"tools/call", "tools/call", "tools/call", "tools/call", "tools/list", "initialize", "ping", "server/discover", "notifications/cancelled", "x", ""})
	body := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"name":"` + a.pick(a.tools) + `","arguments":` + a.arguments() + `}}`
	switch a.IntN(24) {
	case 0: // a bit of noise
		raw := []byte(body)
		for range 1 + a.IntN(8) {
			raw[a.IntN(len(raw))] = byte(a.IntN(256))
		}
		return string(raw)
	case 1: // cut short
		return body[:a.IntN(len(body))]
	case 2: // twice
		return body + body
	case 3: // a key twice
		return strings.Replace(body, `"method"`, `"method":"tools/list","method"`, 1)
	case 4: // a batch, perhaps too long
		return "[" + strings.TrimSuffix(strings.Repeat(body+",", 1+a.IntN(80)), ",") + "]"
	case 5: // nested beyond reason
		return strings.Repeat(a.pick([]string{"[", `{"a":`, `[{"a":`}), 1+a.IntN(20000))
	case 6: // nothing of the kind
		raw := make([]byte, a.IntN(2000))
		for i := range raw {
			raw[i] = byte(a.IntN(256))
		}
		return string(raw)
	case 7: // too large
		return strings.Repeat(" ", 1<<16+a.IntN(10)) + body
	}
	return body
}

func (a *attacker) send(ctx context.Context, client *http.Client, base string) (int, string, error) {
	method, path := "POST", "/mcp"
	if a.IntN(8) == 0 {
		method = a.pick([]string{"PUT", "DELETE", "HEAD", "GET", "OPTIONS", "TRACE", "mcp"})
	}
	if a.IntN(6) == 0 {
		path = a.pick([]string{"/", "/message", "/favicon.svg", "/x", "/mcp/../mcp", "//mcp", "/%6dcp"})
	}
	if method == "GET" && (path == "/mcp" || path == "/%6dcp") {
		path = "/message" // a stream is no request that ends
	}
	request, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(a.body()))
	if err != nil {
		return 0, "", err
	}
	set := func(name string, odds int, values ...string) {
		if a.IntN(odds) == 0 {
			request.Header.Set(name, a.pick(values))
		}
	}
	request.Header.Set("Authorization", "Bearer good")
	set("Authorization", 20, "Bearer bad", "bearer  good", "Basic x", "Bearer "+strings.Repeat("x", 5000), "")
	set("Accept", 12, "*/*", "text/plain", ";q=0", "application/json;q=banana", strings.Repeat("a/b,", 2000), "application/json;q=0.000")
	set("Content-Type", 12, "application/json", "text/html", ";;;", "application/json; charset=\x80")
	set("Mcp-Session-Id", 12, "s", strings.Repeat("s", 9000))
	set("Origin", 20, "null", "http://localhost", "https://evil.example", "::::")
	set("Expect", 30, "100-continue")
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// TestHostile_Requests sends 2,000 requests, 10,000 in the long form. It is not
// parallel: it reads the size of the heap.
func TestHostile_Requests(t *testing.T) {
	log := &panics{}
	registry, err := tool.New(tool.Config{Charting: tooltest.Charts(newMarket(t), unpainted{}, (&tooltest.Trading{}).Parts()), Trading: (&tooltest.Trading{}).Parts(), Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	server := newServerOver(t, mcptest.ServerLogging(t, registry, log), httpdtest.One(), func(c *httpd.Config) {
		c.MaxBody, c.Log = 1<<16, slog.New(slog.NewTextHandler(log, nil))
	})
	base, stop := serveTCP(t, server)
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("redirected") }}
	names := []string{"nope", "", `\"`}
	for _, each := range registry.Tools() {
		names = append(names, each.Name)
	}
	before := 0
	statuses, mu := map[int]int{}, sync.Mutex{}
	const rounds, workers = 5, 8
	each := longtest.Pick(50, 250)
	for round := range rounds {
		var group sync.WaitGroup
		for worker := range workers {
			group.Go(func() {
				a := &attacker{rand.New(rand.NewPCG(longtest.Seed()+uint64(round), uint64(worker))), names, []string{
					"symbol", "interval", "indicators", "bars", "format", "side", "type", "quantity", "price", "condition", "order_id", "alert_id",
					"name", "wait_seconds", "symbols", "alert_types", "width", "x", "Symbol", "__proto__", "",
				}}
				for range each {
					status, text, err := a.send(t.Context(), client, base)
					mu.Lock()
					statuses[status]++
					mu.Unlock()
					if err != nil && !strings.Contains(err.Error(), "invalid header field value") && !closedEarly(err) {
						t.Errorf("%v", err)
					}
					if status >= 500 || strings.Contains(text, "-32603") || strings.Contains(text, `\"internal\"`) {
						t.Errorf("status %d: %.300s", status, text)
					}
				}
			})
		}
		group.Wait()
		if heap := heapKB(); round == 0 {
			before = heap
		} else if heap > before+8<<10 {
			t.Errorf("round %d: the heap grew from %d KB to %d KB", round, before, heap)
		}
	}
	slowBodies(t, strings.TrimPrefix(base, "http://"))
	transport.CloseIdleConnections()
	stop()
	if n := log.Load(); n > 0 {
		t.Errorf("the log reports %d panics", n)
	}
	total := 0
	for _, n := range statuses {
		total += n
	}
	t.Logf("seed %d: %d requests, by status %v", longtest.Seed(), total, statuses)
	if total != rounds*workers*each || statuses[200]*100 < total*15 || statuses[400]*100 < total*25 {
		t.Errorf("not the mix that was meant: %v", statuses)
	}
}

// closedEarly is a server that answered and hung up while the client was still
// sending a body nobody wanted.
func closedEarly(err error) bool {
	text := err.Error()
	return strings.Contains(text, "reset") || strings.Contains(text, "broken pipe") || strings.Contains(text, "EOF")
}

func heapKB() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 10)
}

func serveTCP(t *testing.T, server *httpd.Server) (base string, stop func()) {
	t.Helper()
	var config net.ListenConfig
	ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, t.Context(), ln) }()
	return "http://" + ln.Addr().String(), func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// slowBodies opens connections that never finish their bodies and leaves them:
// when the client goes, so does everything that waited for it.
func slowBodies(t *testing.T, addr string) {
	t.Helper()
	var conns []net.Conn
	for range 200 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		send(t, conn, "POST /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer good\nContent-Length: 60000\n\n{")
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
}

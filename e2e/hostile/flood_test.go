package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/e2e/remote"
	"candela/internal/testkit/longtest"
)

// The limits while one client attacks.
const (
	memoryLimit = 512 << 20 // of the program's data, by the system
	mostMemory  = 400 << 20 // that it may come to use of it
	slowest     = 2 * time.Second
	// usual is what the chart takes where nobody attacks. The attack and other tests share
	// the machine: the program may be slower by as much as another that is not attacked.
	usual = 20 * time.Millisecond
)

// floods are what one client does to take the server from all others. Each returns
// when ctx ends.
var floods = map[string]func(ctx context.Context, c *remote.Client){
	"batches of lists": func(ctx context.Context, c *remote.Client) {
		repeat(ctx, 16, func() { _, _ = post(ctx, c, batchOf("list_alerts", `{}`)) })
	},
	"answers that are not read": func(ctx context.Context, c *remote.Client) {
		body := batchOf("generate_chart", `{"symbol":"BTCUSDT","interval":"1m","bars":5000,"format":"series"}`)
		repeat(ctx, 24, func() { hang(ctx, c, body, len(body)) })
	},
	"waiting polls": func(ctx context.Context, c *remote.Client) {
		repeat(ctx, 1023, func() { _, _ = post(ctx, c, remote.Request(1, "get_notifications", `{"wait_seconds":240}`)) })
	},
	"batches of charts": func(ctx context.Context, c *remote.Client) {
		body := batchOf("generate_chart", `{"symbol":"BTCUSDT","width":4096,"height":4096,"bars":5000,"interval":"1m"}`)
		repeat(ctx, 32, func() { _, _ = post(ctx, c, body) })
	},
	"half-sent requests": func(ctx context.Context, c *remote.Client) {
		repeat(ctx, 1100, func() { hang(ctx, c, "{"+strings.Repeat(" ", 4096), 1) })
	},
	"large bodies that never end": func(ctx context.Context, c *remote.Client) {
		body := `{"x":"` + strings.Repeat("x", 1<<20-100)
		repeat(ctx, 600, func() { hang(ctx, c, body, len(body)-1) })
	},
}

// repeat does something in so many goroutines again and again until ctx ends. What is
// refused is tried again a moment later.
func repeat(ctx context.Context, goroutines int, do func()) {
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for ctx.Err() == nil {
				do()
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
	all.Wait()
}

// hang sends the beginning of a request and reads nothing until the server closes the
// connection or ctx ends.
func hang(ctx context.Context, c *remote.Client, body string, sent int) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(c.Base, "http://"))
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		strings.TrimPrefix(c.Base, "http://"), c.Token(), len(body), body[:sent]); err != nil {
		return
	}
	if sent < len(body) {
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	select { // it never reads
	case <-time.After(20 * time.Second):
	case <-ctx.Done():
	}
}

// batchOf returns a batch of as many calls as one may have.
func batchOf(tool, arguments string) string {
	calls := make([]string, 64)
	for i := range calls {
		calls[i] = remote.Request(i, tool, arguments)
	}
	return "[" + strings.Join(calls, ",") + "]"
}

// TestFlood_OneClientTakesNothingFromTheOthers attacks the program with a bound on its
// memory. It must live, stay small, and answer another client's chart in time, on a
// new connection each. A second program that nobody attacks draws the same chart
// meanwhile: how long it takes shows how busy the machine is.
func TestFlood_OneClientTakesNothingFromTheOthers(t *testing.T) { //nolint:tparallel // one attack at a time
	t.Parallel()
	onLinux(t)
	tg, beside := attackable(t, memoryLimit), attackable(t, memoryLimit)
	modest, greedy, unharmed := tg.client("modest"), tg.client("greedy"), beside.client("unharmed")
	for _, c := range []*remote.Client{modest, unharmed} {
		c.HTTP = remote.Plain(&http.Transport{DisableKeepAlives: true})
	}
	for range longtest.Pick(60, 150) {
		if status, err := post(t.Context(), greedy, batchOf("set_alert", far)); status != http.StatusOK || err != nil {
			t.Fatal(status, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(floods)) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), longtest.Pick(4*time.Second, 30*time.Second))
			defer cancel()
			var others sync.WaitGroup
			defer others.Wait()
			var control []time.Duration
			others.Go(func() { floods[name](ctx, greedy) })
			others.Go(func() { control = charts(ctx, t, unharmed) })
			took := charts(ctx, t, modest)
			others.Wait()
			memory := tg.status(t, "VmHWM:")
			p99, machine := took[len(took)*99/100], control[len(control)*99/100]
			allowed := time.Duration(float64(slowest) * max(1, machine.Seconds()/usual.Seconds()))
			t.Logf("%d charts of another client: median %v, 99 %% within %v; %d of a server that is not attacked: %v and %v; %d MB",
				len(took), took[len(took)/2], p99, len(control), control[len(control)/2], machine, memory>>20)
			if p99 > allowed {
				t.Errorf("99 %% of another client's charts took up to %v, which must be under %v", p99, allowed)
			}
			if memory > mostMemory {
				t.Errorf("the program used %d MB, which must be under %d", memory>>20, mostMemory>>20)
			}
		})
	}
}

// charts asks for default charts until ctx ends, at least for one, and returns how long
// they took, shortest first. A server ends a connection whose request does not come within
// seconds, as happens where the machine stands still; the client then asks again, and the time
// goes on.
func charts(ctx context.Context, t *testing.T, c *remote.Client) (took []time.Duration) {
	t.Helper()
	for len(took) == 0 || ctx.Err() == nil {
		began := time.Now()
		_, err := c.Call(context.WithoutCancel(ctx), "generate_chart", `{"symbol":"BTCUSDT"}`)
		for try := 1; try < 3 && errors.As(err, new(*url.Error)); try++ {
			_, err = c.Call(context.WithoutCancel(ctx), "generate_chart", `{"symbol":"BTCUSDT"}`)
		}
		if err != nil {
			t.Errorf("another client's chart after %v: %v", time.Since(began), err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}

// memory returns how much memory the program uses.
func (tg *target) memory(t *testing.T) int64 {
	t.Helper()
	return tg.status(t, "VmRSS:")
}

// status returns a figure of the program that the system has, in bytes.
func (tg *target) status(t *testing.T, name string) int64 {
	t.Helper()
	select {
	case <-tg.over:
		t.Fatal("the program has ended")
	default:
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tg.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte(name))
	var kilobytes int64
	if _, err := fmt.Sscan(string(rest), &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

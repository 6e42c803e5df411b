package httpd_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/kit/bucket"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/tool/tooltest"
)

const (
	benchConnections = 32
	benchRequests    = 100 // each, in one turn
)

// tinyCall asks a tool that does next to nothing, so that what is measured is the
// way there and back.
const tinyCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_subscriptions","arguments":{}}}`

// BenchmarkToolCall compares tools/call, with every check and a log line, with a
// handler that writes a constant, both over 32 connections of one run. The metric
// "of_bare" is the share of the bare server's requests per second.
func BenchmarkToolCall(b *testing.B) {
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
	registry := tooltest.Registry(b, &tooltest.Trading{})
	dispatcher := mcptest.ServerLogging(b, registry, io.Discard)
	full := newServerOver(b, dispatcher, httpdtest.Tokens{"good": principal.Caller{Subject: "owner", Key: "k", Scope: principal.Trade}}, func(c *httpd.Config) {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))                                                    //nolint:sloglint // what a line costs is part of the measurement
		c.Limits.Calls, c.Limits.Requests = benchConnections, bucket.Rate{Burst: 1 << 30, Every: time.Nanosecond} // checked, and never reached
	})
	floor, stopFloor := listen(b, func(ctx context.Context, ln net.Listener) error {
		server := &http.Server{Handler: bare, ReadHeaderTimeout: time.Second}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		return server.Serve(ln)
	})
	defer stopFloor()
	ours, stopOurs := listen(b, func(ctx context.Context, ln net.Listener) error { return full.Serve(ctx, ctx, ln) })
	defer stopOurs()

	var ratios []float64
	var bareTime, fullTime time.Duration
	for b.Loop() {
		// In turns, and the median of the turns: a busy machine slows both alike,
		// and one that wakes up in between spoils one turn only.
		bare, full := fire(b, floor, benchRequests), fire(b, ours, benchRequests)
		ratios = append(ratios, bare.Seconds()/full.Seconds())
		bareTime, fullTime = bareTime+bare, fullTime+full
	}
	requests := float64(len(ratios)) * benchConnections * benchRequests
	slices.Sort(ratios)
	b.ReportMetric(requests/bareTime.Seconds(), "bare_req/s")
	b.ReportMetric(requests/fullTime.Seconds(), "tool_req/s")
	b.ReportMetric(ratios[len(ratios)/2], "of_bare")
}

func listen(b *testing.B, serve func(context.Context, net.Listener) error) (addr string, stop func()) {
	b.Helper()
	var config net.ListenConfig
	ln, err := config.Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = serve(ctx, ln)
	}()
	return ln.Addr().String(), func() { cancel(); <-done }
}

// fire sends each requests over every connection and returns how long it took.
// The client is as small as can be, because it shares the processors.
func fire(b *testing.B, addr string, each int) time.Duration {
	b.Helper()
	request := []byte("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\nAccept: application/json, text/event-stream\r\n" +
		"Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(tinyCall)) + "\r\n\r\n" + tinyCall)
	conns := make([]net.Conn, benchConnections)
	for i := range conns {
		conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		conns[i] = conn
	}
	var group sync.WaitGroup
	errs := make(chan error, benchConnections)
	began := time.Now()
	for _, conn := range conns {
		group.Go(func() {
			reader := bufio.NewReader(conn)
			for range each {
				if _, err := conn.Write(request); err != nil {
					errs <- err
					return
				}
				if err := skipAnswer(reader); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	select {
	case err := <-errs:
		b.Fatal(err)
	default:
	}
	return took
}

// skipAnswer reads one answer of status 200 and forgets it.
func skipAnswer(r *bufio.Reader) error {
	length := 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		text := string(line)
		switch {
		case first && !strings.HasPrefix(text, "HTTP/1.1 200"):
			return fmt.Errorf("status line %q", text)
		case text == "\r\n":
			_, err := r.Discard(length)
			return err
		case strings.HasPrefix(text, "Content-Length: "):
			if length, err = strconv.Atoi(strings.TrimSpace(text[16:])); err != nil {
				return err
			}
		}
	}
}

package httpd_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
)

// pipes is a listener over net.Pipe, so that a whole server runs inside a
// synctest bubble and its timeouts pass at once.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// notice is a notification for tests.
func notice(id uint64) notify.Event {
	return notify.NewEvent(id, notify.AlertTriggered, []byte(`{"alert_id":"a"}`))
}

// later is an httpd.Streams that is made inside the bubble, after the server's
// configuration.
type later struct{ httpd.Streams }

// scene is a running server inside a bubble.
type scene struct {
	t    *testing.T // the bubble's own
	p    *pipes
	stop func()
}

// serving runs body against a whole server inside a bubble and stops it.
func serving(t *testing.T, auth httpd.Authorizer, change func(*httpd.Config), body func(*scene)) {
	t.Helper()
	servingOver(t, func(*testing.T) mcp.ToolSet { return mcptest.Toolbox{} }, auth, change, body)
}

// servingOver is serving with tools that are made inside the bubble.
func servingOver(t *testing.T, tools func(*testing.T) mcp.ToolSet, auth httpd.Authorizer, change func(*httpd.Config), body func(*scene)) {
	t.Helper()
	servingMCP(t, func(t *testing.T) *mcp.Server {
		t.Helper()
		return mcptest.Server(t, tools(t))
	}, auth, change, body)
}

// servingMCP is serving with a dispatcher that is made inside the bubble.
func servingMCP(t *testing.T, dispatcher func(*testing.T) *mcp.Server, auth httpd.Authorizer, change func(*httpd.Config), body func(*scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := newServerOver(t, dispatcher(t), auth, change)
		ctx, cancel := context.WithCancel(t.Context())
		hard, kill := context.WithCancel(t.Context())
		defer kill()
		context.AfterFunc(ctx, func() { time.AfterFunc(10*time.Second, kill) })
		p, done := newPipes(), make(chan error, 1)
		go func() { done <- server.Serve(ctx, hard, p) }()
		var once sync.Once
		stop := func() {
			once.Do(func() {
				cancel()
				if err := <-done; err != nil {
					t.Errorf("serve: %v", err)
				}
			})
		}
		body(&scene{t, p, stop})
		stop()
	})
}

func send(t *testing.T, conn io.Writer, format string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(conn, strings.ReplaceAll(format, "\n", "\r\n"), args...); err != nil {
		t.Fatal(err)
	}
}

const openStream = "GET /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer good\n\n"

// head is an answer up to its body.
type head struct {
	status int
	header http.Header
	body   *bufio.Reader
}

func readHead(t *testing.T, conn net.Conn) head {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodGet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return head{response.StatusCode, response.Header, bufio.NewReader(response.Body)}
}

func readFrame(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var frame strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, frame.String())
		}
		if line == "\n" {
			return frame.String()
		}
		frame.WriteString(line)
	}
}

func TestStream_CommentAtOnceThenKeepAliveEach15Seconds(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), nil, func(s *scene) {
		t, p := s.t, s.p
		conn := p.dial(t)
		send(t, conn, openStream)
		response := readHead(t, conn)
		if got := response.header.Get("Content-Type"); response.status != http.StatusOK || got != "text/event-stream" {
			t.Fatalf("status %d, type %q", response.status, got)
		}
		stream, began := response.body, time.Now()
		if frame := readFrame(t, stream); frame != ": connected\n" || time.Since(began) != 0 {
			t.Fatalf("first frame %q after %s", frame, time.Since(began))
		}
		// Past ReadTimeout, WriteTimeout and IdleTimeout together.
		for i := range 20 {
			if frame := readFrame(t, stream); frame != ": keep-alive\n" {
				t.Fatalf("frame %d is %q", i, frame)
			}
			if got, want := time.Since(began), time.Duration(i+1)*15*time.Second; got != want {
				t.Fatalf("keep-alive %d after %s, want %s", i, got, want)
			}
		}
		_ = conn.Close()
	})
}

func TestStream_EventsResumeAndServerStop(t *testing.T) {
	t.Parallel()
	streams := &later{}
	serving(t, httpdtest.One(), func(c *httpd.Config) { c.Streams = streams }, func(s *scene) {
		t, p, stop := s.t, s.p, s.stop
		source := mcptest.NewSource()
		streams.Streams = source
		conn := p.dial(t)
		send(t, conn, "GET /sse HTTP/1.1\nHost: localhost\nAuthorization: Bearer good\nLast-Event-ID: 41\n\n")
		response := readHead(t, conn)
		stream := response.body
		readFrame(t, stream)
		if opened := <-source.Opened; opened.Last != "41" {
			t.Fatalf("resumed after %q", opened.Last)
		}
		source.Send(notice(42))
		if frame := readFrame(t, stream); frame != "event: message\nid: 42\ndata: "+`{"jsonrpc":"2.0","method":"notifications/alert_triggered","params":{"alert_id":"a"}}`+"\n" {
			t.Fatalf("frame %q", frame)
		}
		began, ended := time.Now(), make(chan error, 1)
		go func() {
			rest, err := io.ReadAll(stream)
			if len(rest) > 0 {
				err = fmt.Errorf("%q came after the stop", rest)
			}
			ended <- err
		}()
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Fatalf("an open stream held the stop up for %s", took)
		}
		_ = conn.Close()
	})
}

// TestStream_StopSaysWhenToComeBack is for servers that have others beside them.
func TestStream_StopSaysWhenToComeBack(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), func(c *httpd.Config) { c.Reconnect = time.Second }, func(s *scene) {
		t := s.t
		conn := s.p.dial(t)
		send(t, conn, openStream)
		stream := readHead(t, conn).body
		readFrame(t, stream)
		last := make(chan string, 1)
		go func() {
			rest, _ := io.ReadAll(stream)
			last <- string(rest)
		}()
		s.stop()
		var wait int
		if rest := <-last; !strings.HasSuffix(rest, "\n\n") {
			t.Fatalf("%q is no frame", rest)
		} else if _, err := fmt.Sscanf(rest, "retry: %d", &wait); err != nil || wait < 500 || wait >= 1500 {
			t.Errorf("the last frame is %q", rest)
		}
		_ = conn.Close()
	})
}

func TestStream_SecondOfAKindTakesOver(t *testing.T) {
	t.Parallel()
	tokens := httpdtest.One()
	tokens["other"] = principal.Caller{Subject: "owner", Key: "key-of-other", Scope: principal.Trade}
	serving(t, tokens, nil, func(s *scene) {
		t, p := s.t, s.p
		open := func(token string) (*bufio.Reader, net.Conn) {
			conn := p.dial(t)
			send(t, conn, "GET /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer %s\n\n", token)
			stream := readHead(t, conn).body
			readFrame(t, stream)
			return stream, conn
		}
		first, conn1 := open("good")
		second, conn2 := open("other")
		third, conn3 := open("good")
		if rest, err := io.ReadAll(first); err != nil || len(rest) > 0 {
			t.Fatalf("the first stream gave %q, %v", rest, err)
		}
		for name, stream := range map[string]*bufio.Reader{"another token's": second, "the newer": third} {
			if frame := readFrame(t, stream); frame != ": keep-alive\n" {
				t.Fatalf("%s stream gave %q", name, frame)
			}
		}
		_, _, _ = conn1.Close(), conn2.Close(), conn3.Close()
	})
}

func TestStream_EndsWithItsToken(t *testing.T) {
	t.Parallel()
	tokens := httpdtest.One()
	serving(t, tokens, nil, func(s *scene) {
		t, p := s.t, s.p
		tokens["good"] = principal.Caller{Subject: "owner", Key: "k", Scope: principal.Trade, Expires: time.Now().Add(40 * time.Second)}
		conn, began := p.dial(t), time.Now()
		send(t, conn, openStream)
		stream := readHead(t, conn).body
		rest, err := io.ReadAll(stream)
		if err != nil || string(rest) != ": connected\n\n: keep-alive\n\n: keep-alive\n\n" || time.Since(began) != 40*time.Second {
			t.Fatalf("%q, %v after %s", rest, err, time.Since(began))
		}
		_ = conn.Close()
	})
}

const waitCall = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"wait"}}`

func sendPost(t *testing.T, conn io.Writer, body string) {
	t.Helper()
	send(t, conn, "POST /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer good\nContent-Length: %d\n\n%s", len(body), body)
}

// A call may wait four minutes for an alert, longer than ReadTimeout and
// WriteTimeout: neither may end it.
func TestMessage_LongCallOutlivesTheTimeouts(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), nil, func(s *scene) {
		t, p := s.t, s.p
		caller, began := p.dial(t), time.Now()
		sendPost(t, caller, waitCall)
		time.Sleep(240 * time.Second)
		other := p.dial(t)
		sendPost(t, other, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
		for name, conn := range map[string]net.Conn{"cancelled": caller, "cancelling": other} {
			response := readHead(t, conn)
			if response.status != http.StatusAccepted || time.Since(began) != 240*time.Second {
				t.Errorf("%s call: status %d after %s", name, response.status, time.Since(began))
			}
			_ = conn.Close()
		}
	})
}

func TestMessage_ClosedRequestCancelsItsCall(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), nil, func(s *scene) {
		t, p, stop := s.t, s.p, s.stop
		conn := p.dial(t)
		sendPost(t, conn, waitCall)
		synctest.Wait()
		_ = conn.Close()
		began := time.Now()
		stop() // would last for the grace period if the call still ran
		if took := time.Since(began); took >= time.Second {
			t.Fatalf("the call ran on for %s", took)
		}
	})
}

func TestServe_StopWaitsForCallsWithinTheGrace(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), nil, func(s *scene) {
		t, p, stop := s.t, s.p, s.stop
		conn, began := p.dial(t), time.Now()
		sendPost(t, conn, waitCall)
		synctest.Wait()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		stop()
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Fatalf("stopped after %s, want the grace of 10 s", took)
		}
		_ = conn.Close()
	})
}

func TestServe_StopEndsCallsThatOnlyWait(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), nil, func(s *scene) {
		t, conn, began := s.t, s.p.dial(s.t), time.Now()
		sendPost(t, conn, strings.Replace(waitCall, "wait", "idle", 1))
		synctest.Wait()
		answer := make(chan string, 1)
		go func() {
			data, _ := io.ReadAll(conn)
			answer <- string(data)
		}()
		s.stop()
		if took := time.Since(began); took > time.Second {
			t.Errorf("stopped after %s", took)
		}
		if got := <-answer; !strings.Contains(got, "nothing came") {
			t.Errorf("the call was answered with %q", got)
		}
	})
}

func TestMessage_SlowBodyTimesOut(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), nil, func(s *scene) {
		t, p := s.t, s.p
		conn, began := p.dial(t), time.Now()
		send(t, conn, "POST /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer good\nContent-Length: 100\n\n{")
		response := readHead(t, conn)
		if response.status != http.StatusRequestTimeout || time.Since(began) != 30*time.Second {
			t.Fatalf("status %d after %s", response.status, time.Since(began))
		}
		_ = conn.Close()
	})
}

func TestServe_SlowHeaderTimesOut(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), nil, func(s *scene) {
		t, p := s.t, s.p
		conn, began := p.dial(t), time.Now()
		send(t, conn, "POST /mcp HTTP/1.1\nHost: loc")
		_, _ = io.ReadAll(conn)
		if took := time.Since(began); took != 5*time.Second {
			t.Fatalf("held for %s", took)
		}
		_ = conn.Close()
	})
}

// A peer that does not read must not hold a stream's goroutine for ever.
func TestStream_StuckPeerIsDropped(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), nil, func(s *scene) {
		t, p, stop := s.t, s.p, s.stop
		conn := p.dial(t)
		send(t, conn, openStream)
		time.Sleep(5 * time.Minute)
		began := time.Now()
		stop()
		if took := time.Since(began); took != 0 {
			t.Fatalf("the stream was still being written %s after the stop", took)
		}
		_ = conn.Close()
	})
}

func TestLog_NeverHoldsTheToken(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	tokens := httpdtest.Tokens{"s3cret-good": {Subject: "owner", Key: "k"}}
	handle := slog.New(slog.NewTextHandler(&log, nil))
	server, err := httpd.New(mcptest.ServerLogging(t, mcptest.Toolbox{}, &log), tokens, httpd.Config{BaseURL: base, Log: handle})
	if err != nil {
		t.Fatal(err)
	}
	handler := server.Handler()
	for _, request := range []string{
		"POST /mcp?access_token=s3cret-query HTTP/1.1\nHost: localhost\nAuthorization: Bearer s3cret-good\n\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		"POST /mcp?access_token=s3cret-query HTTP/1.1\nHost: localhost\nAuthorization: Bearer s3cret-bad\n\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		"POST /mcp HTTP/1.1\nHost: localhost\n\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
	} {
		replay(t, handler, []byte(request))
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 3 || strings.Contains(log.String(), "s3cret") {
		t.Fatalf("log:\n%s", log.String())
	}
	for i, want := range []string{"authorization=true", "authorization=true", "authorization=false"} {
		if !strings.Contains(lines[i], "[MCP] ") || !strings.Contains(lines[i], want) || !strings.Contains(lines[i], "request_id=") {
			t.Errorf("line %d lacks the prefix, %s or the request id: %s", i, want, lines[i])
		}
	}
}

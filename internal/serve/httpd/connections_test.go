package httpd_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
)

const pingCall = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// Requests that come by halves make room for whole ones. Streams and connections
// between two requests stay.
func TestConnections_SlowOnesMakeRoom(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), func(c *httpd.Config) { c.MaxConnections = 16 }, func(s *scene) {
		t, p := s.t, s.p
		stream := p.dial(t)
		send(t, stream, openStream)
		readFrame(t, readHead(t, stream).body)
		kept := p.dial(t)
		sendPost(t, kept, pingCall)
		readHead(t, kept)
		var halves []net.Conn
		for i := range 14 {
			conn := p.dial(t)
			switch i % 3 {
			case 0: // nothing at all
			case 1:
				send(t, conn, "POST /mcp HTTP/1.1\nHost: loc")
			case 2:
				send(t, conn, "POST /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer good\nContent-Length: 100\n\n{")
			}
			halves = append(halves, conn)
		}
		synctest.Wait()
		for range 20 {
			began := time.Now()
			conn := p.dial(t)
			sendPost(t, conn, pingCall)
			if response := readHead(t, conn); response.status != http.StatusOK {
				t.Fatalf("status %d", response.status)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Fatalf("a request waited %v for room", took)
			}
			_ = conn.Close()
			synctest.Wait()
		}
		sendPost(t, kept, pingCall)
		if response := readHead(t, kept); response.status != http.StatusOK {
			t.Errorf("the connection between two requests: %d", response.status)
		}
		for _, conn := range append(halves, stream, kept) {
			_ = conn.Close()
		}
	})
}

// Where nobody is slow a new connection waits until another is closed.
func TestConnections_WaitForRoom(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), func(c *httpd.Config) { c.MaxConnections = 1 }, func(s *scene) {
		t, p := s.t, s.p
		first := p.dial(t)
		sendPost(t, first, waitCall)
		synctest.Wait()
		second := p.dial(t)
		answered := make(chan int, 1)
		go func() {
			sendPost(t, second, pingCall)
			answered <- readHead(t, second).status
		}()
		time.Sleep(time.Minute)
		select {
		case <-answered:
			t.Error("a second connection was served where one may be")
		default:
		}
		_ = first.Close()
		if status := <-answered; status != http.StatusOK {
			t.Errorf("status %d", status)
		}
		_, _ = io.WriteString(second, "") // it is still open
		_ = second.Close()
	})
}

// A client that is refused in the middle of its body can read why.
func TestConnections_ARefusalCanBeRead(t *testing.T) {
	t.Parallel()
	var listen net.ListenConfig
	ln, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- newServer(t, nil).Serve(ctx, t.Context(), ln) }()
	for range 5 {
		var dialer net.Dialer
		conn, err := dialer.DialContext(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		send(t, conn, "POST /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer good\nContent-Length: %d\n\n", 8<<20)
		for range 4 { // as a proxy that sends on while the answer is on its way
			if _, err := conn.Write(make([]byte, 16<<10)); err != nil {
				t.Errorf("the connection is closed before the answer is read: %v", err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		if got := readHead(t, conn).status; got != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d", got)
		}
		_ = conn.Close()
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

package replicatest

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/store/replica/natstest"
)

// Proxy forwards a connection to the servers and can cut it, or delay the replies.
type Proxy struct {
	URL string

	mu    sync.Mutex
	armed int // replies until the cut; 0 for none
	over  bool
	delay time.Duration // of every reply
}

// reply is what a server sent, and when the client gets it.
type reply struct {
	data []byte
	at   time.Time
}

// NewProxy starts a proxy to the servers. It ends with the test.
func NewProxy(t *testing.T, to *natstest.Cluster) *Proxy {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Proxy{URL: "nats://" + listener.Addr().String()}
	server := strings.TrimPrefix(strings.Split(to.URL(), ",")[0], "nats://")
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := new(net.Dialer).DialContext(context.Background(), "tcp", server)
			if err != nil {
				_ = client.Close()
				return
			}
			go func() { _, _ = io.Copy(upstream, client); _ = upstream.Close() }()
			go l.answer(client, upstream)
		}
	}()
	return l
}

// answer forwards the server's replies.
func (l *Proxy) answer(client, upstream net.Conn) {
	defer func() { _ = upstream.Close() }()
	replies := make(chan reply, 1024)
	defer close(replies)
	go func() {
		defer func() { _ = client.Close() }()
		for r := range replies {
			<-time.After(time.Until(r.at))
			if _, err := client.Write(r.data); err != nil {
				_ = upstream.Close()
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := upstream.Read(buffer)
		if err != nil || l.cutsAt(buffer[:n]) {
			return
		}
		l.mu.Lock()
		at := time.Now().Add(l.delay)
		l.mu.Unlock()
		replies <- reply{bytes.Clone(buffer[:n]), at}
	}
}

// Delay lets the client get every later reply that much later than the server sent it.
func (l *Proxy) Delay(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = by
}

// cutsAt reports whether a reply cuts the connection.
func (l *Proxy) cutsAt(said []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.armed == 0 || !strings.Contains(string(said), `"seq":`) {
		return false
	}
	l.armed--
	l.over = l.armed == 0
	return l.over
}

// CutAtNextReply closes the connection in place of the next reply.
func (l *Proxy) CutAtNextReply() { l.CutAtReply(1) }

// CutAtReply cuts the connection at one of the next replies, counted from 1.
func (l *Proxy) CutAtReply(answer int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = answer
}

// IsCut reports whether the connection was closed.
func (l *Proxy) IsCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

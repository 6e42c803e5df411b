package cluster_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"candela/internal/store/cluster/natstest"
)

// line is the way to the servers, which can be cut at a bad moment.
type line struct {
	url string

	mu    sync.Mutex
	armed int // how many answers are left until one cuts it; 0 for none
	over  bool
}

func newLine(t *testing.T, to *natstest.Cluster) *line {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{url: "nats://" + listener.Addr().String()}
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

// answer passes on what the server says.
func (l *line) answer(client, upstream net.Conn) {
	defer func() { _, _ = client.Close(), upstream.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := upstream.Read(buffer)
		if err != nil || l.cutsAt(buffer[:n]) {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// cutsAt reports whether an answer to a read or a write cuts the line.
func (l *line) cutsAt(said []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.armed == 0 || !strings.Contains(string(said), `"seq":`) {
		return false
	}
	l.armed--
	l.over = l.armed == 0
	return l.over
}

func (l *line) deafen() { l.deafenAt(1) }

// deafenAt has one of the next answers cut the line, counted from 1.
func (l *line) deafenAt(answer int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = answer
}

func (l *line) cut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

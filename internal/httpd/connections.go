package httpd

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// slowAfter is how long a client may take over a request, before its connection may be
// closed to make room for another. Requests are small, and most come whole.
const slowAfter = time.Second

// connections holds at most so many connections open. When there are that many, a new
// one takes the place of the one whose request has been on its way for longest, if
// that is longer than slowAfter: whoever sends requests by halves keeps nobody out.
// Connections that wait for an answer, that carry a stream or that are idle between
// requests are not closed for it; where there are no others, a new one waits. It is
// safe for concurrent use.
type connections struct {
	most int

	mu    sync.Mutex
	open  map[net.Conn]*connection
	freed chan struct{} // gets a value when there is room; holds one
	cut   uint64        // connections that made room
}

// connection is one of them.
type connection struct {
	all *connections
	// since is when the request on its way began to come, or when the connection was
	// opened; zero while none is on its way.
	since time.Time
}

func newConnections(most int) *connections {
	return &connections{most: most, open: make(map[net.Conn]*connection), freed: make(chan struct{}, 1)}
}

// listen returns ln with the bound.
func (c *connections) listen(ln net.Listener) net.Listener {
	return &boundListener{Listener: ln, all: c, closed: make(chan struct{})}
}

type boundListener struct {
	net.Listener
	all    *connections
	closed chan struct{}
	once   sync.Once
}

// Accept waits for a connection and then for room for it.
func (l *boundListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	for !l.all.add(conn) {
		// Some request may become slow before anything is closed.
		timer := time.NewTimer(slowAfter / 4)
		select {
		case <-l.all.freed:
			timer.Stop()
		case <-timer.C:
		case <-l.closed:
			timer.Stop()
			_ = conn.Close()
			return nil, net.ErrClosed
		}
	}
	return conn, nil
}

func (l *boundListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// add takes a new connection in, if there is or can be made room.
func (c *connections) add(conn net.Conn) bool {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.most {
		slowest := c.slowest(now)
		if slowest == nil {
			return false
		}
		delete(c.open, slowest)
		c.cut++
		_ = slowest.Close() // its server goroutine notices
	}
	c.open[conn] = &connection{all: c, since: now}
	return true
}

// slowest returns the connection whose request has been on its way for longest, nil
// where none is slow.
func (c *connections) slowest(now time.Time) net.Conn {
	var found net.Conn
	oldest := now.Add(-slowAfter)
	for conn, one := range c.open {
		if !one.since.IsZero() && one.since.Before(oldest) {
			found, oldest = conn, one.since
		}
	}
	return found
}

// changed is the server's hook for connections.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.open[conn]
	if one == nil {
		return
	}
	switch state {
	case http.StateNew, http.StateActive:
		if one.since.IsZero() {
			one.since = time.Now()
		}
	case http.StateIdle:
		one.since = time.Time{}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
		select {
		case c.freed <- struct{}{}:
		default:
		}
	}
}

type connectionKey struct{}

// withConnection is the server's hook for the contexts of requests.
func (c *connections) withConnection(ctx context.Context, conn net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return context.WithValue(ctx, connectionKey{}, c.open[conn])
}

// follow tells connections apart by whether their request has arrived. While few are
// left it closes each after its answer: idle ones are for the comfort of whoever holds
// them, and must not keep others out.
func (c *connections) follow(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			arrived(r.Context())
		} else {
			r.Body = arriving{r.Body, r.Context()}
		}
		if open, _ := c.count(); open > c.most*3/4 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// arriving is a body that notes when it has arrived.
type arriving struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // of the request, which the body is part of
}

func (a arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		arrived(a.ctx)
	}
	return n, err
}

// arrived notes that a request has come whole: from here on its client waits for us.
func arrived(ctx context.Context) {
	one, _ := ctx.Value(connectionKey{}).(*connection)
	if one == nil {
		return
	}
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	one.since = time.Time{}
}

// count returns how many connections are open, and how many were closed to make room.
func (c *connections) count() (open int, cut uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open), c.cut
}

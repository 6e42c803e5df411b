package httpd

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"candela/internal/kit/bucket"
)

// slowAfter is how long a client may take to send a request or to read an answer,
// before its connection may be closed to make room for another.
const slowAfter = time.Second

// connections holds at most so many connections open, and fewer from one address. When
// there are as many as there may be, a new one takes the place of the one that has been
// sending its request or reading its answer for longest, if that is longer than
// slowAfter. Connections that wait for an answer, that carry a stream or that are idle
// between requests are not closed for it; where there are no others, a new one waits.
// One too many from its address is closed at once. It is safe for concurrent use.
type connections struct {
	most, perAddress int
	proxies          []netip.Prefix

	mu        sync.Mutex
	open      map[net.Conn]*connection
	addresses map[netip.Addr]int
	freed     chan struct{} // gets a value when there is room; holds one
	cut       uint64        // connections that made room
	refused   uint64        // connections, because their address had as many as it may
}

// connection is one of them.
type connection struct {
	all     *connections
	address netip.Addr // zero where it does not count
	// since is when the client began to send a request or to read an answer, or when
	// the connection was opened; zero while it does neither.
	since time.Time
}

func newConnections(most, perAddress int, proxies []netip.Prefix) *connections {
	return &connections{
		most: most, perAddress: perAddress, proxies: proxies,
		open: make(map[net.Conn]*connection), addresses: make(map[netip.Addr]int), freed: make(chan struct{}, 1),
	}
}

// countsFor returns the address that a connection counts against: none for this
// machine and for proxies, behind which there are many clients.
func (c *connections) countsFor(conn net.Conn) netip.Addr {
	address := peerAddress(conn.RemoteAddr().String())
	if !address.IsValid() || address.IsLoopback() || within(c.proxies, address) {
		return netip.Addr{}
	}
	return bucket.Network(address)
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

// Accept waits for a connection that its address may have, and then for room for it.
func (l *boundListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	for err == nil && l.all.tooMany(conn) {
		_ = conn.Close()
		conn, err = l.Listener.Accept()
	}
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

// tooMany reports whether an address has as many connections as it may.
func (c *connections) tooMany(conn net.Conn) bool {
	address := c.countsFor(conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !address.IsValid() || c.addresses[address] < c.perAddress {
		return false
	}
	c.refused++
	return true
}

// add takes a new connection in, if there is or can be made room.
func (c *connections) add(conn net.Conn) bool {
	now, address := time.Now(), c.countsFor(conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.most && !c.close(c.slowest(now)) {
		return false
	}
	c.open[conn] = &connection{all: c, address: address, since: now}
	if address.IsValid() {
		c.addresses[address]++
	}
	return true
}

// cutSlowest closes the slowest connection, if any is slow.
func (c *connections) cutSlowest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close(c.slowest(time.Now()))
}

// close closes a connection to make room and reports whether there is one.
func (c *connections) close(conn net.Conn) bool {
	if conn == nil {
		return false
	}
	c.forget(conn)
	c.cut++
	_ = conn.Close() // its server goroutine notices
	return true
}

// forget removes a connection that is open.
func (c *connections) forget(conn net.Conn) {
	address := c.open[conn].address
	delete(c.open, conn)
	if c.addresses[address]--; c.addresses[address] <= 0 {
		delete(c.addresses, address)
	}
}

// slowest returns the connection that has been sending or reading for longest, nil
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
		c.forget(conn)
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
			setUnfinished(r.Context(), time.Time{})
		} else {
			// A copy, because the server looks at the body of its own request to see whether
			// some of it is left: then it lets the client read the answer before it closes.
			body := arriving{r.Body, r.Context()}
			r = r.WithContext(r.Context())
			r.Body = body
		}
		if c.crowded() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// crowded reports whether few connections are left.
func (c *connections) crowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > c.most*3/4
}

// arriving is a body that notes when it has arrived.
type arriving struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // of the request, which the body is part of
}

func (a arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		setUnfinished(a.ctx, time.Time{})
	}
	return n, err
}

// setUnfinished notes since when a request has been coming or an answer has been read,
// or with the zero time that it is done.
func setUnfinished(ctx context.Context, since time.Time) {
	one, _ := ctx.Value(connectionKey{}).(*connection)
	if one == nil {
		return
	}
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	one.since = since
}

// count returns how many connections are open, how many were closed to make room, and
// the budgets of connections.
func (c *connections) count() (open int, cut uint64, budgets []Budget) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := 0
	for _, n := range c.addresses {
		most = max(most, n)
	}
	return len(c.open), c.cut, []Budget{
		{"connections", "all", float64(c.most), float64(len(c.open)), c.cut},
		{"connections", "address", float64(c.perAddress), float64(most), c.refused},
	}
}

package httpd

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"candela/internal/kit/bucket"
)

// slowAfter is how long a client may send a request or read a response before its
// connection may be closed to make room for another.
const slowAfter = time.Second

// connections limits the open connections, in total and per address. At the limit a new
// one replaces the one that has been sending its request or reading its response for
// longest, if that is longer than slowAfter. Connections that wait for a response, carry
// a stream or are idle are not closed; if there are no others, the new one waits. A
// connection beyond the limit of its address is closed immediately. It is safe for
// concurrent use.
type connections struct {
	most, perAddress int
	proxies          []netip.Prefix

	mu        sync.Mutex
	open      map[net.Conn]*connection
	addresses map[netip.Addr]int
	freed     chan struct{} // signals room; capacity 1
	cut       uint64        // connections closed to make room
	refused   uint64        // connections beyond the limit of their address
}

// connection is the state of one connection.
type connection struct {
	all     *connections
	address netip.Addr // zero if not limited
	// since is when the client started to send a request or to read a response, or when
	// the connection was opened; zero while it does neither.
	since time.Time
}

func newConnections(most, perAddress int, proxies []netip.Prefix) *connections {
	return &connections{
		most: most, perAddress: perAddress, proxies: proxies,
		open: make(map[net.Conn]*connection), addresses: make(map[netip.Addr]int), freed: make(chan struct{}, 1),
	}
}

// countsFor returns the address whose limit a connection counts against: none for this
// machine and for proxies, which serve many clients.
func (c *connections) countsFor(conn net.Conn) netip.Addr {
	address := peerAddress(conn.RemoteAddr().String())
	if !address.IsValid() || address.IsLoopback() || within(c.proxies, address) {
		return netip.Addr{}
	}
	return bucket.Network(address)
}

// listen returns ln with the limits.
func (c *connections) listen(ln net.Listener) net.Listener {
	return &boundListener{Listener: ln, all: c, closed: make(chan struct{})}
}

type boundListener struct {
	net.Listener
	all    *connections
	closed chan struct{}
	once   sync.Once
}

// Accept waits for a connection within the limit of its address, and then for room.
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
		// A connection may become slow before any is closed.
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

// tooMany reports whether the address of a connection has reached its limit.
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

// add adds a connection if there is room or a slow one can be closed.
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

// close closes conn, if not nil, to make room and reports whether it did.
func (c *connections) close(conn net.Conn) bool {
	if conn == nil {
		return false
	}
	c.forget(conn)
	c.cut++
	_ = conn.Close() // its server goroutine notices
	return true
}

// forget removes an open connection.
func (c *connections) forget(conn net.Conn) {
	address := c.open[conn].address
	delete(c.open, conn)
	if c.addresses[address]--; c.addresses[address] <= 0 {
		delete(c.addresses, address)
	}
}

// slowest returns the connection that has been sending or reading for longest, or nil if
// none is slow.
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

// changed is the server's ConnState hook.
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

// withConnection is the server's ConnContext hook.
func (c *connections) withConnection(ctx context.Context, conn net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return context.WithValue(ctx, connectionKey{}, c.open[conn])
}

// follow records when the request of a connection has arrived. While few connections are
// left it closes each after its response, so that idle ones do not keep others out.
func (c *connections) follow(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			setUnfinished(r.Context(), time.Time{})
		} else {
			// A copy, because net/http checks the body of its own request for unread data,
			// so that the client can read the response before the connection closes.
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

// arriving is a body that records when it has arrived.
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

// setUnfinished records when the client started to send a request or to read a response;
// the zero time means that it is done.
func setUnfinished(ctx context.Context, since time.Time) {
	one, _ := ctx.Value(connectionKey{}).(*connection)
	if one == nil {
		return
	}
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	one.since = since
}

// count returns the number of open connections and their budgets.
func (c *connections) count() (open int, budgets []Budget) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := 0
	for _, n := range c.addresses {
		most = max(most, n)
	}
	return len(c.open), []Budget{
		{"connections", "all", float64(c.most), float64(len(c.open)), c.cut},
		{"connections", "address", float64(c.perAddress), float64(most), c.refused},
	}
}

// ClientAddress returns a function that returns the address whose rate limit a request
// counts against: the peer or, if the peer is a trusted proxy, the nearest address in
// X-Forwarded-For that is not one. Entries further left are unverified and ignored. The
// address is used for limits only.
func ClientAddress(trusted []netip.Prefix) func(*http.Request) netip.Addr {
	return func(r *http.Request) netip.Addr {
		address := peerAddress(r.RemoteAddr)
		hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
		for _, hop := range slices.Backward(hops) {
			if !within(trusted, address) {
				break
			}
			next, ok := parseHop(hop)
			if !ok {
				break
			}
			address = next
		}
		return address
	}
}

// peerAddress returns the address of a peer without its port, or the zero value.
func peerAddress(peer string) netip.Addr {
	parsed, err := netip.ParseAddrPort(peer)
	if err != nil {
		return netip.Addr{}
	}
	return parsed.Addr().Unmap().WithZone("")
}

// within reports whether one of the prefixes contains an address.
func within(prefixes []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(address) })
}

// parseHop parses an address in X-Forwarded-For; some proxies add the port.
func parseHop(hop string) (netip.Addr, bool) {
	hop = strings.TrimSpace(hop)
	if withPort, err := netip.ParseAddrPort(hop); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	address, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	return address.Unmap().WithZone(""), err == nil
}

// Package fake holds what the fake venues below it share: a network inside the
// process, faults that can be switched, and prices that move. The fakes are real
// HTTP and WebSocket servers; tests and cmd/fakevenue run them, the product never
// does.
package fake

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Network is a network inside the process. Its connections are channels, so that
// everything over it runs in the virtual time of testing/synctest. It is safe for
// concurrent use.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	down      bool
	conns     map[net.Conn]struct{}
}

// NewNetwork returns a network on which nobody listens.
func NewNetwork() *Network {
	return &Network{listeners: make(map[string]*listener), conns: make(map[net.Conn]struct{})}
}

// Dial connects to a listener, as net.Dialer.DialContext does.
func (n *Network) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	l, down := n.listeners[address], n.down
	n.mu.Unlock()
	if l == nil || down {
		return nil, fmt.Errorf("dial %s: connection refused", address)
	}
	client, server := net.Pipe()
	select {
	case l.incoming <- server:
		n.mu.Lock()
		n.conns[client] = struct{}{}
		n.mu.Unlock()
		return client, nil
	case <-l.closed:
		return nil, fmt.Errorf("dial %s: connection refused", address)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// SetDown cuts every connection and refuses new ones, or lets them through again.
func (n *Network) SetDown(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
	if down {
		for c := range n.conns {
			_ = c.Close()
		}
		clear(n.conns)
	}
}

// Serve answers at the address until stop is called, which returns when the
// server has.
func (n *Network) Serve(address string, h http.Handler) (stop func()) {
	l := &listener{address: address, incoming: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	n.listeners[address] = l
	n.mu.Unlock()
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) })
	return func() {
		_ = server.Close()
		n.SetDown(true) // connections that were hijacked are not the server's to close
		done.Wait()
	}
}

type listener struct {
	address  string
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return address(l.address) }

type address string

func (address) Network() string  { return "fake" }
func (a address) String() string { return string(a) }

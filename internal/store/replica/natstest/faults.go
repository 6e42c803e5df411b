package natstest

import (
	"bytes"
	"context"
	"net"
	"sync"
)

// Faults is a dialer whose connections replace text in the messages that a client
// sends. It is safe for concurrent use. A client writes whole messages, so no text is
// split between two writes.
type Faults struct {
	mu    sync.Mutex
	rules map[*rule]bool
}

type rule struct {
	from, to []byte
	left     int // remaining replacements; negative for no limit
}

// Replace replaces a text with another of the same length in messages sent from now on: the
// first times occurrences, or all if times is negative, until undo is called.
func (f *Faults) Replace(from, to string, times int) (undo func()) {
	if len(from) != len(to) {
		panic("natstest: " + from + " and " + to + " differ in length")
	}
	r := &rule{[]byte(from), []byte(to), times}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rules == nil {
		f.rules = make(map[*rule]bool)
	}
	f.rules[r] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.rules, r)
	}
}

// Dial implements nats.CustomDialer.
func (f *Faults) Dial(network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(context.Background(), network, address)
	if err != nil {
		return nil, err
	}
	return faultConn{c, f}, nil
}

func (f *Faults) apply(p []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.rules {
		n := bytes.Count(p, r.from)
		if r.left >= 0 {
			n = min(n, r.left)
			r.left -= n
		}
		p = bytes.Replace(p, r.from, r.to, n) // copies p, which belongs to the client
	}
	return p
}

type faultConn struct {
	net.Conn

	faults *Faults
}

func (c faultConn) Write(p []byte) (int, error) { return c.Conn.Write(c.faults.apply(p)) }

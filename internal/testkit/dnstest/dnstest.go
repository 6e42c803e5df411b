// Package dnstest answers DNS questions with scripted addresses.
package dnstest

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Zone holds the addresses of a DNS name. It is safe for concurrent use.
type Zone struct {
	mu    sync.Mutex
	addrs []netip.Addr
	asked int // since they were set
}

// Set makes the first question from now on be answered with the first address and so
// on, and all further ones with the last.
func (z *Zone) Set(addrs ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.addrs, z.asked = nil, 0
	for _, text := range addrs {
		z.addrs = append(z.addrs, netip.MustParseAddr(text))
	}
}

func (z *Zone) answer() netip.Addr {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked++
	return z.addrs[min(z.asked, len(z.addrs))-1]
}

// Questions returns how many there were. One whose answer is late is asked again.
func (z *Zone) Questions() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.asked
}

// Resolver returns scripted answers to IPv4 lookups, as a hostile name server would.
func Resolver(tb testing.TB) (*net.Resolver, *Zone) {
	tb.Helper()
	records := new(Zone)
	serve := func(conn net.PacketConn) {
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil {
				return
			}
			m.Response = true
			m.Additionals = nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class},
					Body:   &dnsmessage.AResource{A: records.answer().As4()},
				}}
			}
			packed, err := m.Pack()
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(packed, from)
		}
	}
	var listen net.ListenConfig
	conn, err := listen.ListenPacket(tb.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(conn)
	}()
	tb.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}, records
}

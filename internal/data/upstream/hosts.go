package upstream

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Hosts holds the limits and connections that callers of a host share. It is safe for
// concurrent use. A program has one.
type Hosts struct {
	// OnClockSkew is called when the clock of a host begins to differ from ours by seconds,
	// and with 0 when they agree again. It may be nil and is set before the first client.
	OnClockSkew func(venue string, skew time.Duration)
	// Apart runs work that everything else should go before, see fair.Apart: parsing the answers
	// to requests in the background, which then come one after the other with breaks. It is nil
	// for programs with nothing more urgent, and set before the first client.
	Apart func(work func() error) error

	dial  DialFunc
	mu    sync.Mutex
	hosts map[string]*host // by scheme and authority; bounded by the configuration
}

// DialFunc opens a network connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// host is one address of a venue.
type host struct {
	limiter limiter
	clock   clock
	rest    *http.Client
	writes  *http.Client // for all methods but GET
	sockets *http.Client
	apart   func(work func() error) error
	parsing sync.Mutex     // held while a response to a request in the background is parsed
	parsers sync.WaitGroup // of the goroutines that do so
}

// NewHosts returns a Hosts that opens connections with dial, or with the
// operating system when dial is nil.
func NewHosts(dial DialFunc) *Hosts {
	return &Hosts{dial: dial, hosts: make(map[string]*host)}
}

// Close closes idle connections, and waits until no response is parsed in the background. It does
// not affect requests in flight.
func (h *Hosts) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.hosts {
		one.rest.CloseIdleConnections()
		one.writes.CloseIdleConnections()
		one.sockets.CloseIdleConnections()
		one.parsers.Wait()
	}
	return nil
}

// hostFor returns the host of an address.
func (h *Hosts) hostFor(base *url.URL) *host {
	key := base.Scheme + "://" + base.Host
	h.mu.Lock()
	defer h.mu.Unlock()
	one, ok := h.hosts[key]
	if !ok {
		// Writes use HTTP/1.1: with HTTP/2, net/http repeats a request whose stream the
		// host resets, and an order must be sent once.
		one = &host{apart: h.Apart, rest: h.client(maxConnections, true), writes: h.client(maxConnections, false), sockets: h.client(0, false)}
		if h.Apart != nil {
			one.limiter.spacing = backgroundSpacing
		} else {
			one.apart = func(work func() error) error { return work() }
		}
		h.hosts[key] = one
	}
	return one
}

const (
	maxConnections = 32 // of requests to one host; sockets are counted by their owners
	dialTimeout    = 10 * time.Second
	idleTimeout    = 90 * time.Second
)

func (h *Hosts) client(connections int, http2 bool) *http.Client {
	dial := h.dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dial,
			ForceAttemptHTTP2:   http2, // a WebSocket needs HTTP/1.1
			MaxConnsPerHost:     connections,
			MaxIdleConnsPerHost: 4,
			IdleConnTimeout:     idleTimeout,
			TLSHandshakeTimeout: dialTimeout,
		},
		// A redirect of an API is a login page or a block. Following it would send a
		// signature to an unknown host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// maxSkew bounds the difference between our clock and that of a host. Bars close by the
// venue's clock, alerts are created by ours.
const maxSkew = 5 * time.Second

// clock compares a host's clock with ours. It is safe for concurrent use.
type clock struct{ off atomic.Bool }

// compare reports whether the skew has passed maxSkew since the last call, in either
// direction; agreement is a skew of 0. A cached response, with an Age, is ignored.
func (c *clock) compare(h http.Header, asked, came time.Time) (skew time.Duration, changed bool) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || h.Get("Age") != "" {
		return 0, false
	}
	// The response was created between asked and came; Date has whole seconds.
	earliest, latest := date.Sub(came), date.Add(time.Second).Sub(asked)
	off := earliest > maxSkew || latest < -maxSkew
	if off {
		skew = (earliest + latest) / 2
	}
	return skew, c.off.Swap(off) != off
}

// Loopback reports whether the host of an address is this machine.
func Loopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // RFC 6761 6.3
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

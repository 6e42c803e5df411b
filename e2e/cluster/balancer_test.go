package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// backend is a replica as the balancer sees it.
type backend struct {
	http   http.RoundTripper
	health func(ctx context.Context) bool
	bad    atomic.Int32 // failed checks in a row
	taken  atomic.Int64 // requests
}

// How the balancer finds out, as those in deploy do.
const (
	checkEvery = 500 * time.Millisecond
	checkTime  = time.Second
	checkFails = 2
)

func (b *backend) up() bool { return b.bad.Load() < checkFails }

// balancer shares requests among backends in turns. A request that could not be
// handed over goes to the next; one that was and got no answer has failed, because
// nobody knows what came of it. Streams of a backend that fails its checks stay.
type balancer struct {
	backends []*backend
	turn     atomic.Uint64
	server   *httptest.Server
}

func newBalancer(tb testing.TB) *balancer {
	tb.Helper()
	b := &balancer{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"] // clients of these tests may say where they are
			r.SetXForwarded()
			r.SetURL(&url.URL{Scheme: "http", Host: r.In.Host})
			r.Out.Host = r.In.Host
		},
		Transport: b,
		ErrorLog:  log.New(io.Discard, "", 0), // of streams that end with their replica
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			status := http.StatusBadGateway
			if errors.Is(err, errNobody) {
				status = http.StatusServiceUnavailable
			}
			http.Error(w, err.Error(), status)
		},
	}
	b.server = httptest.NewServer(proxy)
	tb.Cleanup(b.server.Close)
	return b
}

// url returns what clients call it.
func (b *balancer) url() string {
	_, port, _ := net.SplitHostPort(b.server.Listener.Addr().String())
	return "http://localhost:" + port
}

// add adds a replica, and checks it from now on.
func (b *balancer) add(tb testing.TB, one *backend) {
	tb.Helper()
	one.bad.Store(checkFails)
	b.backends = append(b.backends, one)
	go func() {
		for tick := time.NewTicker(checkEvery); ; {
			ctx, cancel := context.WithTimeout(tb.Context(), checkTime)
			if one.health(ctx) {
				one.bad.Store(0)
			} else {
				one.bad.Add(1)
			}
			cancel()
			select {
			case <-tb.Context().Done():
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
}

// healthy counts the replicas that are.
func (b *balancer) healthy() (n int) {
	for _, one := range b.backends {
		if one.up() {
			n++
		}
	}
	return n
}

var errNobody = errors.New("no replica is ready")

// RoundTrip hands a request to a replica.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	err := errNobody
	if r.Body != nil {
		var failed error
		if body, failed = io.ReadAll(r.Body); failed != nil {
			return nil, failed
		}
	}
	first := b.turn.Add(1)
	for i := range uint64(len(b.backends)) {
		one := b.backends[(first+i)%uint64(len(b.backends))]
		if !one.up() {
			continue
		}
		again := r.Clone(r.Context())
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		var response *http.Response
		if response, err = one.http.RoundTrip(again); err == nil {
			one.taken.Add(1)
			return response, nil
		}
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
			return nil, err
		}
	}
	return nil, err
}

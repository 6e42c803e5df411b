package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"candela/e2e/remote"
	"candela/internal/testkit/longtest"
)

// from is a transport that says which address it comes from, since one address may
// register only so many clients.
type from struct {
	address string
	next    *http.Transport
}

func (f from) RoundTrip(r *http.Request) (*http.Response, error) {
	again := r.Clone(r.Context())
	again.Header.Set("X-Forwarded-For", f.address)
	return f.next.RoundTrip(again)
}

// CloseIdleConnections is what http.Client looks for.
func (f from) CloseIdleConnections() { f.next.CloseIdleConnections() }

// visitor returns a client with an address of its own, at the replica itself or,
// with nil, at the balancer.
func (s *site) visitor(number int, at *replica, owner *remote.Owner) *remote.Client {
	next := &http.Transport{MaxIdleConnsPerHost: 2}
	if at != nil {
		next.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return at.at.dial(ctx, at.port) }
	}
	address := fmt.Sprintf("10.%d.%d.%d", number>>14, number>>7&127, 1+number&127)
	return &remote.Client{
		Base: s.balancer.url(), Name: fmt.Sprintf("visitor %d", number), Owner: owner,
		HTTP: remote.Plain(from{address, next}),
	}
}

// crowd lets many clients in, some at a time, and does something with each.
func (s *site) crowd(first, many int, at func(i int) *replica, then func(c *remote.Client, i int)) {
	s.Helper()
	const doors = 8
	var group sync.WaitGroup
	for door := range doors {
		group.Go(func() {
			owner := &remote.Owner{Passphrase: passphrase}
			for i := first + door; i < first+many && !s.Failed(); i += doors {
				c := s.visitor(i, at(i), owner)
				s.enter(s.Context(), c)
				then(c, i)
			}
		})
	}
	group.Wait()
}

// TestLoad_AtTheServersDoesNotGrowWithClients counts what replicas keep open at the
// NATS servers while more and more clients come, each with a token, half of them with a
// subscription and a stream and the others polling.
func TestLoad_AtTheServersDoesNotGrowWithClients(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, true, options{})
	ctx, leave := context.WithCancel(t.Context())
	var here sync.WaitGroup
	defer here.Wait()
	defer leave()
	base := s.steady(load{})
	t.Logf("3 replicas without clients: %+v", base)
	// One of them writes the log of what others did, and reads for that.
	writer := load{0, 1, 1}
	each := load{base.Connections / 3, (base.Subscriptions - writer.Subscriptions) / 3, (base.Consumers - writer.Consumers) / 3}
	if each.Connections == 0 || each.Consumers == 0 || each.times(3).plus(writer) != base {
		t.Errorf("%+v is not the same for each of three replicas", base)
	}
	crowd := longtest.Pick(40, 100)
	for clients := 0; clients < 3*crowd; clients += crowd {
		s.crowd(clients, crowd, func(int) *replica { return nil }, func(c *remote.Client, i int) {
			if i%2 == 0 {
				s.subscribe(ctx, c)
				here.Go(func() { _ = c.Listen(ctx, "", func() {}, func(remote.Event) {}) })
				return
			}
			here.Go(func() {
				for ctx.Err() == nil {
					_, _ = c.Call(ctx, "get_notifications", `{"wait_seconds":20}`)
				}
			})
		})
		if got := s.steady(base); got != base {
			t.Errorf("with %d clients: %+v", clients+crowd, got)
		}
	}
	s.replicas[2].term(t)
	fewer := each.times(2).plus(writer)
	if got := s.steady(fewer); got != fewer {
		t.Errorf("with two replicas: %+v", got)
	}
}

// subscribe subscribes a client, whatever it takes.
func (s *site) subscribe(ctx context.Context, c *remote.Client) {
	s.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		_, err := c.Call(ctx, "subscribe_notifications", `{}`)
		if err == nil {
			return
		}
		if !again(err) || time.Now().After(deadline) {
			s.Error(err)
			return
		}
	}
}

// steady returns what the servers hold: what is wanted as soon as that is so, else
// what it mostly is. A consumer whose reader is about to ask for more does not count
// for a moment.
func (s *site) steady(want load) (l load) {
	s.Helper()
	seen := map[load]int{}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(250 * time.Millisecond) {
		now, err := s.servers.load()
		if err != nil {
			continue
		}
		if l = now; now == want {
			return now
		}
		if seen[now]++; want == (load{}) && seen[now] > 20 {
			return now
		}
	}
	return l
}

package cluster

import (
	"context"
	"flag"
	"net"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/e2e/remote"
	"candela/e2e/tape"
)

const (
	seed = 11
	// Streams.
	alerts = "candela_ALERTS"
	orders = "candela_ORDERS"
)

// keep is the folder of all files, to inspect afterwards.
var keep = flag.String("keep", "", "folder for logs and files; a temporary one when empty")

// site is everything that runs.
type site struct {
	testing.TB
	dir      string
	net      *network
	servers  *servers // nil for a single replica without them
	venue    *process
	floor    string // the venue's address
	replicas []*replica
	balancer *balancer
	owner    *remote.Owner
	tape     *tape.Tape
	trades   bool // on an account at the venue
}

// newSite starts n replicas over three NATS servers, or one without any.
func newSite(tb testing.TB, n int, clustered bool, o options) *site {
	tb.Helper()
	s := &site{TB: tb, dir: *keep, net: newNetwork(tb), tape: tape.New(seed), owner: &remote.Owner{Passphrase: passphrase}, trades: o.trade}
	if s.dir == "" {
		s.dir = build.Folder(tb)
	}
	var nats []string
	if clustered {
		s.servers = startServers(tb, s.net, s.dir, 3)
		nats = s.servers.flags()
	}
	s.floor = s.startVenue()
	s.balancer = newBalancer(tb)
	for i := range n {
		s.replicas = append(s.replicas, newReplica(tb, s.net.place(), s.dir, i, s.balancer.url(), s.floor, nats, o))
	}
	for _, r := range s.replicas {
		r.start(tb)
		s.balancer.add(tb, r.backend)
	}
	s.healthy()
	return s
}

// startVenue runs the fake Binance, and returns its address.
func (s *site) startVenue() string {
	s.Helper()
	here := &place{net: s.net, ip: "127.0.0.1"}
	address := "127.0.0.1:" + here.free(s.TB)
	s.venue = newProcess(s.TB, "venue", s.dir, here, programs.Path(s.TB, build.FakeVenue, ""),
		"-listen", address, "-seed", "11", "-step", "250ms", "-limit", "1000000", "-addresses", "3", "binance")
	s.venue.start(s.TB)
	until(s.TB, time.Minute, "the venue listens", func() bool {
		c, err := (&net.Dialer{}).DialContext(s.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return address
}

// healthy waits until all replicas are, and starts again those that have ended, as
// a supervisor would.
func (s *site) healthy() {
	s.Helper()
	until(s.TB, 3*time.Minute, "every replica is ready", func() bool {
		well := true
		for _, r := range s.replicas {
			if !r.running() {
				time.Sleep(200 * time.Millisecond)
				r.start(s.TB)
			}
			well = well && r.ready(s.Context())
		}
		return well && s.balancer.healthy() == len(s.replicas)
	})
}

// enter lets a client in, whatever it takes.
func (s *site) enter(ctx context.Context, c *remote.Client) {
	s.Helper()
	var err error
	for deadline := time.Now().Add(2 * time.Minute); ctx.Err() == nil; {
		try, cancel := context.WithTimeout(ctx, 15*time.Second)
		err = c.Enter(try)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.Errorf("%s is not let in: %v", c.Name, err)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

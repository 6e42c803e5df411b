// Package natstest runs NATS servers inside the test process.
package natstest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"candela/internal/testkit/porttest"
)

// settleTime is how long a cluster may take to elect a leader. Three idle servers need about a
// second; a loaded machine needs more.
const settleTime = 3 * time.Minute

// Cluster is a set of servers with JetStream. It is not safe for concurrent changes.
type Cluster struct {
	dir      string
	routes   []*url.URL
	ports    []int
	releases []func()         // of the ports
	servers  []*server.Server // nil if stopped
}

// Start runs n servers with their files under dir and waits until streams can be created. A
// single server has no cluster.
func Start(dir string, n int) (*Cluster, error) {
	c := &Cluster{dir: dir, servers: make([]*server.Server, n)}
	for range 2 * n {
		port, release, err := porttest.Reserve()
		if err != nil {
			c.Stop()
			return nil, err
		}
		c.ports, c.releases = append(c.ports, port), append(c.releases, release)
	}
	for i := range n {
		c.routes = append(c.routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.ports[n+i]))})
	}
	for i := range n {
		if err := c.Restart(i); err != nil {
			c.Stop()
			return nil, err
		}
	}
	if err := c.Settle(); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// Restart starts a server, for the first time or after Kill, with its earlier files.
func (c *Cluster) Restart(i int) error {
	n := len(c.servers)
	opts := &server.Options{
		ServerName: "n" + strconv.Itoa(i), Host: "127.0.0.1", Port: c.ports[i], NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: filepath.Join(c.dir, "n"+strconv.Itoa(i)), SyncAlways: true,
		JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 1 << 30,
	}
	if n > 1 {
		opts.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: c.ports[n+i]}
		opts.Routes = c.routes
	}
	if err := os.MkdirAll(opts.StoreDir, 0o700); err != nil {
		return err
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("start server %d: %w", i, err)
	}
	s.Start()
	c.servers[i] = s
	return nil
}

// Settle waits until every server answers and JetStream has a leader.
func (c *Cluster) Settle() error {
	deadline := time.Now().Add(settleTime)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !c.ready() {
		if time.Now().After(deadline) {
			return fmt.Errorf("no JetStream leader within %s", settleTime)
		}
		<-tick.C
	}
	return nil
}

func (c *Cluster) ready() bool {
	leaders := 0
	for _, s := range c.servers {
		if !s.ReadyForConnections(time.Second) {
			return false
		}
		if len(c.servers) == 1 {
			return s.JetStreamEnabled()
		}
		if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(c.servers) {
			leaders++
		}
		if !s.JetStreamIsCurrent() {
			return false
		}
	}
	return leaders == 1
}

// URL returns the addresses of the servers for a client.
func (c *Cluster) URL() string {
	urls := make([]string, len(c.servers))
	for i := range urls {
		urls[i] = fmt.Sprintf("nats://127.0.0.1:%d", c.ports[i])
	}
	return strings.Join(urls, ",")
}

// Kill stops a server without notice to its clients. Its files stay.
func (c *Cluster) Kill(i int) {
	if s := c.servers[i]; s != nil {
		s.Shutdown()
		s.WaitForShutdown()
		c.servers[i] = nil
	}
}

// Leader returns the index of the server that leads a stream, -1 for none.
func (c *Cluster) Leader(stream string) int {
	for i, s := range c.servers {
		if s != nil && s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
			return i
		}
	}
	return -1
}

// Stop stops every server.
func (c *Cluster) Stop() {
	for i := range c.servers {
		c.Kill(i)
	}
	for _, release := range c.releases {
		release()
	}
}

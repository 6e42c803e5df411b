package cluster_test

import (
	"crypto/rand"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/cluster"
	"candela/internal/cluster/natstest"
)

// servers is the cluster that most tests share, each under a prefix of its own; lone is
// a server without copies, for those that need none and write much.
var servers, lone *natstest.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	// The tests wait for servers that elect leaders and for heartbeats more than they
	// compute.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(8, runtime.GOMAXPROCS(0)))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "candela-cluster")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if servers, err = natstest.Start(dir, 3); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if lone, err = natstest.Start(filepath.Join(dir, "lone"), 1); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	servers.Stop()
	lone.Stop()
	// A server that is stopped while it recovers a stream leaves what writes its state.
	const server = "github.com/nats-io/nats-server/v2/server"
	err = goleak.Find(goleak.IgnoreAnyFunction(server+".(*fileStore).flushStreamStateLoop"), goleak.IgnoreAnyFunction(server+"/ats.Register.func1"))
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// connect connects to servers under a prefix and closes with the test.
func connect(tb testing.TB, to *natstest.Cluster, prefix string) *cluster.Conn {
	tb.Helper()
	c, err := cluster.Connect(tb.Context(), cluster.Config{URL: to.URL(), Prefix: prefix, AllowSingle: true}, quiet())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// openStore opens the store of a prefix on a connection of its own.
func openStore(tb testing.TB, to *natstest.Cluster, prefix string) *cluster.Store {
	tb.Helper()
	s, err := connect(tb, to, prefix).OpenStore(tb.Context(), time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func newPrefix() string { return "t" + rand.Text() }

// dirs gives each directory of a suite a prefix, the same when it is opened again.
type dirs struct {
	mu    sync.Mutex
	given map[string]string
	ready []string // prefixes to give first
}

func newDirs() *dirs { return &dirs{given: make(map[string]string)} }

func (d *dirs) prefix(dir string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.given[dir] == "" {
		d.ready = append(d.ready, newPrefix())
		d.given[dir], d.ready = d.ready[0], d.ready[1:]
	}
	return d.given[dir]
}

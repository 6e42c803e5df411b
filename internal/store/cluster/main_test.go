package cluster_test

import (
	"context"
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

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/fault"
	"candela/internal/store/cluster"
	"candela/internal/store/cluster/natstest"
	"candela/internal/testkit/longtest"
)

// servers is the cluster that most tests share, each under a prefix of its own; lone is
// a server without copies, for those that need none and write much.
var servers, lone *natstest.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	// The tests wait for servers that elect leaders and for heartbeats more than they
	// compute.
	flag.Parse()
	set := map[string]string{
		"test.parallel":    strconv.Itoa(max(8, runtime.GOMAXPROCS(0))),
		"rapid.nofailfile": "true", // what servers do is not drawn, and no later run has it
	}
	// Each check is many writes, on three servers, two of three and one. The number that
	// RAPID_CHECKS sets for all packages would take hours here; one given by the flag is
	// used as it is.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		set[checks.Name] = longtest.Pick("25", "100")
	}
	for name, value := range set {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
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
	if err := natstest.Leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// insist does something again while that says that the servers do not answer. On a
// loaded machine that lasts longer than a replica waits, and says nothing about what
// it is told then.
func insist[T any](tb testing.TB, do func() (T, error)) (T, error) {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		value, err := do()
		if fault.KindOf(err) != fault.Unavailable || time.Since(began) > patience {
			return value, err
		}
	}
}

// connect connects to servers under a prefix and closes with the test.
func connect(tb testing.TB, to *natstest.Cluster, prefix string) *cluster.Conn {
	tb.Helper()
	return connectAt(tb, to.URL(), prefix)
}

// connectAt is connect for an address.
func connectAt(tb testing.TB, url, prefix string) *cluster.Conn {
	tb.Helper()
	c, err := insist(tb, func() (*cluster.Conn, error) {
		return cluster.Connect(tb.Context(), cluster.Config{URL: url, Prefix: prefix, AllowSingle: true, Secret: natstest.Secret()}, quiet())
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	c.SetPatience(patience)
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

// leaderOf waits until a server leads a stream, and returns which.
func leaderOf(tb testing.TB, c *natstest.Cluster, stream string) (leader int) {
	tb.Helper()
	eventually(tb, "a server leads "+stream, func() bool {
		leader = c.Leader(stream)
		return leader >= 0
	})
	return leader
}

// streamOf waits until the servers tell of a stream, and returns it as it is then.
func streamOf(tb testing.TB, to *natstest.Cluster, name string) (s jetstream.Stream) {
	tb.Helper()
	js := adminOf(tb, to)
	eventually(tb, "the servers tell of "+name, func() (ok bool) {
		once, end := question(tb)
		defer end()
		var err error
		s, err = js.Stream(once, name)
		return err == nil
	})
	return s
}

// question bounds one try of what is asked until it is answered: servers without a
// leader say nothing at all.
func question(tb testing.TB) (context.Context, context.CancelFunc) {
	tb.Helper()
	return context.WithTimeout(tb.Context(), 5*time.Second)
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

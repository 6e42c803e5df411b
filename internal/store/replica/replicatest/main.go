package replicatest

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

	"candela/internal/store/replica/natstest"
	"candela/internal/testkit/longtest"
	"candela/lib/fault"
)

// Patience bounds waits for servers on a loaded machine.
const Patience = 2 * time.Minute

// Usual is the default retry limit of a connection. It is shorter than callers wait for a
// replica's reply.
const Usual = 20 * time.Second

// shared is the servers that the tests of a package share, each under a prefix of its own.
//
//nolint:gochecknoglobals // one set of servers for the tests of a process
var shared struct {
	mu      sync.Mutex
	dir     string
	started map[int]*natstest.Cluster
}

// Servers returns a cluster of three servers, started by its first user.
func Servers() *natstest.Cluster { return servers(3) }

// Lone returns a server without replication, for tests that write much.
func Lone() *natstest.Cluster { return servers(1) }

func servers(n int) *natstest.Cluster {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if c := shared.started[n]; c != nil {
		return c
	}
	c, err := natstest.Start(filepath.Join(shared.dir, strconv.Itoa(n)), n)
	if err != nil {
		panic(err)
	}
	shared.started[n] = c
	return c
}

// Main runs the tests of a package and returns the exit code. A leaked goroutine is a failure.
func Main(m *testing.M) int {
	flag.Parse()
	// Tests mostly wait for leaders and heartbeats, and compute little.
	set := map[string]string{"test.parallel": strconv.Itoa(max(8, runtime.GOMAXPROCS(0)))}
	// Each check makes many writes. The number that RAPID_CHECKS sets for all packages would
	// take hours here; one given by the flag is used.
	if checks := flag.Lookup("rapid.checks"); checks != nil {
		set["rapid.nofailfile"] = "true" // a run depends on the servers and is not reproducible
		if checks.Value.String() == checks.DefValue {
			set[checks.Name] = longtest.Pick("25", "100")
		}
	}
	dir, err := os.MkdirTemp("", "candela-replicas")
	for name, value := range set {
		if err == nil {
			err = flag.Set(name, value)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	shared.dir, shared.started = dir, make(map[int]*natstest.Cluster)
	code := m.Run()
	for _, c := range shared.started {
		c.Stop()
	}
	if err := natstest.Leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Quiet returns a log that discards everything.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Insist repeats a call while the servers are unavailable. On a loaded machine that lasts longer
// than a replica waits.
func Insist[T any](tb testing.TB, do func() (T, error)) (T, error) {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		value, err := do()
		if fault.KindOf(err) != fault.Unavailable || time.Since(began) > Patience {
			return value, err
		}
	}
}

// Eventually waits until ok reports true and returns how long it took.
func Eventually(tb testing.TB, what string, ok func() bool) time.Duration {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for ; time.Since(began) < Patience; <-tick.C {
		if ok() {
			return time.Since(began)
		}
	}
	tb.Fatalf("not within %s: %s", Patience, what)
	return 0
}

// Question bounds one attempt of a repeated request: servers without a leader do not answer.
func Question(tb testing.TB) (context.Context, context.CancelFunc) {
	tb.Helper()
	return context.WithTimeout(tb.Context(), 5*time.Second)
}

// NewPrefix returns a prefix that no other test uses.
func NewPrefix() string { return "t" + rand.Text() }

// Dirs maps each directory of a suite to a prefix, the same when it is opened again.
type Dirs struct {
	mu    sync.Mutex
	given map[string]string
	Ready []string // prefixes to use first
}

// NewDirs returns an empty mapping.
func NewDirs() *Dirs { return &Dirs{given: make(map[string]string)} }

// Prefix returns the prefix of a directory.
func (d *Dirs) Prefix(dir string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.given[dir] == "" {
		d.Ready = append(d.Ready, NewPrefix())
		d.given[dir], d.Ready = d.Ready[0], d.Ready[1:]
	}
	return d.given[dir]
}

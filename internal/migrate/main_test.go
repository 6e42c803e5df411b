package migrate

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"

	"candela/internal/cluster/natstest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	for _, f := range afterTests {
		f()
	}
	if err := natstest.Leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// afterTests is what runs when all tests are over.
var afterTests []func()

// sharedServers starts three NATS servers for all tests that want them, once: a test
// that runs itself again as a child uses its parent's.
var sharedServers = sync.OnceValues(func() (*natstest.Cluster, error) {
	dir, err := os.MkdirTemp("", "candela-migrate")
	if err != nil {
		return nil, err
	}
	c, err := natstest.Start(dir, 3)
	if err == nil {
		afterTests = append(afterTests, c.Stop)
	}
	afterTests = append(afterTests, func() { _ = os.RemoveAll(dir) })
	return c, err
})

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programs are built once, when the first test needs them.
type programs struct {
	dir   string
	built sync.Map // func() (string, error) by what is built
}

var built programs

func TestMain(m *testing.M) {
	if base := os.Getenv(listenersVar); base != "" {
		os.Exit(runListeners(base))
	}
	dir, err := os.MkdirTemp("", "candela")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir = dir
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// The programs of a test.
const (
	candela    = "candela/cmd/candela"
	fakevenue  = "candela/cmd/fakevenue"
	natsServer = "github.com/nats-io/nats-server/v2"
)

// program returns the path of a program, built with tags.
func program(tb testing.TB, pkg, tags string) string {
	tb.Helper()
	build := sync.OnceValues(func() (string, error) {
		path := filepath.Join(built.dir, filepath.Base(pkg)+"-"+tags)
		cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-tags", tags, "-o", path, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released, and as the build left it in the cache
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
		return path, nil
	})
	once, _ := built.built.LoadOrStore(pkg+" "+tags, build)
	path, err := once.(func() (string, error))() //nolint:errcheck // nothing else is stored
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

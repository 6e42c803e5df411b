// Package build builds the programs that end-to-end tests run, as they are released,
// and finds them a place.
package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// The programs of this module.
const (
	Candela   = "candela/cmd/candela"
	FakeVenue = "candela/cmd/fakevenue"
)

// Programs are built each once, when a test first needs it. It is safe for concurrent
// use.
type Programs struct {
	dir   string
	built sync.Map // func() (string, error) by what is built
}

// Run runs the tests of a package that use the programs, which are gone afterwards,
// and returns the status to exit with.
func (p *Programs) Run(m *testing.M) (status int) {
	dir, err := os.MkdirTemp("", "candela")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p.dir = dir
	return m.Run()
}

// Path returns where a program is, built with tags.
func (p *Programs) Path(tb testing.TB, pkg, tags string) string {
	tb.Helper()
	build := sync.OnceValues(func() (string, error) {
		path := filepath.Join(p.dir, filepath.Base(pkg)+"-"+tags)
		cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-tags", tags, "-o", path, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released, and as the build left it in the cache
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
		return path, nil
	})
	once, _ := p.built.LoadOrStore(pkg+" "+tags, build)
	path, err := once.(func() (string, error))() //nolint:errcheck // nothing else is stored
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// Folder returns a folder whose path leaves room for a socket in it.
func Folder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "c") //nolint:usetesting // t.TempDir has the test's name in it, which is too long
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Home returns a state directory, not made yet, in a folder of its own.
func Home(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(Folder(tb), "home")
}

// Package pagetest holds the generated parts of the documentation to what a test
// makes. A part stands between two marks, so that the rest of its page is written by
// hand and several packages can write to one page.
package pagetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Part compares a part of a page with text, or replaces it if update is set. The file
// is relative to the root of the repository. The part begins with a mark that names the
// command that writes it,
//
//	<!-- name: go test ./internal/app -update -->
//
// and ends with "<!-- end of name -->".
func Part(tb testing.TB, file, name, command, text string, update bool) {
	tb.Helper()
	path := filepath.Join(root(tb), filepath.FromSlash(file))
	data, err := os.ReadFile(path) //nolint:gosec // G304: a page of this repository, named by a test
	if err != nil {
		tb.Fatal(err)
	}
	begin, end := "<!-- "+name+": "+command+" -->\n", "<!-- end of "+name+" -->"
	head, rest, found := strings.Cut(string(data), begin)
	old, tail, closed := strings.Cut(rest, end)
	switch {
	case !found || !closed:
		tb.Fatalf("%s has no %q with its end", file, begin)
	case old == text:
	case update:
		if err := os.WriteFile(path, []byte(head+begin+text+end+tail), 0o600); err != nil { //nolint:gosec // G703: see above
			tb.Fatal(err)
		}
	default:
		tb.Errorf("%s: %s is not up to date; run %s and read the diff (-page +test):\n%s", file, name, command, cmp.Diff(old, text))
	}
}

// root is the folder of go.mod, above the folder of the package that is tested.
func root(tb testing.TB) string {
	tb.Helper()
	folder, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		above := filepath.Dir(folder)
		if above == folder {
			tb.Fatal("no go.mod above the test")
		}
		folder = above
	}
}

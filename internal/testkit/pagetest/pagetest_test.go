package pagetest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/testkit/pagetest"
)

// recorder keeps what a test would have reported.
type recorder struct {
	testing.TB
	said []string
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

const page = "# A page\n<!-- list: go test ./x -update -->\nold\n<!-- end of list -->\nby hand\n"

func inRepository(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module x\n", "page.md": page} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	return filepath.Join(folder, "page.md")
}

func TestPart_AnOldPartIsReportedAndThePageIsKept(t *testing.T) {
	path := inRepository(t)
	r := &recorder{TB: t}
	pagetest.Part(r, "page.md", "list", "go test ./x -update", "new\n", false)
	if len(r.said) != 1 || !strings.Contains(r.said[0], "go test ./x -update") {
		t.Errorf("reported %q", r.said)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != page {
		t.Errorf("the page is now %q (%v)", got, err)
	}
}

func TestPart_AnUpdateReplacesThePartAlone(t *testing.T) {
	path := inRepository(t)
	pagetest.Part(t, "page.md", "list", "go test ./x -update", "new\n", true)
	want := strings.Replace(page, "old\n", "new\n", 1)
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("the page is now %q (%v), want %q", got, err, want)
	}
	pagetest.Part(t, "page.md", "list", "go test ./x -update", "new\n", false)
}

package check

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"testing"
)

// counter counts what is written.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// TestRelease_SizeIsThatOfThePage compares the sizes that docs/release.md names with the program, built as for a release.
func TestRelease_SizeIsThatOfThePage(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Logf("the page names sizes for amd64; this is %s", runtime.GOARCH)
		return
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "release.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`about (\d+) MB, (\d+) MB packed`).FindSubmatch(page)
	if named == nil {
		t.Fatal("docs/release.md names no sizes")
	}
	file, err := os.Open(program(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	var packed counter
	to := gzip.NewWriter(&packed)
	plain, err := io.Copy(to, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	for i, have := range []int64{plain, int64(packed)} {
		says, err := strconv.ParseInt(string(named[i+1]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if says *= 1_000_000; have < says*9/10 || have > says*11/10 {
			t.Errorf("docs/release.md says %d bytes, it has %d", says, have)
		}
	}
}

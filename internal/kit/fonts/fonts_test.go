package fonts

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

func write(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("font"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The order is that of the list, the user's own file wins, and what is no font is passed over.
func TestFind(t *testing.T) {
	t.Parallel()
	user, system := t.TempDir(), t.TempDir()
	cjk := write(t, system, "opentype", "noto", "NotoSansCJK-Regular.ttc")
	own := write(t, user, "DejaVuSans.ttf")
	write(t, system, "truetype", "dejavu", "DejaVuSans.ttf")
	write(t, system, "truetype", "dejavu", "DejaVuSans-Bold.ttf")
	write(t, system, "DejaVuSans.txt")
	if got := find([]string{filepath.Join(user, "none"), user, system}); !slices.Equal(got, []string{own, cjk}) {
		t.Errorf("found %q", got)
	}
	if files := open([]string{user, system}); len(files) != 2 {
		t.Errorf("%d files are open", len(files))
	}
}

// A machine with every font opens a bounded number of them.
func TestFind_Bounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, name := range wanted() {
		write(t, dir, strconv.Itoa(i), name+"x.ttf")
	}
	if got := find([]string{dir}); len(got) != maxFiles {
		t.Errorf("%d files, want %d", len(got), maxFiles)
	}
	deep := dir
	for range maxDepth + 2 {
		deep = filepath.Join(deep, "d")
	}
	other := t.TempDir()
	write(t, other, deep[len(dir):], "DejaVuSans.ttf")
	if got := find([]string{other}); len(got) != 0 {
		t.Errorf("found %q", got)
	}
}

package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"candela/internal/kit/disk"
)

func TestRename_ReplacesAFile(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	if err := disk.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	if err := disk.SyncDir(filepath.Dir(to)); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(to); err != nil || string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
}

// On Windows the rename waits until the reader is done; elsewhere it need not.
func TestRename_ReplacesAFileThatSomebodyReads(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	reader, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	time.AfterFunc(50*time.Millisecond, func() { closed <- reader.Close() })
	if err := disk.Rename(from, to); err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(to); err != nil || string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestRename_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := disk.Rename(filepath.Join(dir, "nothing"), filepath.Join(dir, "to")); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}

// pair returns a file with new content and one with old content.
func pair(t *testing.T) (from, to string) {
	t.Helper()
	dir := t.TempDir()
	from, to = filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for path, text := range map[string]string{from: "new", to: "old"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return from, to
}

func TestCreate_LeavesAWholeFileOrNone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new")
	broken := errors.New("broken")
	if err := disk.Create(path, func(*os.File) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	fill := func(file *os.File) error {
		_, err := file.WriteString("text")
		return err
	}
	if err := disk.Create(path, fill); err != nil {
		t.Fatal("the broken file is still there:", err)
	}
	if err := disk.Create(path, func(*os.File) error { return broken }); !os.IsExist(err) {
		t.Error("an existing file:", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
}

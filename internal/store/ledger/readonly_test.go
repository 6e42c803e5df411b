package ledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"candela/internal/store/ledger"
	"candela/lib/fault"
)

// unwritable takes the place of the file beside the store that a reader makes. A read-only mount, which stops also the superuser,
// would need rights that a test does not have.
func unwritable(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, ledger.FileName+"-shm")
	if runtime.GOOS == "windows" {
		check(t, os.Mkdir(file, 0o700))
		return
	}
	check(t, os.Symlink(filepath.Join(dir, "nowhere", "file"), file)) // SQLite follows none
}

func TestOpenAudit_ReadsWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	dir := written(t)
	unwritable(t, dir)
	if report := verified(t, dir); report.Events != 10 {
		t.Errorf("%d events", report.Events)
	}
}

// A killed server has left its last events beside the store, so a reader without them would take the log for a shorter one.
func TestOpenAudit_RefusesAHalf(t *testing.T) {
	t.Parallel()
	dir := written(t)
	unwritable(t, dir)
	check(t, os.WriteFile(filepath.Join(dir, ledger.FileName+"-wal"), []byte("what was written last"), 0o600))
	log, err := ledger.OpenAudit(t.Context(), dir)
	if err == nil {
		_ = log.Close()
	}
	if f := fault.Of(err); f == nil || f.Code != "store_read_only" || !strings.Contains(f.Message, "Copy the directory") {
		t.Errorf("%v", err)
	}
}

func TestFailure_SaysThatTheDiskIsFull(t *testing.T) {
	t.Parallel()
	const shmSize, readError = 4874, 266
	for code, want := range map[int]string{shmSize: "store_full", readError: "store_failed"} {
		if got, text := ledger.Classify(code, errors.New("disk I/O error")); got != want || strings.Contains(text, "log says") {
			t.Errorf("%d: %s, %s", code, got, text)
		}
	}
}

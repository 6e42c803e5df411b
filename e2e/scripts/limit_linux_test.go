package scripts

import (
	"testing"

	"golang.org/x/sys/unix"
)

// limitMemory bounds what a process may allocate: its private writable memory.
func limitMemory(t *testing.T, pid int, bytes uint64) {
	t.Helper()
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}, nil); err != nil {
		t.Fatal(err)
	}
}

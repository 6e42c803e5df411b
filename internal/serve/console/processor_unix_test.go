//go:build unix

package console_test

import (
	"syscall"
	"testing"
	"time"
)

// processorTime returns what the process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var all syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &all); err != nil {
		t.Fatal(err)
	}
	return time.Duration(all.Utime.Nano() + all.Stime.Nano())
}

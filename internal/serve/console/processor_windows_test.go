package console_test

import (
	"syscall"
	"testing"
	"time"
)

// processorTime returns what the process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	process, err := syscall.GetCurrentProcess()
	if err != nil {
		t.Fatal(err)
	}
	var began, ended, system, user syscall.Filetime
	if err := syscall.GetProcessTimes(process, &began, &ended, &system, &user); err != nil {
		t.Fatal(err)
	}
	sum := time.Duration(0)
	for _, each := range []syscall.Filetime{system, user} { // in 100 ns
		sum += time.Duration(each.HighDateTime)<<32 + time.Duration(each.LowDateTime)
	}
	return 100 * sum
}

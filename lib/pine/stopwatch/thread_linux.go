package stopwatch

import (
	"time"

	"golang.org/x/sys/unix"
)

// Thread returns the processor time of this thread, which the goroutine keeps with [runtime.LockOSThread].
func Thread() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

package fair

import (
	"time"

	"golang.org/x/sys/unix"
)

// lower gives the calling thread a smaller share of the processors, and lets threads that wake
// up go first. It cannot be undone. An error leaves the thread as it is, which only makes others
// wait longer.
func lower() {
	const (
		by   = 10
		most = 19 // of the kernel's nice values
		// From Linux 6.12 on a thread that wakes up takes the processor from one with a longer
		// slice at once; otherwise it waits until the slice of that one, about 3 ms, is over.
		slice = 100 * time.Millisecond // the longest that there is
	)
	left, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 less the nice value
	if err != nil {
		return
	}
	nice := min(most, 20-left+by)
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice)
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Runtime: uint64(slice),
		Nice: int32(nice), //nolint:gosec // at most 19
	}, 0)
}

package fair

import "syscall"

// lower gives the calling thread a smaller share of the processors. It cannot be undone. An
// error leaves the thread as it is, which only makes others wait longer.
func lower() {
	const (
		by   = 10
		most = 19 // of the kernel's nice values
	)
	if left, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil { // 20 less the nice value
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, min(most, 20-left+by))
	}
}

//go:build unix

package alerts

import "syscall"

// The signals that let a process stand still and go on.
const (
	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)

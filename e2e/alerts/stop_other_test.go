//go:build !unix

package alerts

import "syscall"

// Other systems have no signals that let a process stand still.
const (
	sigStop = syscall.Signal(0)
	sigCont = syscall.Signal(0)
)

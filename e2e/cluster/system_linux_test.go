package cluster

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)

// apart makes a process end with the test however that ends, and leaves interrupts to
// the test alone.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// within runs f on a thread that is in a network namespace.
func within(space *os.File, f func() error) error {
	runtime.LockOSThread()
	here, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() { _ = here.Close() }()
	if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	failed := f()
	// A thread that cannot come back stays locked, and ends with its goroutine.
	if err := unix.Setns(int(here.Fd()), unix.CLONE_NEWNET); err != nil {
		return errors.Join(failed, err)
	}
	runtime.UnlockOSThread()
	return failed
}

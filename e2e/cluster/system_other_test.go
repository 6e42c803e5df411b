//go:build !linux

package cluster

import (
	"os"
	"syscall"
)

// Elsewhere there are no network namespaces, and no signal stops a process.
const (
	sigStop = syscall.Signal(0)
	sigCont = syscall.Signal(0)
)

func apart() *syscall.SysProcAttr { return nil }

func within(_ *os.File, f func() error) error { return f() }

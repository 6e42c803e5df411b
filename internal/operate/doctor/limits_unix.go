//go:build !windows

package doctor

import (
	"errors"
	"syscall"
)

// fileLimit returns how many files the process may open. Go has already raised the
// soft limit to the hard one.
func fileLimit() (uint64, error) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err //nolint:unconvert // signed on some systems
}

// mayWrite returns why this process may not create files in a directory, or nil.
func mayWrite(path string) error {
	const write = 2 // W_OK
	return syscall.Access(path, write)
}

// AddressInUse reports whether listening failed because another program uses it.
func AddressInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

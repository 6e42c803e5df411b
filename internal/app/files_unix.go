//go:build !windows

package app

import "syscall"

// fileLimit returns how many files the process may open. Go has already raised the
// soft limit to the hard one.
func fileLimit() (uint64, error) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err //nolint:unconvert // signed on some systems
}

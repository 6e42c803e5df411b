//go:build !windows

package app

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

// mayWrite asks the system whether this process may make files in a directory.
func mayWrite(path string) error {
	const write = 2 // W_OK
	return syscall.Access(path, write)
}

// freeBytes returns how much room this user has on the disk of a directory.
func freeBytes(path string) (uint64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return 0, err
	}
	return uint64(disk.Bavail) * uint64(disk.Bsize), nil //nolint:unconvert,gosec // G115: of other types on other systems, never below zero
}

// addressInUse reports whether a port was not to be had because somebody has it.
func addressInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

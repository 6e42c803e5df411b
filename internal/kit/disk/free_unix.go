//go:build !windows

package disk

import "syscall"

// Free returns the space available to this user on the disk of a file or directory, in bytes.
func Free(path string) (uint64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return 0, err
	}
	return uint64(disk.Bavail) * uint64(disk.Bsize), nil //nolint:unconvert,gosec // G115: of other types on other systems, never below zero
}

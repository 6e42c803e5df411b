//go:build !windows

package app

import (
	"io/fs"
	"os"
	"syscall"
)

// fileLimit returns how many files the process may open. Go has already raised the
// soft limit to the hard one.
func fileLimit() (uint64, error) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err //nolint:unconvert // signed on some systems
}

// keepOwner gives a new file to whom the old one belongs, where that is another:
// root may change the files of a user, who must not lose them by it. Nobody else
// can, and then the file belongs to whoever wrote it.
func keepOwner(file *os.File, old fs.FileInfo) {
	if s, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(s.Uid), int(s.Gid))
	}
}

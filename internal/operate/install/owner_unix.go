//go:build !windows

package install

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner sets the owner of the old file on a new one: root may edit a user's file. It
// fails without harm for everyone else.
func keepOwner(file *os.File, old fs.FileInfo) {
	if s, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(s.Uid), int(s.Gid))
	}
}

//go:build !windows

package setup

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file to whom the old one belongs, where that is another:
// root may change the files of a user, who must not lose them by it. Nobody else
// can, and then the file belongs to whoever wrote it.
func keepOwner(file *os.File, old fs.FileInfo) {
	if s, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(s.Uid), int(s.Gid))
	}
}

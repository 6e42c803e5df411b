//go:build !windows

package statedir

import (
	"fmt"
	"io/fs"
	"syscall"

	"candela/internal/kit/fault"
)

// checkOwner refuses a state directory of another user. Root could use it, but would
// leave files that its owner can no longer read, and run by settings that another user
// wrote.
func checkOwner(path string, info fs.FileInfo, user int) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == user {
		return nil
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: "state_directory_foreign", Field: "home", Value: path, Allowed: "a directory of the user that runs candela",
		Message: fmt.Sprintf("state directory %s belongs to user %d and candela runs as user %d: run it as that user, chown the directory, or choose another --home", path, stat.Uid, user),
	}
}

//go:build !windows

package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"candela/lib/fault"
)

// openLocked opens path and takes an exclusive lock on it without waiting;
// errLocked says that another process has it.
func openLocked(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // G304: below the operator's own directory
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return file, nil
}

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

// makePrivate makes the state directory for its owner alone, where it is not there.
func makePrivate(path string) error { return os.MkdirAll(path, 0o700) }

package statedir

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// openLocked opens path and takes an exclusive lock on it without waiting;
// errLocked says that another process has it. The file is shared: one that is opened
// for nobody else could not be opened while a virus scanner looks at it, which would
// pass for another engine.
func openLocked(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // G304: below the operator's own directory
	if err != nil {
		return nil, err
	}
	const mode = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(file.Fd()), mode, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return nil, errLocked
	}
	return nil, &os.PathError{Op: "lock", Path: path, Err: err}
}

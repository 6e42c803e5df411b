package statedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

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

// checkOwner does nothing: makePrivate has set who may enter.
func checkOwner(string, fs.FileInfo, int) error { return nil }

// ownerOnly is an access list that inherits nothing: its owner, the system and the
// administrators may do everything with the directory and what will be in it.
const ownerOnly = "D:P(A;OICI;FA;;;OW)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"

// securityAttributes is the size of SECURITY_ATTRIBUTES on a 64-bit system, and
// candela is built for no other.
const securityAttributes = 24

// makePrivate makes the state directory for its owner alone, where it is not there.
// The permission bits of other systems say nothing here, and outside a profile a new
// directory would be open to every user of the machine.
func makePrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	list, err := windows.SecurityDescriptorFromString(ownerOnly)
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	err = windows.CreateDirectory(name, &windows.SecurityAttributes{Length: securityAttributes, SecurityDescriptor: list})
	if errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		return nil // opening a file in it reports the error
	}
	if err != nil {
		return &os.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

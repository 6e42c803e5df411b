package statedir

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

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

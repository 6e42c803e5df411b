package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"

	"candela/internal/operate/doctor"
)

// notListening says why an address cannot be listened on, and which flag chooses
// another.
func notListening(a netip.AddrPort, flag string, err error) error {
	switch {
	case doctor.AddressInUse(err):
		return fmt.Errorf("%s is taken by another program, perhaps another candela: stop that one, or choose another %s: %w", a, flag, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("this user may not listen on %s: choose a port of 1024 or more with %s: %w", a, flag, err)
	}
	return fmt.Errorf("%s cannot be listened on: choose an address of this machine: %w", a, err)
}

package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"

	"candela/internal/operate/doctor"
)

// notListening explains why listening on an address failed and which flag chooses another.
func notListening(a netip.AddrPort, flag string, err error) error {
	switch {
	case doctor.AddressInUse(err):
		return fmt.Errorf("address %s is already in use, perhaps by another candela; stop it or choose another %s: %w", a, flag, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("this user may not listen on %s; choose a port of 1024 or more with %s: %w", a, flag, err)
	}
	return fmt.Errorf("cannot listen on %s; choose an address of this machine: %w", a, err)
}

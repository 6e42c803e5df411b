package doctor

import (
	"errors"
	"math"
	"syscall"
)

// fileLimit is none: Windows bounds handles by memory.
func fileLimit() (uint64, error) { return math.MaxUint64, nil }

// mayWrite returns nil: only a write shows what an access control list allows.
func mayWrite(string) error { return nil }

// AddressInUse reports whether listening failed because another program uses it.
func AddressInUse(err error) bool {
	const inUse, denied = syscall.Errno(10048), syscall.Errno(10013) // WSAEADDRINUSE, WSAEACCES
	return errors.Is(err, inUse) || errors.Is(err, denied)
}

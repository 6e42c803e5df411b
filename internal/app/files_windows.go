package app

import (
	"errors"
	"math"
	"syscall"
)

// fileLimit is none: Windows bounds handles by memory.
func fileLimit() (uint64, error) { return math.MaxUint64, nil }

// mayWrite leaves the answer to the first write: the lists of rights are not to be
// judged from outside.
func mayWrite(string) error { return nil }

// freeBytes is not asked for: a write says when there is no room.
func freeBytes(string) (uint64, error) { return math.MaxUint64, nil }

// addressInUse reports whether a port was not to be had because somebody has it.
func addressInUse(err error) bool {
	const inUse, denied = syscall.Errno(10048), syscall.Errno(10013) // WSAEADDRINUSE, WSAEACCES
	return errors.Is(err, inUse) || errors.Is(err, denied)
}

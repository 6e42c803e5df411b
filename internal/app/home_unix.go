//go:build !windows

package app

import "os"

// makeHome makes the state directory for its owner alone, where it is not there.
func makeHome(path string) error { return os.MkdirAll(path, 0o700) }

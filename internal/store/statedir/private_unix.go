//go:build !windows

package statedir

import "os"

// makePrivate makes the state directory for its owner alone, where it is not there.
func makePrivate(path string) error { return os.MkdirAll(path, 0o700) }

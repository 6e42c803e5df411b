//go:build !windows

package disk

import "os"

// Rename moves a file or directory and replaces an existing file. Processes that have the
// old file open keep it.
func Rename(from, to string) error { return os.Rename(from, to) }

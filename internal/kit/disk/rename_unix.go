//go:build !windows

package disk

import "os"

// Rename moves a file or directory to a name, over a file that has it. Whoever has
// that file open keeps what it was.
func Rename(from, to string) error { return os.Rename(from, to) }

// Package disk hides what differs between file systems when a name must last: making
// it durable, and moving a file to it while somebody else has it open. It knows
// nothing of what the files hold.
package disk

import (
	"errors"
	"os"
	"runtime"
)

// SyncDir makes new names in a directory durable. Windows has no such call, and
// NTFS keeps a journal of names.
func SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path) //nolint:gosec // G304: the operator's own directory
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

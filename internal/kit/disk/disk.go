// Package disk makes files and names durable, and hides what differs between file systems
// when a file moves to a name that somebody else has open. It knows nothing of what the
// files hold.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

// Create makes a new file that its owner alone can read, calls fill to write it and makes its
// content durable. If that fails, it removes the file.
func Create(path string, fill func(*os.File) error) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // G304: the caller's own directory
	if err != nil {
		return err
	}
	if err := errors.Join(fill(file), file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// Replace writes a file that its owner alone can read. A crash leaves either the old or the
// new content, and the new one once Replace has returned. One caller at a time may write a
// path: the new content is first in a file beside it, which ends in .tmp.
func Replace(path string, data []byte) error {
	return ReplaceWith(path, func(file *os.File) error {
		_, err := file.Write(data)
		return err
	})
}

// ReplaceWith is Replace with a function that writes the content.
func ReplaceWith(path string, fill func(*os.File) error) error {
	temp := path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := Create(temp, fill); err != nil {
		return err
	}
	if err := Rename(temp, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"candela/internal/kit/disk"
	"candela/internal/store/ledger"
	"candela/internal/store/scripts"
	"candela/lib/fault"
)

// linked is the error of a symbolic link where a file of its own must be: what it points to may belong
// to somebody else.
func linked(path string) error {
	return &fault.Error{
		Kind: fault.Conflict, Code: "symbolic_link", Value: path,
		Message: path + " is a symbolic link, so nothing was copied. Put the file itself there, or remove the link.",
	}
}

// checkBackup refuses a folder whose store is a link. Other files are checked when they are copied.
func checkBackup(from string) error {
	for _, name := range []string{ledger.FileName, ledger.FileName + "-wal", ledger.FileName + "-shm"} {
		path := filepath.Join(from, name)
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return linked(path)
		}
	}
	return nil
}

// copyScripts copies the stored scripts, and the versions that alerts keep, that are not in the copy yet.
func copyScripts(from, to string, stat func(string) (fs.FileInfo, error)) error {
	for _, dir := range scripts.Folders() {
		err := copyFolder(filepath.Join(from, dir), filepath.Join(to, dir), stat)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func copyFolder(from, to string, stat func(string) (fs.FileInfo, error)) error {
	info, err := stat(from)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return linked(from)
	}
	files, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("copy scripts: %w", err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return fmt.Errorf("copy scripts: %w", err)
	}
	for _, f := range files {
		target := filepath.Join(to, f.Name())
		if _, err := os.Lstat(target); f.IsDir() || !scripts.IsFile(f.Name()) || err == nil {
			continue
		}
		err := copyFile(filepath.Join(from, f.Name()), target, os.Lstat)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", filepath.Join(from, f.Name()), err)
		}
	}
	return disk.SyncDir(to)
}

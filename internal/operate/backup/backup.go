// Package backup copies the state directory to a backup and back, and checks every copy. It
// knows which files belong to the state, but not their content, and works while a server runs.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"candela/internal/config"
	"candela/internal/kit/disk"
	"candela/internal/store/ledger"
	"candela/internal/store/scripts"
	"candela/internal/store/statedir"
	"candela/lib/fault"
)

// keptFiles lists the files that a backup has besides the store. The cursors of readers are
// copied before the store: an older cursor repeats notifications, a newer one would miss some.
// Locks, the socket and files outside the state directory are not copied.
func keptFiles() []string {
	return []string{statedir.HaltName, config.FileName, statedir.PlansName, statedir.PolicyName, statedir.SubscriptionsName}
}

// StoreName is the file of the store in a backup.
const StoreName = ledger.FileName

// Copied is the result of a backup or a restore.
type Copied struct {
	Files   []string       // names, without the store's
	Store   *ledger.Report // of the copy; nil where there is no store
	Bytes   int64          // of the store's copy
	Streams []string       // of replicas
	Beside  string         // restore: the folder with what was there before, "" when nothing was
}

// Make copies the state directory into a new folder and checks the copy. The folder appears
// when it is complete. progress, which may be nil, is called from time to time.
//
// also, which may be nil, copies what is kept elsewhere into the same folder, and returns its names.
func Make(ctx context.Context, home, to string, progress func(done, total int64), also func(ctx context.Context, room string) ([]string, error)) (c Copied, err error) {
	to, err = filepath.Abs(to)
	if err != nil {
		return c, err
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return c, &fault.Error{
			Kind: fault.Conflict, Code: "backup_exists", Field: "backup", Value: to,
			Message: to + " is there already: a backup is written into a folder of its own, which it makes",
		}
	}
	room, err := os.MkdirTemp(filepath.Dir(to), "."+filepath.Base(to)+"-*")
	if err != nil {
		return c, fmt.Errorf("backup: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(room)) }() // it has another name by then if all went well
	if err := c.fill(ctx, home, room, os.Stat, progress); err != nil {
		return c, err
	}
	if also != nil {
		if c.Streams, err = also(ctx, room); err != nil {
			return c, err
		}
	}
	if c.Store == nil && len(c.Files) == 0 && len(c.Streams) == 0 {
		return c, nothingIn(home, "state directory")
	}
	if err := disk.Rename(room, to); err != nil {
		return c, fmt.Errorf("backup: %w", err)
	}
	return c, disk.SyncDir(filepath.Dir(to))
}

// fill copies the state files of one folder into another and checks them. stat looks at a file: a state
// directory may have links to files that are kept elsewhere, a backup has none.
//
// Scripts are copied before the store and again after it: versions that alerts keep come and go, and an
// alert in the copy must have its own.
func (c *Copied) fill(ctx context.Context, from, to string, stat func(string) (fs.FileInfo, error), progress func(done, total int64)) error {
	if err := copyScripts(from, to, stat); err != nil {
		return err
	}
	if err := c.fillFiles(ctx, from, to, stat, progress); err != nil {
		return err
	}
	if err := copyScripts(from, to, stat); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(to, scripts.DirName)); err == nil {
		c.Files = append(c.Files, scripts.DirName)
	}
	return disk.SyncDir(to)
}

// fillFiles is fill without the scripts.
func (c *Copied) fillFiles(ctx context.Context, from, to string, stat func(string) (fs.FileInfo, error), progress func(done, total int64)) error {
	for _, name := range keptFiles() {
		err := copyFile(filepath.Join(from, name), filepath.Join(to, name), stat)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		c.Files = append(c.Files, name)
	}
	store, err := ledger.OpenAudit(ctx, from)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	err = copyStore(ctx, store, to, progress)
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	return c.verify(ctx, to)
}

func copyStore(ctx context.Context, store *ledger.Audit, to string, progress func(done, total int64)) error {
	if progress == nil {
		return store.CopyTo(ctx, to)
	}
	total, err := store.Size(ctx)
	if err != nil {
		return err
	}
	copied := make(chan error, 1)
	var copying sync.WaitGroup
	defer copying.Wait()
	copying.Go(func() { copied <- store.CopyTo(ctx, to) })
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-copied:
			progress(total, total) // whatever became of it, it is over
			return err
		case <-tick.C:
			if info, err := os.Stat(filepath.Join(to, ledger.FileName)); err == nil {
				progress(info.Size(), total)
			}
		}
	}
}

func (c *Copied) verify(ctx context.Context, dir string) error {
	store, err := ledger.OpenAudit(ctx, dir)
	if err != nil {
		return err
	}
	report, err := store.Verify(ctx)
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	if len(report.Breaks) > 0 {
		return &fault.Error{
			Kind: fault.Conflict, Code: "audit_broken",
			Message: fmt.Sprintf("the copy was discarded, because its audit log was changed: %s. Run candela audit verify to check the store", report.Breaks[0]),
		}
	}
	info, err := os.Stat(filepath.Join(dir, ledger.FileName))
	if err != nil {
		return err
	}
	c.Store, c.Bytes = &report, info.Size()
	return nil
}

// Restore replaces the files of a state directory with those of a backup. No server may run
// there. The replaced files are kept in a folder beside it; other files stay. mark, which may be
// nil, is called with the folder of the copied store before it takes the place of the old one.
func Restore(ctx context.Context, from, home string, now time.Time, progress func(done, total int64), mark func(dir string) error) (c Copied, err error) {
	if err := statedir.Open(home); err != nil {
		return c, err
	}
	release, err := statedir.LockAll(home, "a restore")
	if err != nil {
		return c, err
	}
	defer release()
	room, err := os.MkdirTemp(home, ".restore-*")
	if err != nil {
		return c, fmt.Errorf("restore: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(room)) }()
	if err := checkBackup(from); err != nil {
		return c, err
	}
	if err := c.fill(ctx, from, room, os.Lstat, progress); err != nil {
		return c, err
	}
	if c.Store == nil && len(c.Files) == 0 && !HasStreams(from) {
		return c, nothingIn(from, "folder")
	}
	if c.Store != nil && mark != nil {
		if err := mark(room); err != nil {
			return c, fmt.Errorf("restore: %w", err)
		}
	}
	return c, c.exchange(room, home, now)
}

// exchange moves the old files aside and the restored ones in. The write-ahead log of the old
// store goes with it: it would corrupt another store.
func (c *Copied) exchange(room, home string, now time.Time) error {
	replaced, restored := slices.Clone(c.Files), slices.Clone(c.Files)
	if c.Store != nil {
		replaced = append(replaced, ledger.FileName, ledger.FileName+"-wal", ledger.FileName+"-shm")
		restored = append(restored, ledger.FileName)
	}
	beside := filepath.Join(home, "before-restore-"+now.UTC().Format("20060102T150405.000Z"))
	for _, name := range replaced {
		if _, err := os.Lstat(filepath.Join(home, name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if c.Beside == "" {
			if err := os.Mkdir(beside, 0o700); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
			c.Beside = beside
		}
		if err := disk.Rename(filepath.Join(home, name), filepath.Join(beside, name)); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
	}
	for _, name := range restored {
		if err := disk.Rename(filepath.Join(room, name), filepath.Join(home, name)); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
	}
	return disk.SyncDir(home)
}

func nothingIn(path, what string) error {
	return &fault.Error{
		Kind: fault.NotFound, Code: "nothing_to_copy", Value: path,
		Message: fmt.Sprintf("the %s %s has nothing to copy: neither %s nor %s", what, path, ledger.FileName, strings.Join(keptFiles(), ", ")),
	}
}

// copyFile copies a regular file, readable only by its owner, and syncs it to disk.
func copyFile(from, to string, stat func(string) (fs.FileInfo, error)) error {
	info, err := stat(from)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return linked(from)
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	in, err := os.Open(from) //nolint:gosec // G304: a file of the operator's own directory
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // opened for reading: nothing is lost
	return disk.Create(to, func(out *os.File) error {
		_, err := io.Copy(out, in)
		return err
	})
}

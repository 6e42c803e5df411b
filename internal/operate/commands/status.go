package commands

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"candela/internal/operate/control"
	"candela/internal/operate/status"
	"candela/internal/store"
	"candela/internal/store/statedir"
	"candela/lib/fault"
)

// ReadStatus asks the program that trades in the state directory, or reads the store if
// none does. It changes nothing but the schema of a store that an earlier version wrote.
func (c *Set) ReadStatus(ctx context.Context) (control.Status, error) {
	s, reached, err := control.ReadStatus(ctx, c.home)
	if reached || err != nil {
		return s, err
	}
	return c.storedStatus(ctx)
}

// storedStatus reads the store of the state directory in which no program is trading.
func (c *Set) storedStatus(ctx context.Context) (control.Status, error) {
	home := c.home
	s := control.Status{Accounts: []control.AccountStatus{}}
	kind := store.At(c.stores, home)
	if _, err := os.Stat(filepath.Join(home, kind.File)); errors.Is(err, fs.ErrNotExist) {
		return s, nil // nothing was ever traded here
	}
	held, err := statedir.LockEngine(home)
	if statedir.IsLocked(err) {
		return s, fault.New(fault.Unavailable, statedir.LockedCode, "a program trades in state directory %s and does not respond. See its log.", home).
			About("home", home, "")
	}
	if err != nil {
		return s, err
	}
	defer held.Release()
	stored, err := kind.Open(ctx, home, time.Now)
	if err != nil {
		return s, err
	}
	err = status.Stored{Store: stored, Accounts: c.accounts, Usable: c.index(), HaltFile: filepath.Join(home, statedir.HaltName), ManyOwners: c.many}.Add(ctx, &s)
	return s, errors.Join(err, stored.Close())
}

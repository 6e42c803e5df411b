package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"candela/internal/fault"
)

// openHome makes the state directory, or checks the one that is there. One that
// other users can enter is refused and not tightened: it may be shared on
// purpose, and --home /var/lib must not take /var/lib from everyone else.
func openHome(path string) error {
	if err := makeHome(path); err != nil {
		return unusableHome(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	// Windows has no such bits; makeHome keeps others out of what it makes.
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return &fault.Error{
			Kind: fault.Conflict, Code: "state_directory_open", Field: "home", Value: path, Allowed: "permissions 0700",
			Message: fmt.Sprintf("state directory %s is open to other users (%v): chmod 700 it, or name a directory inside it with --home, which is then made", path, mode),
		}
	}
	return nil
}

// unusableHome says what to do about a state directory that cannot be made or written.
func unusableHome(err error) error {
	return fmt.Errorf("state directory: %w; let this user write there, or choose another --home", err)
}

// lockName is the file whose lock says that a trading engine runs on this state.
const lockName = "engine.lock"

// lockedCode is of the fault that says so.
const lockedCode = "state_directory_locked"

// errLocked means that another process holds the lock.
var errLocked = errors.New("locked")

// homeLock keeps a second engine off the state directory. The system drops it
// with the process, however that ends.
type homeLock struct {
	file *os.File
}

// lockHome takes the lock or says who has it. Two engines on one state would
// each send the other's orders.
func lockHome(home string) (*homeLock, error) {
	path := filepath.Join(home, lockName)
	file, err := openLocked(path)
	if errors.Is(err, errLocked) {
		return nil, &fault.Error{
			Kind: fault.Conflict, Code: lockedCode, Field: "home", Value: home,
			Message: fmt.Sprintf("state directory %s is in use by another trading engine: stop it, or choose another --home", home),
		}
	}
	if err != nil {
		return nil, unusableHome(err)
	}
	return &homeLock{file}, nil
}

// release gives the lock back. The file stays: removing it would let a third
// process lock a name that a second one has already opened.
func (l *homeLock) release() {
	_ = l.file.Close() // closing drops the lock whatever it returns
}

// A client that starts its program anew does not wait until the one before has ended,
// and candela status holds the lock while it reads.
const (
	lockWait  = 2 * time.Second
	lockEvery = 50 * time.Millisecond
)

// awaitHome is lockHome for who can wait a moment.
func awaitHome(ctx context.Context, home string) (*homeLock, error) {
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for began := time.Now(); ; {
		held, err := lockHome(home)
		if f := fault.Of(err); f == nil || f.Code != lockedCode || time.Since(began) > lockWait {
			return held, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-tick.C:
		}
	}
}

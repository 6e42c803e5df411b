package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"candela/lib/fault"
)

// The files whose locks say what runs on this state.
const (
	EngineLock = "engine.lock" // a trading engine
	ServerLock = "server.lock" // the process that serves the control socket
)

// LockedCode is of the fault that says so.
const LockedCode = "state_directory_locked"

// IsLocked reports whether err says that another process has the state directory.
func IsLocked(err error) bool {
	f := fault.Of(err)
	return f != nil && f.Code == LockedCode
}

// errLocked means that another process holds the lock.
var errLocked = errors.New("locked")

// Lock keeps other processes off the state directory. The system drops it with the
// process, however that ends.
type Lock struct {
	file *os.File
	role Role // as the lock of an engine; "" where it is not signed
}

// Release gives the lock back. The file stays: removing it would let a third
// process lock a name that a second one has already opened.
func (l *Lock) Release() {
	if l.role != "" {
		l.sign(time.Now())
	}
	_ = l.file.Close() // closing drops the lock whatever it returns
}

// take takes the lock of a name without waiting. An error is errLocked where another
// process has it.
func take(home, name string) (*Lock, error) {
	file, err := openLocked(filepath.Join(home, name))
	if err != nil {
		return nil, err
	}
	return &Lock{file: file}, nil
}

// locked is the fault that says who has the state directory and what to do.
func locked(home, message string) error {
	return &fault.Error{Kind: fault.Conflict, Code: LockedCode, Field: "home", Value: home, Message: message}
}

// LockServer acquires the lock of the process that serves the owner's commands.
func LockServer(home string) (*Lock, error) {
	l, err := take(home, ServerLock)
	if errors.Is(err, errLocked) {
		return nil, locked(home, fmt.Sprintf("state directory %s is in use by another server: stop it, or choose another --home", home))
	}
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return l, nil
}

// LockAll makes sure that nothing runs in the state directory, and keeps it so until
// release is called. What it is for stands in the refusal, such as "a restore".
func LockAll(home, what string) (release func(), err error) {
	var held []*Lock
	release = func() {
		for _, l := range held {
			l.Release()
		}
	}
	for _, name := range []string{EngineLock, ServerLock} {
		l, err := take(home, name)
		if err == nil {
			held = append(held, l)
			continue
		}
		release()
		if errors.Is(err, errLocked) {
			return nil, locked(home, fmt.Sprintf("candela runs in state directory %s: stop it before %s", home, what))
		}
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return release, nil
}

// Holder returns the name of a lock that some process holds, the server's where both
// are, and "" for none. It makes no file; a lock that is free is taken for a moment.
func Holder(home string) (string, error) {
	held := ""
	for _, name := range []string{EngineLock, ServerLock} {
		if _, err := os.Lstat(filepath.Join(home, name)); err != nil {
			continue // nobody ever ran here; looking would make the file
		}
		l, err := take(home, name)
		switch {
		case errors.Is(err, errLocked):
			held = name
		case err != nil:
			return "", err
		default:
			l.Release()
		}
	}
	return held, nil
}

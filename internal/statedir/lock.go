package statedir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"candela/internal/fault"
)

// The files whose locks say what runs on this state.
const (
	EngineLock = "engine.lock" // a trading engine
	ServerLock = "server.lock" // whoever answers on the control socket
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
}

// Release gives the lock back. The file stays: removing it would let a third
// process lock a name that a second one has already opened.
func (l *Lock) Release() {
	_ = l.file.Close() // closing drops the lock whatever it returns
}

// take takes the lock of a name without waiting. An error is errLocked where another
// process has it.
func take(home, name string) (*Lock, error) {
	file, err := openLocked(filepath.Join(home, name))
	if err != nil {
		return nil, err
	}
	return &Lock{file}, nil
}

// locked is the fault that says who has the state directory and what to do.
func locked(home, message string) error {
	return &fault.Error{Kind: fault.Conflict, Code: LockedCode, Field: "home", Value: home, Message: message}
}

// LockEngine takes the lock of a trading engine or says who has it. Two engines on
// one state would each send the other's orders.
func LockEngine(home string) (*Lock, error) {
	l, err := take(home, EngineLock)
	if errors.Is(err, errLocked) {
		return nil, locked(home, fmt.Sprintf("state directory %s is in use by another trading engine: stop it, or choose another --home", home))
	}
	if err != nil {
		return nil, unusable(err)
	}
	l.sign()
	return l, nil
}

// sign writes into the file which process has the lock. It is a help for people, so
// that it may fail.
func (l *Lock) sign() {
	if l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
}

// EngineProcess returns the number of the process that took the lock of the engine
// last, 0 when that is not known.
func EngineProcess(home string) int {
	data, err := os.ReadFile(filepath.Join(home, EngineLock)) //nolint:gosec // G304: in the state directory, by a name of ours
	if err != nil {
		return 0
	}
	process, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return process
}

// A client that starts its program anew does not wait until the one before has ended,
// and candela status holds the lock while it reads.
const (
	lockWait  = 2 * time.Second
	lockEvery = 50 * time.Millisecond
)

// AwaitEngine is LockEngine for who can wait a moment.
func AwaitEngine(ctx context.Context, home string) (*Lock, error) {
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for began := time.Now(); ; {
		held, err := LockEngine(home)
		if !IsLocked(err) || time.Since(began) > lockWait {
			return held, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-tick.C:
		}
	}
}

// A process that is started again finds the lock free for a moment, and must not find
// that a window has taken it.
const (
	succeedAfter = 3 * time.Second
	succeedEvery = 250 * time.Millisecond
)

// SucceedEngine waits until the lock of the engine is free, stays free for a moment,
// and then takes it. It returns an error when ctx ends first, or when the state
// directory cannot be used.
func SucceedEngine(ctx context.Context, home string) (*Lock, error) {
	tick := time.NewTicker(succeedEvery)
	defer tick.Stop()
	var free time.Time // since when; zero while it is not
	for {
		held, err := take(home, EngineLock)
		switch {
		case errors.Is(err, errLocked):
			free = time.Time{}
		case err != nil:
			return nil, unusable(err)
		case free.IsZero():
			free = time.Now()
			held.Release()
		case time.Since(free) >= succeedAfter:
			held.sign()
			return held, nil
		default:
			held.Release()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// LockServer takes the lock of whoever answers the owner's commands.
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

package statedir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Role is what a process is that holds the lock of the engine. The file has it.
type Role string

// The roles. A command holds the lock for a moment and leaves no trace.
const (
	Server Role = "server" // candela --serve: it is started again, and must find the lock free
	Window Role = "window" // candela --mcp: others like it can stand in for it
)

// LockEngine takes the lock of a trading engine for a moment, or says who has it. Two
// engines on one state would each send the other's orders.
func LockEngine(home string) (*Lock, error) {
	l, err := take(home, EngineLock)
	if errors.Is(err, errLocked) {
		return nil, locked(home, fmt.Sprintf("state directory %s is in use by another trading engine: stop it, or choose another --home", home))
	}
	if err != nil {
		return nil, unusable(err)
	}
	return l, nil
}

// signature is what the file of the lock says of who took it last. It is never the
// proof that somebody has it.
type signature struct {
	process int
	role    Role
	ended   time.Time // zero while it runs, and after a crash
}

// sign writes into the file which process has the lock, and once it ends, when that
// was. It may fail: then the lock is as that of a process that is not known.
func (l *Lock) sign(ended time.Time) {
	text := strconv.Itoa(os.Getpid()) + " " + string(l.role)
	if !ended.IsZero() {
		text += " " + ended.UTC().Format(time.RFC3339)
	}
	if l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt([]byte(text+"\n"), 0)
	}
}

// signed returns what the file of a lock that is held here says.
func (l *Lock) signed() signature {
	const most = 100 // bytes
	data, _ := io.ReadAll(io.NewSectionReader(l.file, 0, most))
	return parseSignature(string(data))
}

func parseSignature(text string) signature {
	var s signature
	words := strings.Fields(text)
	if len(words) > 0 {
		s.process, _ = strconv.Atoi(words[0])
	}
	if len(words) > 1 {
		s.role = Role(words[1])
	}
	if len(words) > 2 {
		s.ended, _ = time.Parse(time.RFC3339, words[2])
	}
	return s
}

// kept reports whether the lock, free for so long as far as was seen, is still left to
// the server that had it.
func (s signature) kept(free time.Duration) bool {
	if !s.ended.IsZero() {
		free = max(free, time.Since(s.ended))
	}
	return s.role == Server && free < ServerGrace
}

// EngineProcess returns the number of the process that took the lock of the engine last,
// 0 when that is not known, and whether it said that it has ended.
func EngineProcess(home string) (process int, ended bool) {
	data, err := os.ReadFile(filepath.Join(home, EngineLock)) //nolint:gosec // G304: in the state directory, by a name of ours
	if err != nil {
		return 0, false
	}
	s := parseSignature(string(data))
	return s.process, !s.ended.IsZero()
}

// A client that restarts its program does not wait until the one before has ended,
// and candela status holds the lock while it reads.
const (
	lockWait  = 2 * time.Second
	lockEvery = 50 * time.Millisecond
)

// AwaitEngine takes the lock for a process that runs an engine, and waits a moment for
// it. A new process takes a free lock, whichever process had it.
func AwaitEngine(ctx context.Context, home string, role Role) (*Lock, error) {
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for began := time.Now(); ; {
		held, err := LockEngine(home)
		if err == nil {
			held.role = role
			held.sign(time.Time{})
			return held, nil
		}
		if !IsLocked(err) || time.Since(began) > lockWait {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-tick.C:
		}
	}
}

// ServerGrace is how long a window that waits leaves the lock to the server that had it: a server
// that is started again must not find that a window trades.
const ServerGrace = time.Minute

// A client that is started again finds the lock free for a moment, and its window must
// not find that another has taken it.
const (
	succeedAfter = 3 * time.Second
	succeedEvery = 250 * time.Millisecond
)

// SucceedEngine waits until the lock of the engine is free, stays free for a moment,
// or for ServerGrace after a server, and then takes it for a window. It returns an
// error when ctx ends first, or when the state directory cannot be used.
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
		case time.Since(free) >= succeedAfter && !held.signed().kept(time.Since(free)):
			held.role = Window
			held.sign(time.Time{})
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

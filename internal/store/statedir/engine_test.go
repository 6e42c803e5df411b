package statedir_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/store/statedir"
)

// hold takes the lock of the engine, which is free.
func hold(t *testing.T, home string, role statedir.Role) *statedir.Lock {
	t.Helper()
	held, err := statedir.AwaitEngine(t.Context(), home, role)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// crash leaves the lock as a process does that was killed.
func crash(t *testing.T, home string, role statedir.Role) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(home, statedir.EngineLock), []byte("4711 "+string(role)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSucceedEngine_LeavesAServerItsPlace has a window wait for who holds the lock, and
// measures how long after the end it takes it.
func TestSucceedEngine_LeavesAServerItsPlace(t *testing.T) {
	t.Parallel()
	const moment, grace = 3 * time.Second, statedir.ServerGrace
	for name, c := range map[string]struct {
		role   statedir.Role
		killed bool
		runs   time.Duration // how long it has the lock
		gone   time.Duration // how long ago it ended
		want   time.Duration // within two seconds
	}{
		"after a window":                 {role: statedir.Window, runs: time.Hour, want: moment},
		"after a server":                 {role: statedir.Server, runs: time.Hour, want: grace},
		"long after a server":            {role: statedir.Server, gone: time.Hour, want: moment},
		"after a server that was killed": {role: statedir.Server, killed: true, want: grace},
		"after a window that was killed": {role: statedir.Window, killed: true, want: moment},
		"after an earlier version":       {killed: true, want: moment},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				if c.killed {
					crash(t, home, c.role)
				} else {
					held := hold(t, home, c.role)
					time.Sleep(c.runs)
					held.Release()
				}
				time.Sleep(c.gone)
				began := time.Now()
				held, err := statedir.SucceedEngine(t.Context(), home)
				if err != nil {
					t.Fatal(err)
				}
				if after := time.Since(began); after < c.want-time.Second || after > c.want+2*time.Second {
					t.Errorf("it was taken after %v, want %v", after, c.want)
				}
				if process, ended := statedir.EngineProcess(home); process != os.Getpid() || ended {
					t.Errorf("process %d has it, ended %t", process, ended)
				}
				held.Release()
				if process, ended := statedir.EngineProcess(home); process != os.Getpid() || !ended {
					t.Errorf("process %d had it, ended %t", process, ended)
				}
			})
		})
	}
}

// TestSucceedEngine_CommandsDoNotPutItOff has the owner look at the state every ten
// seconds after the server was stopped, which takes the lock each time.
func TestSucceedEngine_CommandsDoNotPutItOff(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		hold(t, home, statedir.Server).Release()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		looking := make(chan struct{})
		go func() {
			defer close(looking)
			for ctx.Err() == nil {
				if held, err := statedir.LockEngine(home); err == nil {
					time.Sleep(time.Second)
					held.Release()
				}
				time.Sleep(10 * time.Second)
			}
		}()
		began := time.Now()
		held, err := statedir.SucceedEngine(t.Context(), home)
		if err != nil {
			t.Fatal(err)
		}
		if after := time.Since(began); after > statedir.ServerGrace+10*time.Second {
			t.Errorf("it was taken after %v", after)
		}
		held.Release()
		cancel()
		<-looking
	})
}

// FuzzEngineProcess holds that no file of a lock stops a program.
func FuzzEngineProcess(f *testing.F) {
	for _, text := range []string{"", "12", "12 server", "12 window 2026-01-02T03:04:05Z", "x y z", strconv.Itoa(1 << 40)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, statedir.EngineLock), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = statedir.EngineProcess(home)
		held, err := statedir.AwaitEngine(t.Context(), home, statedir.Server)
		if err != nil {
			t.Fatal(err)
		}
		held.Release()
		if process, ended := statedir.EngineProcess(home); process != os.Getpid() || !ended {
			t.Errorf("process %d, ended %t", process, ended)
		}
	})
}

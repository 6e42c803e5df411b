package statedir_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/store/statedir"
	"candela/lib/fault"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits on Windows")
	}
	base := t.TempDir()
	wide, file := filepath.Join(base, "wide"), filepath.Join(base, "file")
	if err := errors.Join(os.Mkdir(wide, 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ home, want string }{
		"made with its parents":     {filepath.Join(base, "a", "b"), ""},
		"open to others is refused": {wide, "chmod 700"},
		"inside one open to others": {filepath.Join(wide, "own"), ""},
		"a file is no directory":    {file, "choose another --home"},
	}
	for name, tc := range cases {
		for _, time := range []string{"first", "again"} {
			err := statedir.Open(tc.home)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s, %s: error is %v, want %q", name, time, err, tc.want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", name, time, err)
				continue
			}
			if info, err := os.Stat(tc.home); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s, %s: mode %v, error %v", name, time, info.Mode(), err)
			}
		}
	}
	if info, err := os.Stat(wide); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the permissions of a directory we did not make were changed: %v %v", info.Mode(), err)
	}
}

// A held lock excludes others and names its holder.
func TestLocks_KeepOthersOff(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if name, err := statedir.Holder(home); name != "" || err != nil {
		t.Errorf("before anybody ran: %q, %v", name, err)
	}
	if left, _ := os.ReadDir(home); len(left) != 0 {
		t.Errorf("looking made %v", left)
	}
	for name, lock := range map[string]func(string) (*statedir.Lock, error){
		statedir.EngineLock: statedir.LockEngine, statedir.ServerLock: statedir.LockServer,
	} {
		held, err := lock(home)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lock(home); !statedir.IsLocked(err) || fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), home) {
			t.Errorf("%s a second time: %v", name, err)
		}
		if _, err := statedir.LockAll(home, "a test"); !statedir.IsLocked(err) || !strings.Contains(err.Error(), "stop it before a test") {
			t.Errorf("beside %s: %v", name, err)
		}
		if holder, err := statedir.Holder(home); holder != name || err != nil {
			t.Errorf("%s is held: %q, %v", name, holder, err)
		}
		held.Release()
	}
	release, err := statedir.LockAll(home, "a test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := statedir.LockEngine(home); !statedir.IsLocked(err) {
		t.Errorf("beside who has all: %v", err)
	}
	release()
	if holder, err := statedir.Holder(home); holder != "" || err != nil {
		t.Errorf("after everybody left: %q, %v", holder, err)
	}
}

// A file that cannot be a lock is no sign of another process.
func TestLocks_NoPlaceForThem(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "missing")
	_, engine := statedir.LockEngine(home)
	_, server := statedir.LockServer(home)
	_, all := statedir.LockAll(home, "a test")
	for _, err := range []error{engine, server, all} {
		if !errors.Is(err, os.ErrNotExist) || statedir.IsLocked(err) {
			t.Error(err)
		}
	}
	home = t.TempDir()
	if err := os.Mkdir(filepath.Join(home, statedir.EngineLock), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := statedir.Holder(home); err == nil {
		t.Error("a folder passes for a lock")
	}
}

func TestAwaitEngine(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		held, err := statedir.LockEngine(home)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := statedir.AwaitEngine(t.Context(), home, statedir.Server); !statedir.IsLocked(err) || time.Since(began) < 2*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		time.AfterFunc(time.Second, held.Release)
		next, err := statedir.AwaitEngine(t.Context(), home, statedir.Server)
		if err != nil {
			t.Fatal(err)
		}
		next.Release()
	})
}

func TestMarkReplica(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, is := range []bool{false, true, true, false, false} {
		if err := statedir.MarkReplica(home, is); err != nil || statedir.IsReplica(home) != is {
			t.Errorf("marked %v: %v", is, err)
		}
	}
}

package backup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/operate/backup"
	"candela/internal/store/ledger"
	"candela/internal/store/loginfile"
	"candela/internal/store/statedir"
)

// TestMake_SaysHowFarItIs backs a store up for somebody who watches, and puts it
// back.
func TestMake_SaysHowFarItIs(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	home := filepath.Join(base, "home")
	if err := statedir.Open(home); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), home, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was written
	if err := os.WriteFile(filepath.Join(home, statedir.HaltName), []byte("by hand"), 0o600); err != nil {
		t.Fatal(err)
	}
	var done, total int64
	watch := func(d, n int64) { done, total = d, n }
	made, err := backup.Make(t.Context(), home, filepath.Join(base, "copy"), watch, nil)
	if err != nil || made.Store == nil || made.Bytes == 0 || done != total || total < 4096 {
		t.Errorf("%+v, %d of %d: %v", made, done, total, err)
	}
	done = 0
	again := filepath.Join(base, "again")
	back, err := backup.Restore(t.Context(), filepath.Join(base, "copy"), again, time.Now(), watch, nil)
	if err != nil || back.Beside != "" || done != total {
		t.Errorf("%+v, %d of %d: %v", back, done, total, err)
	}
	if _, err := os.Stat(filepath.Join(again, statedir.HaltName)); err != nil {
		t.Errorf("trading would not be halted any more: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(base, ".*"))
	if inside, _ := filepath.Glob(filepath.Join(again, ".*")); err != nil || len(left)+len(inside) > 0 {
		t.Errorf("left behind: %v %v %v", left, inside, err)
	}
}

// TestBackup_LeavesLoginsOut makes a backup, and restores a folder that has logins all the
// same: a copy must not be a login.
func TestBackup_LeavesLoginsOut(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	home, copied, again := filepath.Join(base, "home"), filepath.Join(base, "copy"), filepath.Join(base, "again")
	if err := statedir.Open(home); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{loginfile.KeyName, loginfile.FileName, statedir.PolicyName} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if made, err := backup.Make(t.Context(), home, copied, nil, nil); err != nil || len(made.Files) != 1 {
		t.Errorf("%+v, %v", made, err)
	}
	if _, err := backup.Restore(t.Context(), home, again, time.Now(), nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{copied, again} {
		if loginfile.Stored(dir) {
			t.Errorf("%s has logins", dir)
		}
	}
}

// TestRestore_KeepsWhatItReplaces puts a backup back twice: the second time something
// is there, and is kept beside.
func TestRestore_KeepsWhatItReplaces(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	from, home := filepath.Join(base, "from"), filepath.Join(base, "home")
	if err := os.Mkdir(from, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(from, statedir.PolicyName), "new")
	now := time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)
	first, err := backup.Restore(t.Context(), from, home, now, nil, nil)
	if err != nil || first.Beside != "" || first.Store != nil {
		t.Fatalf("%+v, %v", first, err)
	}
	write(t, filepath.Join(home, statedir.PolicyName), "old")
	write(t, filepath.Join(home, statedir.HaltName), "stays")
	second, err := backup.Restore(t.Context(), from, home, now, nil, nil)
	if err != nil || second.Beside != filepath.Join(home, "before-restore-20260131T160000.000Z") {
		t.Fatalf("%+v, %v", second, err)
	}
	for path, want := range map[string]string{
		filepath.Join(home, statedir.PolicyName):          "new",
		filepath.Join(second.Beside, statedir.PolicyName): "old",
		filepath.Join(home, statedir.HaltName):            "stays",
	} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

func TestCopies_AreRefused(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	empty, home := filepath.Join(base, "empty"), filepath.Join(base, "home")
	if err := errors.Join(os.Mkdir(empty, 0o700), os.Mkdir(home, 0o700)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, statedir.PolicyName), "")
	held, err := statedir.LockServer(home)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	folder := filepath.Join(base, "folder")
	if err := os.MkdirAll(filepath.Join(folder, statedir.HaltName), 0o700); err != nil {
		t.Fatal(err)
	}
	for want, copies := range map[string]func() (backup.Copied, error){
		"is there already": func() (backup.Copied, error) { return backup.Make(t.Context(), home, empty, nil, nil) },
		"has nothing to copy": func() (backup.Copied, error) {
			return backup.Make(t.Context(), empty, filepath.Join(base, "a"), nil, nil)
		},
		"not a regular file": func() (backup.Copied, error) {
			return backup.Make(t.Context(), folder, filepath.Join(base, "b"), nil, nil)
		},
		"stop it before a restore": func() (backup.Copied, error) { return backup.Restore(t.Context(), home, home, time.Now(), nil, nil) },
		"folder " + empty + " has no": func() (backup.Copied, error) {
			return backup.Restore(t.Context(), empty, filepath.Join(base, "e"), time.Now(), nil, nil)
		},
	} {
		if _, err := copies(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		if _, err := os.Stat(filepath.Join(base, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"candela/internal/ledger"
	"candela/internal/statedir"
)

// TestBackup_SaysHowFarItIs backs a store up for somebody who watches, and puts it
// back.
func TestBackup_SaysHowFarItIs(t *testing.T) {
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
	made, err := Backup(t.Context(), home, filepath.Join(base, "copy"), watch)
	if err != nil || made.Store == nil || made.Bytes == 0 || done != total || total < 4096 {
		t.Errorf("%+v, %d of %d: %v", made, done, total, err)
	}
	done = 0
	again := filepath.Join(base, "again")
	back, err := Restore(t.Context(), filepath.Join(base, "copy"), again, time.Now(), watch)
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

package backup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/operate/backup"
	"candela/internal/store/scripts"
	"candela/internal/store/statedir"
	"candela/lib/fault"
)

// writeAll writes files below a folder.
func writeAll(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// TestBackup_HasScripts copies stored scripts and the versions that alerts keep, and puts them back over
// others.
func TestBackup_HasScripts(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	home, copied, again := filepath.Join(base, "home"), filepath.Join(base, "copy"), filepath.Join(base, "again")
	all := map[string]string{"scripts/mine.pine": "first", "scripts/user.lib.1.pine": "library", "scripts/pinned/mine@0123456789ab.json": "{}"}
	writeAll(t, home, all)
	writeAll(t, home, map[string]string{"scripts/notes.txt": "not a script", "scripts/pinned/other.json": "neither"})
	made, err := backup.Make(t.Context(), home, copied, nil, nil)
	if err != nil || strings.Join(made.Files, " ") != scripts.DirName {
		t.Fatalf("%+v, %v", made, err)
	}
	writeAll(t, again, map[string]string{"scripts/mine.pine": "second", "scripts/late.pine": "late"})
	back, err := backup.Restore(t.Context(), copied, again, time.Now(), nil, nil)
	if err != nil || back.Beside == "" {
		t.Fatalf("%+v, %v", back, err)
	}
	for name, text := range all {
		if got := readText(t, filepath.Join(again, name)); got != text {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got := readText(t, filepath.Join(back.Beside, "scripts/late.pine")); got != "late" {
		t.Errorf("what was there before is %q", got)
	}
	for _, name := range []string{"scripts/late.pine", "scripts/notes.txt", "scripts/pinned/other.json"} {
		if _, err := os.Lstat(filepath.Join(again, name)); err == nil {
			t.Errorf("%s was restored", name)
		}
	}
}

// TestRestore_FollowsNoLinks restores folders in which something is a link to a file of somebody else.
func TestRestore_FollowsNoLinks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{statedir.PolicyName, statedir.HaltName, "candela.db", "scripts", "scripts/mine.pine", "scripts/pinned/mine@0123456789ab.json"} {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			from, home, other := filepath.Join(base, "from"), filepath.Join(base, "home"), filepath.Join(base, "other")
			writeAll(t, from, map[string]string{statedir.SubscriptionsName: "{}"})
			writeAll(t, other, map[string]string{"secret": "secret"})
			target := filepath.Join(other, "secret")
			if name == "scripts" {
				target = other
			}
			path := filepath.Join(from, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			_, err := backup.Restore(t.Context(), from, home, time.Now(), nil, nil)
			if f := fault.Of(err); f == nil || f.Code != "symbolic_link" || !strings.Contains(f.Message, path) {
				t.Errorf("restored: %v", err)
			}
			left, _ := filepath.Glob(filepath.Join(home, "*"))
			for _, path := range left {
				if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && strings.Contains(readText(t, path), "secret") {
					t.Errorf("%s has what the link points to", path)
				}
			}
		})
	}
}

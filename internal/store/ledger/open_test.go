package ledger_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/internal/store/ledger"
	"candela/lib/fault"
)

func TestOpen_SetsTheStoreUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000", "user_version": strconv.Itoa(ledger.Version), "application_id": "1668179052",
	} {
		got, err := l.Setting(t.Context(), pragma)
		if err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", pragma, got, err, want)
		}
	}
	check(t, l.PutAlert(t.Context(), owner(), newAlert(1)))
	files, err := os.ReadDir(dir)
	check(t, err)
	if len(files) != 3 {
		t.Errorf("files %v", files)
	}
	for _, f := range files {
		info, err := f.Info()
		check(t, err)
		if mode := info.Mode().Perm(); mode != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%s has %v", f.Name(), mode)
		}
	}
}

// TestOpen_TablesAreStrict keeps a number from being stored as text, or the other
// way round, by whatever writes to the file later.
func TestOpen_TablesAreStrict(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check(t, open(t, dir).Close())
	for _, script := range []string{
		"INSERT INTO entries VALUES ('one', 'owner', 's', 'k', 1, '{}')",
		"INSERT INTO marks VALUES ('s', '1m', 'soon')",
		"UPDATE head SET event = 'many'",
		"INSERT INTO head VALUES (2, 0, x'', 0)",
	} {
		if err := behind(t, dir, script); err == nil {
			t.Errorf("%s is stored", script)
		}
	}
}

func TestOpen_RefusesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		make func(t *testing.T, dir string)
		code string
		says string
	}{
		"a newer schema": {func(t *testing.T, dir string) {
			t.Helper()
			check(t, open(t, dir).Close())
			check(t, behind(t, dir, "PRAGMA user_version = 999"))
		}, "store_newer", "written by a newer candela (schema 999, this one knows " + strconv.Itoa(ledger.Version) + ")"},
		"a file of another program": {func(t *testing.T, dir string) {
			t.Helper()
			place(t, filepath.Join(dir, ledger.FileName), nil)
			check(t, behind(t, dir, "CREATE TABLE t (x)"))
		}, "store_foreign", "is not a store of candela"},
		"no database": {func(t *testing.T, dir string) {
			t.Helper()
			place(t, filepath.Join(dir, ledger.FileName), []byte(strings.Repeat("not a database. ", 1000)))
		}, "store_damaged", "the store is damaged"},
		"a file that others can read": {func(t *testing.T, dir string) {
			t.Helper()
			check(t, open(t, dir).Close())
			check(t, os.Chmod(filepath.Join(dir, ledger.FileName), 0o640))
		}, "store_open", "chmod 600"},
		"a directory that is not there": {func(t *testing.T, dir string) {
			t.Helper()
			check(t, os.Remove(dir))
		}, "store_failed", "the store failed"},
	}
	if runtime.GOOS == "windows" {
		delete(cases, "a file that others can read") // it has no such bits
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "home")
			check(t, os.Mkdir(dir, 0o700))
			tc.make(t, dir)
			_, err := ledger.Open(t.Context(), dir, time.Now)
			if e := fault.Of(err); e == nil || e.Code != tc.code || !strings.Contains(e.Message, tc.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestOpen_TakesAnyPath opens stores below names that mean something in a URL.
func TestOpen_TakesAnyPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "with space", "100%", "a?mode=memory", "a#b", "a&b=c", "\u00e9"} {
		if runtime.GOOS == "windows" && strings.ContainsAny(name, "?") {
			continue // no name there
		}
		dir := filepath.Join(t.TempDir(), name)
		check(t, os.Mkdir(dir, 0o700))
		l := open(t, dir)
		check(t, l.PutAlert(t.Context(), owner(), newAlert(1)))
		check(t, l.Close())
		if _, err := os.Stat(filepath.Join(dir, ledger.FileName)); err != nil {
			t.Error(err)
		}
		verified(t, dir)
	}
}

func TestClose_EndsEverything(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	check(t, l.Close())
	check(t, l.Close())
	err := l.PutAlert(t.Context(), owner(), newAlert(1))
	if e := fault.Of(err); e == nil || e.Code != "store_closed" {
		t.Errorf("a write gives %v", err)
	}
	if _, err := l.Marks(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a read gives %v", err)
	}
}

// TestOpen_BringsAnOlderSchemaUpToDate makes a store of each older version as that
// version made it.
func TestOpen_BringsAnOlderSchemaUpToDate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, filepath.Join(dir, ledger.FileName), nil)
	script := string(read(t, filepath.Join("schema", "0001.sql")))
	check(t, behind(t, dir, "PRAGMA journal_mode = WAL; "+script+`
		PRAGMA application_id = 0x636e646c; PRAGMA user_version = 1;
		INSERT INTO alerts VALUES ('a1', 'owner', 'BTCUSDT', 'binance:BTCUSDT', '', 'price_above', '100', '', '', 1, 0, 'kept', 0);`))
	l := open(t, dir)
	if got, err := l.Setting(t.Context(), "user_version"); err != nil || got != strconv.Itoa(ledger.Version) {
		t.Errorf("version %s, %v", got, err)
	}
	for a, err := range l.Alerts(t.Context()) {
		check(t, err)
		if a.ID != "a1" || a.Note != "kept" {
			t.Errorf("found %+v", a)
		}
	}
	if n := count(t, l); n != 1 {
		t.Errorf("%d alerts", n)
	}
	if _, err := l.Order(t.Context(), "owner", "o1"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

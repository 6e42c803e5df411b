package ledger_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/internal/access/owners"
	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/lib/fault"
)

// TestOpen_MigratesAnOlderStore makes a store of each earlier schema and opens it.
func TestOpen_MigratesAnOlderStore(t *testing.T) {
	t.Parallel()
	for version := 1; version < ledger.Version; version++ {
		t.Run("schema "+strconv.Itoa(version), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, ledger.FileName)
			place(t, path, nil)
			db, err := sql.Open("sqlite", path)
			check(t, err)
			for v := 1; v <= version; v++ {
				script, err := os.ReadFile(fmt.Sprintf("schema/%04d.sql", v))
				check(t, err)
				_, err = db.ExecContext(t.Context(), string(script))
				check(t, err)
			}
			_, err = db.ExecContext(t.Context(), fmt.Sprintf(`
				INSERT INTO alerts (id, owner, symbol, instrument, interval, type, threshold, indicator, signal, created, expires, note, since)
					VALUES ('a-1', 'owner', 'BTCUSDT', 'binance:BTCUSDT', '', 'price_above', '70000', '', '', 1, 0, 'kept', 0);
				INSERT INTO entries VALUES (1, 'owner', 'binance:BTCUSDT', 'price_above', 1, '{}');
				UPDATE head SET entry = 1;
				PRAGMA application_id = 1668179052; PRAGMA user_version = %d`, version))
			check(t, err)
			check(t, db.Close())
			l := open(t, dir)
			n := 0
			for a, err := range l.Alerts(t.Context()) {
				check(t, err)
				if n++; a.ID != "a-1" || a.Owner != "owner" || a.Note != "kept" {
					t.Errorf("%+v", a)
				}
			}
			if n != 1 {
				t.Errorf("%d alerts", n)
			}
			got, err := l.Setting(t.Context(), "user_version")
			if err != nil || got != strconv.Itoa(ledger.Version) {
				t.Errorf("schema %s, %v", got, err)
			}
			check(t, l.PutAlert(t.Context(), owner(), newAlert(2)))
			check(t, l.Close())
			wantIntact(t, dir)
			wantEarlier(t, path, version)
		})
	}
}

// wantEarlier demands a copy of a store as it was, which only its owner can read.
func wantEarlier(t *testing.T, path string, version int) {
	t.Helper()
	kept := fmt.Sprintf("%s.schema-%d", path, version)
	info, err := os.Stat(kept)
	check(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has the mode %v", info.Mode())
	}
	db, err := sql.Open("sqlite", kept)
	check(t, err)
	var schema, alerts int
	check(t, db.QueryRowContext(t.Context(), "SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM alerts WHERE note = 'kept')").Scan(&schema, &alerts))
	if schema != version || alerts != 1 {
		t.Errorf("the copy has the schema %d and %d alerts", schema, alerts)
	}
	check(t, db.Close())
	if all, err := filepath.Glob(path + ".schema-*"); err != nil || len(all) != 1 {
		t.Errorf("copies: %q, %v", all, err)
	}
}

func wantIntact(t *testing.T, dir string) ledger.Report {
	t.Helper()
	audit, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	defer func() { check(t, audit.Close()) }()
	r, err := audit.Verify(t.Context())
	check(t, err)
	if len(r.Breaks) > 0 {
		t.Errorf("the log is broken: %v", r.Breaks)
	}
	return r
}

// own stores one of everything for an owner.
func own(t *testing.T, l *ledger.Ledger, name string, n int) {
	t.Helper()
	by := principal.Caller{Subject: principal.Owner(name), Key: "token of " + name, Client: "client of " + name}
	_, err := l.SeeOwner(t.Context(), owners.Owner{ID: principal.Owner(name), Issuer: "https://id.example", Subject: "s-" + name, Email: name + "@example.com"})
	check(t, err)
	for i := range 2 {
		a := newAlert(int64(n + i))
		a.Owner, a.Note = principal.Owner(name), "secret of "+name
		check(t, l.PutAlert(t.Context(), by, a))
		if i == 0 {
			_, err := l.FireAlerts(t.Context(), []alert.Firing{firing(a)})
			check(t, err)
		}
	}
	check(t, l.SaveState(t.Context(), by, "filter", []byte(`{"of":"`+name+`"}`)))
	check(t, l.SaveCursors(t.Context(), principal.Owner(name), map[string]uint64{"reader": 1}))
	check(t, l.AppendJournal(t.Context(), principal.Owner(name), "paper", [][]byte{[]byte(`{"of":"` + name + `"}`)}))
	_, err = l.LinkOwner(t.Context(), principal.Owner(name), "https://other.example", "t-"+name)
	check(t, err)
}

func export(t *testing.T, l *ledger.Ledger, id string) string {
	t.Helper()
	var all strings.Builder
	for row, err := range l.ExportOwner(t.Context(), principal.Owner(id)) {
		check(t, err)
		fmt.Fprintf(&all, "%s %s\n", row.Table, row.JSON)
	}
	return all.String()
}

// TestEraseOwner_LeavesNothingButAProof erases one of two owners: no row has what was the
// owner's, the chain of the audit log holds, and the other owner's rows are as before.
func TestEraseOwner_LeavesNothingButAProof(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	own(t, l, "ann", 10)
	own(t, l, "bob", 20)
	before := export(t, l, "bob")
	for _, has := range []string{"owners ", "identities ", "alerts ", "notifications ", "cursors ", "states ", "journal ", "audit ", "secret of bob"} {
		if !strings.Contains(before, has) {
			t.Errorf("the export of bob has no %q:\n%s", has, before)
		}
	}
	if strings.Contains(before, "ann") {
		t.Errorf("the export of bob names ann:\n%s", before)
	}
	if _, err := l.EraseOwner(t.Context(), "ann"); fault.Of(err) == nil || fault.Of(err).Code != "owner_active" {
		t.Errorf("an active owner is erased: %v", err)
	}
	_, err := l.SetOwnerState(t.Context(), "ann", owners.Suspended)
	check(t, err)
	proof, err := l.EraseOwner(t.Context(), "ann")
	check(t, err)
	if proof.Events != 4 || proof.Rows["alerts"] != 1 || proof.Rows["entries"] != 1 || proof.Rows["journals"] != 1 || len(proof.LastHash) != 64 {
		t.Errorf("%+v", proof)
	}
	for _, name := range []string{ledger.FileName, ledger.FileName + "-wal"} {
		if raw, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.Contains(string(raw), "secret of ann") || strings.Contains(string(raw), "ann@example.com") {
			t.Errorf("%s has bytes of what was ann's, %v", name, err)
		}
	}
	if left := export(t, l, "ann"); strings.Contains(left, "secret") || strings.Contains(left, "example.com") || strings.Count(left, "audit ") != 4 {
		t.Errorf("left of ann:\n%s", left)
	}
	if after := export(t, l, "bob"); after != before {
		t.Errorf("bob's rows changed from\n%s\nto\n%s", before, after)
	}
	if o, err := l.Owner(t.Context(), "ann"); err != nil || o.State != owners.Erased || o.Email != "" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := l.EraseOwner(t.Context(), "ann"); fault.KindOf(err) != fault.Conflict {
		t.Errorf("again: %v", err)
	}
	check(t, l.Close())
	if r := wantIntact(t, dir); r.Erased != 4 {
		t.Errorf("%d events are erased", r.Erased)
	}
	check(t, open(t, dir).Close()) // the end of the log is checked
	// Nobody but an erasure may take an event's content.
	if err := behind(t, dir, "UPDATE events SET subject = '', actor = '', client = '', body = '' WHERE owner = 'bob'"); err == nil {
		t.Error("events of an owner who was not erased are emptied")
	}
	check(t, behind(t, dir, "DROP TRIGGER events_no_update; UPDATE events SET body = '' WHERE seq = (SELECT min(seq) FROM events WHERE owner = 'bob')"))
	audit, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	defer func() { check(t, audit.Close()) }()
	r, err := audit.Verify(t.Context())
	check(t, err)
	if text := fmt.Sprint(r.Breaks); !strings.Contains(text, "no event says that its owner was") {
		t.Errorf("an emptied event is not found: %s", text)
	}
}

func TestOwners_RecordStateAndIdentity(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	first, err := l.SeeOwner(t.Context(), owners.Owner{ID: "id1", Issuer: "https://id.example", Subject: "1", Email: "old@example.com"})
	check(t, err)
	again, err := l.SeeOwner(t.Context(), owners.Owner{ID: "id1", Email: "new@example.com", Plan: "pro"})
	check(t, err)
	if again.Email != "new@example.com" || again.Plan != "pro" || again.Subject != "1" || !again.First.Equal(first.First) || again.State != owners.Active {
		t.Errorf("%+v", again)
	}
	for _, state := range []owners.State{owners.Suspended, owners.Active} {
		o, err := l.SetOwnerState(t.Context(), "id1", state)
		check(t, err)
		if kept, err := l.Owner(t.Context(), "id1"); err != nil || kept != o || kept.State != state || kept.Since.Before(first.First.Add(-time.Second)) {
			t.Errorf("%+v, %v", kept, err)
		}
	}
	if _, err := l.SetOwnerState(t.Context(), "nobody", owners.Suspended); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	_, err = l.LinkOwner(t.Context(), "id1", "https://other.example", "x")
	check(t, err)
	if id, err := l.OwnerOf(t.Context(), "https://other.example", "x"); err != nil || id != "id1" {
		t.Errorf("%s, %v", id, err)
	}
	if id, err := l.OwnerOf(t.Context(), "https://other.example", "y"); err != nil || id != "" {
		t.Errorf("%s, %v", id, err)
	}
	if _, err := l.LinkOwner(t.Context(), "id1", "https://other.example", "x"); fault.KindOf(err) != fault.Conflict {
		t.Errorf("%v", err)
	}
	n := 0
	for o, err := range l.Owners(t.Context(), "") {
		check(t, err)
		if n++; o.ID != "id1" {
			t.Errorf("%+v", o)
		}
	}
	if n != 1 {
		t.Errorf("%d owners", n)
	}
}

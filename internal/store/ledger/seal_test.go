package ledger_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/receipt"
	"candela/lib/fault"
)

// sealing opens a store with a clock and a key.
func sealing(t *testing.T, dir string, now *time.Time) (*ledger.Ledger, chain.Key, *[]chain.Signed) {
	t.Helper()
	l, err := ledger.Open(t.Context(), dir, func() time.Time { return *now })
	check(t, err)
	t.Cleanup(func() { _ = l.Close() })
	sent := &[]chain.Signed{}
	check(t, l.Seal(t.Context(), func(s chain.Signed) { *sent = append(*sent, s) }))
	key, err := receipt.ReadKey(dir)
	check(t, err)
	return l, key, sent
}

// TestSeal_ChecksEachDayAnd256Events counts the checkpoints of two owners and checks that they are what the log has.
func TestSeal_ChecksEachDayAnd256Events(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	l, key, sent := sealing(t, dir, &now)
	for n := range 600 {
		put(t, l, "ann", int64(n))
	}
	put(t, l, "bob", 1)
	if len(*sent) != 2 {
		t.Errorf("%d checkpoints of 600 events", len(*sent))
	}
	now = now.Add(24 * time.Hour)
	put(t, l, "ann", 1000)
	put(t, l, "bob", 2)
	put(t, l, "bob", 3)
	if len(*sent) != 4 {
		t.Errorf("%d checkpoints after midnight", len(*sent))
	}
	var last uint64
	for _, s := range *sent {
		check(t, s.Verify(key.Public()))
		if s.Checkpoint.Owner == "ann" {
			if s.Checkpoint.Events-last > 256 {
				t.Errorf("%d events since the last checkpoint", s.Checkpoint.Events-last)
			}
			last = s.Checkpoint.Events
			if _, found := chainOf(t, dir, "ann", ledger.Chain{Events: s.Checkpoint.Events, Hash: s.Checkpoint.Hash}); !found {
				t.Errorf("the log does not have %+v", s.Checkpoint)
			}
		}
	}
	if r := verified(t, dir); r.Checkpoints != 4 || r.Key != key.ID() {
		t.Errorf("%+v", r)
	}
}

func chainOf(t *testing.T, dir string, owner principal.Owner, link ledger.Chain) (ledger.Chain, bool) {
	t.Helper()
	log, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	now, found, err := log.Chain(t.Context(), owner, link)
	check(t, err)
	check(t, log.Close())
	return now, found
}

// TestSeal_KeysFollowEachOther changes the key with the old one at hand and without it.
func TestSeal_KeysFollowEachOther(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	next, current := filepath.Join(dir, receipt.KeyName+".next"), filepath.Join(dir, receipt.KeyName)
	for _, step := range []func(l *ledger.Ledger){
		func(*ledger.Ledger) {},
		func(l *ledger.Ledger) { _, err := l.Rotate(t.Context()); check(t, err) },
		func(*ledger.Ledger) { check(t, os.Remove(current)) }, // it is lost
		func(l *ledger.Ledger) { // power fails between the event and the file
			old := read(t, current)
			_, err := l.Rotate(t.Context())
			check(t, err)
			check(t, os.Rename(current, next))
			place(t, current, old)
		},
		func(*ledger.Ledger) { // power fails before the event
			_, err := receipt.MakeNext(dir)
			check(t, err)
		},
	} {
		l, _, _ := sealing(t, dir, &now)
		put(t, l, "ann", now.Unix())
		step(l)
		check(t, l.Close())
		now = now.Add(24 * time.Hour)
	}
	l, key, _ := sealing(t, dir, &now)
	check(t, l.Close())
	if r := verified(t, dir); r.Key != key.ID() {
		t.Errorf("the log names %s, the file has %s", r.Key, key)
	}
	log, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	keys, err := log.Keys(t.Context())
	check(t, err)
	check(t, log.Close())
	var got []bool
	for i := range keys {
		var before *chain.SignedChange
		if i > 0 {
			before = &keys[i-1]
		}
		vouched, err := keys[i].Verify(before)
		check(t, err)
		got = append(got, vouched)
	}
	if !slices.Equal(got, []bool{false, true, false, true}) {
		t.Errorf("vouched for: %v", got)
	}
}

// TestSeal_FindsARewrittenLog computes every hash, the head and the chains again, as somebody who can write the file but has
// no key could.
func TestSeal_FindsARewrittenLog(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	l, _, _ := sealing(t, dir, &now)
	put(t, l, "ann", 1)
	now = now.Add(24 * time.Hour)
	put(t, l, "ann", 2)
	check(t, l.Close())
	rewrite(t, dir, func(e *ledger.Event) {
		if e.Owner == "ann" {
			e.Client = "another"
		}
	})
	if r := verify(t, dir); len(r.Breaks) == 0 || !strings.Contains(r.Breaks[0].What, "rewritten") {
		t.Errorf("found %v", r.Breaks)
	}
}

// rewrite changes events and computes their hashes, the head and the chains again.
func rewrite(t *testing.T, dir string, change func(*ledger.Event)) {
	t.Helper()
	events := recent(t, dir, 1000)
	db, err := sql.Open("sqlite", filepath.Join(dir, ledger.FileName))
	check(t, err)
	defer func() { check(t, db.Close()) }()
	run := func(query string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), query, args...)
		check(t, err)
	}
	run("DROP TRIGGER events_no_update")
	chains := make(map[principal.Owner]ledger.Chain)
	var prev ledger.Hash
	for i := range events {
		e := &events[i]
		change(e)
		e.Prev = prev
		prev = e.Sum()
		run("UPDATE events SET client = ?, prev = ?, hash = ? WHERE seq = ?", e.Client, e.Prev[:], prev[:], e.Seq)
		c := chains[e.Owner]
		c.Add(prev)
		chains[e.Owner] = c
	}
	for owner, c := range chains {
		run("UPDATE chains SET hash = ? WHERE owner = ?", c.Hash[:], owner)
	}
	run("UPDATE head SET hash = ?", prev[:])
	run("CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, ''); END")
}

// TestSeal_RefusesAKeyThatIsNotOurs opens stores with key files that others can read or that are something else.
func TestSeal_RefusesAKeyThatIsNotOurs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size int
		mode os.FileMode
		code string
	}{
		"others can read it": {32, 0o640, "receipt_key_open"},
		"too short":          {31, 0o600, "receipt_key_damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && c.mode != 0o600 {
				return // it has no such bits
			}
			dir := t.TempDir()
			path := filepath.Join(dir, receipt.KeyName)
			place(t, path, make([]byte, c.size))
			check(t, os.Chmod(path, c.mode))
			err := open(t, dir).Seal(t.Context(), nil)
			if f := fault.Of(err); f == nil || f.Code != c.code || len(read(t, path)) != c.size {
				t.Errorf("got %v", err)
			}
		})
	}
}

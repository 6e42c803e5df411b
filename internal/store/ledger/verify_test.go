package ledger_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"candela/internal/alerting/alert"
	"candela/internal/store/ledger"
	"candela/lib/fault"
)

// written makes a store with ten events and closes it.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	l := open(t, dir)
	for i := range int64(6) {
		a := newAlert(i)
		a.Note = fmt.Sprintf("note %d", i)
		check(t, l.PutAlert(t.Context(), owner(), a))
		if i%3 == 0 {
			check(t, l.CancelAlert(t.Context(), owner(), a.ID))
		}
		if i%3 == 1 {
			_, err := l.FireAlerts(t.Context(), []alert.Firing{firing(a)})
			check(t, err)
		}
	}
	check(t, l.Close())
	return dir
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// behind runs SQL on a store behind the ledger's back.
func behind(tb testing.TB, dir, script string) error {
	tb.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, ledger.FileName))
	check(tb, err)
	_, err = db.ExecContext(tb.Context(), script)
	check(tb, db.Close())
	return err
}

const noTriggers = "DROP TRIGGER events_no_update; DROP TRIGGER events_no_delete; DROP TRIGGER events_no_replace; "

func TestVerify_SaysWhereALogWasTouched(t *testing.T) {
	t.Parallel()
	columns := "at, owner, kind, subject, actor, client, body, prev, hash"
	cases := map[string]struct {
		script string
		at     uint64
		what   string
	}{
		"a time":               {"UPDATE events SET at = at + 1 WHERE seq = 4", 4, "not what was written"},
		"an owner":             {"UPDATE events SET owner = 'other' WHERE seq = 4", 4, "not what was written"},
		"a kind":               {"UPDATE events SET kind = 'alert_expired' WHERE seq = 2", 2, "not what was written"},
		"a subject":            {"UPDATE events SET subject = (SELECT subject FROM events WHERE seq = 1) WHERE seq = 4", 4, "not what was written"},
		"a token":              {"UPDATE events SET actor = '' WHERE seq = 1", 1, "not what was written"},
		"a client":             {"UPDATE events SET client = client || 'x' WHERE seq = 10", 10, "not what was written"},
		"one letter of a body": {"UPDATE events SET body = replace(body, 'note 1', 'note 7') WHERE seq = 3", 3, "not what was written"},
		"letters moved between columns": {
			"UPDATE events SET actor = actor || substr(client, 1, 1), client = substr(client, 2) WHERE seq = 3", 3, "not what was written",
		},
		"a hash":                         {"UPDATE events SET hash = zeroblob(32) WHERE seq = 4", 4, "not what was written"},
		"a link":                         {"UPDATE events SET prev = zeroblob(32) WHERE seq = 4", 4, "does not follow"},
		"an event in the middle is gone": {"DELETE FROM events WHERE seq = 5", 5, "is missing"},
		"several in the middle are gone": {"DELETE FROM events WHERE seq BETWEEN 4 AND 6", 4, "is missing, and all up to 6"},
		"the first is gone":              {"DELETE FROM events WHERE seq = 1", 1, "is missing"},
		"the last is gone":               {"DELETE FROM events WHERE seq = 10", 10, "is missing, where the head says"},
		"the last three are gone":        {"DELETE FROM events WHERE seq > 7", 8, "is missing, and all up to 10, where the head says"},
		"all are gone":                   {"DELETE FROM events", 1, "is missing, and all up to 10, where the head says"},
		"the gap is closed":              {"DELETE FROM events WHERE seq = 5; UPDATE events SET seq = seq - 1 WHERE seq > 5", 5, "does not follow"},
		"two are swapped":                {"UPDATE events SET seq = -1 WHERE seq = 4; UPDATE events SET seq = 4 WHERE seq = 5; UPDATE events SET seq = 5 WHERE seq = -1", 4, "does not follow"},
		"one is added at the end":        {"INSERT INTO events (seq, " + columns + ") SELECT 11, " + columns + " FROM events WHERE seq = 10", 11, "all after it were added"},
		"one is added before the first":  {"INSERT INTO events (seq, " + columns + ") SELECT 0, " + columns + " FROM events WHERE seq = 1", 0, "an event numbered 0 is not what was written"},
		"the head is set back":           {"UPDATE head SET event = 8, hash = (SELECT hash FROM events WHERE seq = 8)", 9, "all after it were added"},
		"the head's hash is another":     {"UPDATE head SET hash = zeroblob(32)", 10, "not the event that the head says"},
		"the head is gone":               {"DELETE FROM head", 0, "the head, which says where the log ends, is gone"},
		"a trigger is gone":              {"", 0, "the trigger events_no_delete, which keeps events as they are, is gone"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := written(t)
			if r := verified(t, dir); r.Events != 10 || r.Last != 10 {
				t.Fatalf("%d events, the last is %d", r.Events, r.Last)
			}
			check(t, behind(t, dir, noTriggers+tc.script))
			report := verify(t, dir)
			if !slices.ContainsFunc(report.Breaks, func(b ledger.Break) bool { return b.Seq == tc.at && strings.Contains(b.What, tc.what) }) {
				t.Errorf("want event %d %q, found %v", tc.at, tc.what, report.Breaks)
			}
		})
	}
}

// TestVerify_FindsAForgeryByANotedHash cuts the log and moves the head along, which
// cannot be distinguished from a log that never was longer.
func TestVerify_FindsAForgeryByANotedHash(t *testing.T) {
	t.Parallel()
	dir := written(t)
	noted := verified(t, dir)
	contains := func(want bool) {
		t.Helper()
		log, err := ledger.OpenAudit(t.Context(), dir)
		check(t, err)
		found, err := log.Contains(t.Context(), noted.Last, noted.Hash)
		check(t, err)
		check(t, log.Close())
		if found != want {
			t.Errorf("the noted event is there: %v", found)
		}
	}
	contains(true)
	triggers := "CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT 1; END; CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT 1; END; CREATE TRIGGER events_no_replace BEFORE INSERT ON events BEGIN SELECT 1; END;"
	check(t, behind(t, dir, noTriggers+"DELETE FROM events WHERE seq > 8; UPDATE head SET event = 8, hash = (SELECT hash FROM events WHERE seq = 8);"+triggers))
	if report := verify(t, dir); len(report.Breaks) > 0 {
		t.Logf("the file shows more than promised: %v", report.Breaks)
	}
	contains(false)
}

func TestEvents_CannotBeChanged(t *testing.T) {
	t.Parallel()
	dir := written(t)
	for _, script := range []string{
		"UPDATE events SET body = '{}' WHERE seq = 1",
		"DELETE FROM events WHERE seq = 10",
		"DELETE FROM events",
		"INSERT OR REPLACE INTO events SELECT * FROM events WHERE seq = 1",
		"REPLACE INTO events SELECT * FROM events WHERE seq = 10",
	} {
		if err := behind(t, dir, script); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", script, err)
		}
	}
	verified(t, dir)
}

// TestEvents_HashIsTheDocumentedOne computes a hash as the page of decisions says,
// from the columns alone.
func TestEvents_HashIsTheDocumentedOne(t *testing.T) {
	t.Parallel()
	dir := written(t)
	for _, e := range recent(t, dir, 100) {
		sum := sha256.New()
		fmt.Fprint(sum, "candela event 1\n")
		sum.Write(e.Prev[:])
		number := func(n int64) {
			for shift := 56; shift >= 0; shift -= 8 {
				sum.Write([]byte{byte(n >> shift)})
			}
		}
		number(int64(e.Seq))
		number(e.At.UnixMicro())
		for _, text := range []string{string(e.Owner), e.Kind, e.Subject, e.Actor, e.Client, string(e.Body)} {
			number(int64(len(text)))
			fmt.Fprint(sum, text)
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != e.Hash.String() {
			t.Errorf("event %d has %s, the documented form gives %s", e.Seq, e.Hash, got)
		}
	}
}

func recent(t *testing.T, dir string, n int) []ledger.Event {
	t.Helper()
	log, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	events, err := log.Recent(t.Context(), n)
	check(t, err)
	check(t, log.Close())
	return events
}

func TestEvents_SayWhoAskedForWhat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	a, b, c := newAlert(1), newAlert(2), newAlert(3)
	for _, a := range []alert.Alert{a, b, c} {
		check(t, l.PutAlert(t.Context(), owner(), a))
	}
	check(t, l.CancelAlert(t.Context(), owner(), a.ID))
	_, err := l.FireAlerts(t.Context(), []alert.Firing{firing(b)})
	check(t, err)
	check(t, l.ExpireAlerts(t.Context(), []alert.Alert{c}))
	check(t, l.SaveState(t.Context(), owner(), "guard", []byte(`{"state":"HALTED"}`)))
	_ = l.CancelAlert(t.Context(), owner(), "none") // changes nothing, and leaves no event
	var got []string
	for _, e := range recent(t, dir, 100)[3:] {
		got = append(got, fmt.Sprintf("%s %s %s %s %q %q", e.Kind, e.Subject, e.Owner, e.Body, e.Actor, e.Client))
	}
	f := firing(b)
	want := []string{
		"alert_canceled " + a.ID + ` owner {} "key" "client"`,
		"alert_fired " + b.ID + ` owner {"notification":1,"record":` + string(f.AppendJSON(nil)) + `} "" ""`,
		"alert_expired " + c.ID + ` owner {} "" ""`,
		`state_set guard owner {"state":"HALTED"} "key" "client"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(recent(t, dir, 2)); n != 2 {
		t.Errorf("%d of the 2 newest", n)
	}
}

// TestVerify_FindsAnyFlippedBit flips bits all over the file. Where an event reads
// differently then, or not at all, the report says so; nothing else happens than a
// fault that names the store.
func TestVerify_FindsAnyFlippedBit(t *testing.T) {
	t.Parallel()
	dir := written(t)
	whole := read(t, filepath.Join(dir, ledger.FileName))
	want := recent(t, dir, 100)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 / shorter {
		at, bit := rng.IntN(len(whole)), byte(1)<<rng.IntN(8)
		copied := t.TempDir()
		data := slices.Clone(whole)
		data[at] ^= bit
		place(t, filepath.Join(copied, ledger.FileName), data)
		if err := flipped(t.Context(), copied, want); err != nil {
			t.Errorf("byte %d, bit %d: %v", at, bit, err)
		}
	}
}

func flipped(ctx context.Context, dir string, want []ledger.Event) error {
	log, err := ledger.OpenAudit(ctx, dir)
	if err != nil {
		return unlessFault(err)
	}
	defer func() { _ = log.Close() }()
	report, err := log.Verify(ctx)
	if err != nil {
		return unlessFault(err)
	}
	got, err := log.Recent(ctx, 100)
	if err != nil && fault.Of(err) == nil {
		return err
	}
	if (err != nil || !cmp.Equal(want, got)) && len(report.Breaks) == 0 {
		return fmt.Errorf("events differ, and nothing is reported (reading gives %w)", err)
	}
	return nil
}

// unlessFault passes an error that names the store for what it is.
func unlessFault(err error) error {
	if e := fault.Of(err); e != nil && (e.Kind == fault.Unavailable || e.Kind == fault.Conflict) {
		return nil
	}
	return err
}

func TestOpen_RefusesATouchedLog(t *testing.T) {
	t.Parallel()
	dir := written(t)
	check(t, behind(t, dir, noTriggers+"DELETE FROM events WHERE seq = 10"))
	_, err := ledger.Open(t.Context(), dir, time.Now)
	if e := fault.Of(err); e == nil || e.Code != "store_tampered" || !strings.Contains(e.Message, "event 10: is missing") {
		t.Errorf("got %v", err)
	}
}

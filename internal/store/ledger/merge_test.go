package ledger_test

import (
	"maps"
	"testing"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
)

// TestMergeOwner_GivesAllAndKeepsTheAuditLog holds that what one owner has is another's
// afterwards, that readers go on where they were, and that the audit log stays whole.
func TestMergeOwner_GivesAllAndKeepsTheAuditLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	ctx := t.Context()
	var fired []alert.Firing
	for i, owner := range []string{"local", "owner", "local", "owner"} {
		a := newAlert(int64(i + 1))
		a.Owner = owner
		if err := l.PutAlert(ctx, principal.Caller{Subject: owner}, a); err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			fired = append(fired, firing(a))
		}
	}
	if _, err := l.FireAlerts(ctx, fired); err != nil { // 1 local, 2 owner, 3 local
		t.Fatal(err)
	}
	waits := newAlert(9)
	waits.Owner = "local"
	if err := l.PutAlert(ctx, principal.Caller{Subject: "local"}, waits); err != nil {
		t.Fatal(err)
	}
	for owner, cursors := range map[string]map[string]uint64{
		// The first that is not done.
		"local": {"webhook": 2, "ntfy": 4, "behind": 1, "alone": 3},
		"owner": {"webhook": 3, "ntfy": 3, "behind": 3},
	} {
		if err := l.SaveCursors(ctx, owner, cursors); err != nil {
			t.Fatal(err)
		}
	}
	before := verified(t, dir)
	for range 2 { // the second finds nothing
		if err := l.MergeOwner(ctx, "local", "owner"); err != nil {
			t.Fatal(err)
		}
	}
	if after := verified(t, dir); after.Events != before.Events+1 {
		t.Errorf("%d audit events became %d", before.Events, after.Events)
	}
	alerts := 0
	for a, err := range l.Alerts(ctx) {
		if err != nil || a.Owner != "owner" {
			t.Errorf("%+v, %v", a, err)
		}
		alerts++
	}
	entries := 0
	for e, err := range l.Entries(ctx, 0) {
		if err != nil || e.Owner != "owner" {
			t.Errorf("%+v, %v", e, err)
		}
		entries++
	}
	if alerts != 2 || entries != 3 {
		t.Errorf("%d alerts and %d notifications", alerts, entries)
	}
	cursors, err := l.Cursors(ctx)
	want := map[string]uint64{"webhook": 3, "ntfy": 4, "behind": 1, "alone": 3}
	if err != nil || len(cursors) != 1 || !maps.Equal(cursors["owner"], want) {
		t.Errorf("%v, %v; want %v", cursors, err, want)
	}
}

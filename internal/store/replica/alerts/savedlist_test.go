package alerts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/replicatest"
)

// saveList starts a replica, sets alerts and saves its list with one more that the store does not
// have: it shows who used the list. It belongs to nobody.
func saveList(t *testing.T, prefix, path string, n int) (_ *manyReplica, all []alert.Alert, unstored string) {
	t.Helper()
	m := startListed(t, prefix, path, time.Now)
	for i := range n {
		a := ownerAlert(principal.Owner(fmt.Sprint("owner-", i%3)), i)
		if err := m.PutAlert(t.Context(), principal.Caller{Subject: a.Owner}, a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	m.run()
	replicatest.Eventually(t, "the engine watches all alerts", func() bool { return m.engine.count() == n })
	more := ownerAlert("nobody", n)
	if err := m.engine.Index(t.Context(), []alert.Alert{more}); err != nil {
		t.Fatal(err)
	}
	if err := m.SaveList(t.Context(), m.engine); err != nil {
		t.Fatal(err)
	}
	return m, all, more.ID
}

// A replica that starts with a saved list reads what has changed since, and has then what the store
// has: alerts that began and ended in every way.
func TestCoordinator_StartsWithASavedList(t *testing.T) {
	t.Parallel()
	prefix, path := replicatest.NewPrefix(), filepath.Join(t.TempDir(), "list")
	first, all, unstored := saveList(t, prefix, path, 30)
	gone := map[string]bool{}
	for i, a := range all {
		by := principal.Caller{Subject: a.Owner}
		var err error
		switch {
		case a.Owner == "owner-2":
			gone[a.ID] = true // erased below
		case i%5 == 0:
			err = first.CancelAlert(t.Context(), by, a.ID)
			gone[a.ID] = true
		case i%5 == 1:
			_, err = first.FireAlerts(t.Context(), []alert.Firing{{Alert: a, At: time.Now()}})
			gone[a.ID] = true
		case i%5 == 2:
			err = first.ExpireAlerts(t.Context(), []alert.Alert{a})
			gone[a.ID] = true
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := first.PruneOwners(t.Context(), 1); err != nil { // notifications become tombstones
		t.Fatal(err)
	}
	if _, err := first.EraseOwner(t.Context(), "owner-2"); err != nil {
		t.Fatal(err)
	}
	later := ownerAlert("owner-1", 500)
	if err := first.PutAlert(t.Context(), principal.Caller{Subject: later.Owner}, later); err != nil {
		t.Fatal(err)
	}
	want := []string{later.ID, unstored}
	for _, a := range all {
		if !gone[a.ID] {
			want = append(want, a.ID)
		}
	}
	slices.Sort(want)
	second := startListed(t, prefix, path, time.Now)
	second.engine.fail(1)
	second.run()
	<-second.Indexed()
	var got []string
	for _, owner := range []principal.Owner{"owner-0", "owner-1", "owner-2", "nobody"} {
		got = append(got, second.list(t, owner)...)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	// The feed of the first one has seen that an owner was erased.
	if left := first.list(t, "owner-2"); len(left) != 0 {
		t.Errorf("the alerts of an erased owner are listed: %v", left)
	}
}

func TestCoordinator_ReadsAllAlertsWithoutAListThatHolds(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, path string) (now func() time.Time){
		"it is too old": func(*testing.T, string) func() time.Time {
			return func() time.Time { return time.Now().Add(13 * time.Hour) }
		},
		"it is of the future": func(*testing.T, string) func() time.Time {
			return func() time.Time { return time.Now().Add(-time.Hour) }
		},
		"it is of another stream": func(t *testing.T, path string) func() time.Time {
			t.Helper()
			saveList(t, replicatest.NewPrefix(), path, 2)
			return time.Now
		},
		"it is damaged": func(t *testing.T, path string) func() time.Time {
			t.Helper()
			if err := os.Truncate(path, 100); err != nil {
				t.Fatal(err)
			}
			return time.Now
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix, path := replicatest.NewPrefix(), filepath.Join(t.TempDir(), "list")
			saveList(t, prefix, path, 5)
			now := spoil(t, path)
			m := startListed(t, prefix, path, now)
			m.run()
			<-m.Indexed()
			if got := m.list(t, "nobody"); len(got) != 0 {
				t.Errorf("the list was used: %v", got)
			}
			if n := len(m.list(t, "owner-0")) + len(m.list(t, "owner-1")) + len(m.list(t, "owner-2")); n != 5 {
				t.Errorf("%d alerts are listed, want 5", n)
			}
		})
	}
}

package alerts_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/replicatest"
)

// manyReplica is a replica of an installation for many owners with a fake engine.
type manyReplica struct {
	*alerts.Coordinator
	*alerts.Store
	engine *fakeEngine
	run    func()
}

func startMany(t *testing.T, prefix string) *manyReplica {
	t.Helper()
	return startListed(t, prefix, "", time.Now)
}

// startListed is startMany with a saved list of alerts and a clock.
func startListed(t *testing.T, prefix, list string, now func() time.Time) *manyReplica {
	t.Helper()
	c := replicatest.ConnectMany(t, replicatest.Servers(), prefix)
	store, err := alerts.Open(t.Context(), c, now)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{conn: c}
	feed, err := store.OpenChangeFeed(t.Context(), alerts.ChangeFeedConfig{Publish: r.publish, Log: replicatest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(feed.Close)
	members, err := member.Join(t.Context(), c, member.Info{Name: "w"}, replicatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(members.Close)
	m := &manyReplica{Store: store, engine: &fakeEngine{listed: make(map[string]alert.Alert), watched: make(map[string]engine.Handed)}}
	m.Coordinator = alerts.NewCoordinator(alerts.CoordinatorConfig{Group: members, ChangeFeed: feed, ListFile: list, Log: replicatest.Quiet()})
	m.run = func() {
		members.Activate(t.Context())
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); m.Run(ctx, m.engine) }()
		t.Cleanup(func() { stop(); <-done })
	}
	return m
}

func (m *manyReplica) list(t *testing.T, owner principal.Owner) []string {
	t.Helper()
	all, err := m.Coordinator.Alerts(t.Context(), principal.Caller{Subject: owner})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(all))
	for i, a := range all {
		ids[i] = a.ID
	}
	slices.Sort(ids)
	return ids
}

func ownerAlert(owner principal.Owner, i int) alert.Alert {
	a := replicatest.PriceAlert(i)
	a.Owner = owner
	return a
}

// A replica that has not read all alerts yet answers for each owner as one that has.
func TestCoordinator_ListsTheAlertsOfAnOwnerBeforeItHasReadAll(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	other := startMany(t, prefix)
	want := map[principal.Owner][]string{}
	for i := range 20 {
		owner := principal.Owner(fmt.Sprint("owner-", i%4))
		a := ownerAlert(owner, i)
		if err := other.PutAlert(t.Context(), principal.Caller{Subject: owner}, a); err != nil {
			t.Fatal(err)
		}
		if i%5 == 0 {
			if err := other.CancelAlert(t.Context(), principal.Caller{Subject: owner}, a.ID); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want[owner] = append(want[owner], a.ID)
	}
	m := startMany(t, prefix)
	for owner, ids := range want {
		slices.Sort(ids)
		if got := m.list(t, owner); !slices.Equal(got, ids) {
			t.Errorf("before the alerts are read %s has %v, want %v", owner, got, ids)
		}
	}
	if got := m.list(t, "nobody"); len(got) != 0 {
		t.Errorf("somebody without alerts has %v", got)
	}
	m.run()
	<-m.Indexed()
	for owner, ids := range want {
		if got := m.list(t, owner); !slices.Equal(got, ids) {
			t.Errorf("after the alerts are read %s has %v, want %v", owner, got, ids)
		}
	}
}

// Alerts begin, end and fire while a replica reads them, and its engine fails now and then. In the
// end the engine has those that the store has.
func TestCoordinator_ReadsAlertsThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	other := startMany(t, prefix)
	change := func(i int) {
		owner := principal.Owner(fmt.Sprint("owner-", i%7))
		by := principal.Caller{Subject: owner}
		a := ownerAlert(owner, i)
		err := other.PutAlert(t.Context(), by, a)
		switch {
		case err != nil:
		case i%3 == 0:
			err = other.CancelAlert(t.Context(), by, a.ID)
		case i%3 == 1:
			_, err = other.FireAlerts(t.Context(), []alert.Firing{{Alert: a, At: time.Now()}})
		}
		if err != nil {
			t.Error(err)
		}
	}
	for i := range 60 {
		change(i)
	}
	m := startMany(t, prefix)
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := range 60 {
			change(100 + i)
		}
	})
	m.engine.fail(2)
	m.run()
	changing.Wait()
	<-m.Indexed()
	for k := range 7 {
		owner := principal.Owner(fmt.Sprint("owner-", k))
		all, err := m.OwnerAlerts(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, a := range all {
			want = append(want, a.ID)
		}
		slices.Sort(want)
		if got := m.list(t, owner); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s has %v, want %v", owner, got, want)
		}
	}
	replicatest.Eventually(t, "the engine watches all alerts", func() bool { return m.engine.count() == 40 })
}

package owners_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/access/owners"
	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	ownerstore "candela/internal/store/replica/owners"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

// replica is one that keeps owners and what they have.
type replica struct {
	*ownerstore.Store

	alerts *alerts.Store
	mu     sync.Mutex
	heard  []string
}

// barred reports whether the replica knows that an owner is not active.
func (r *replica) barred(owner principal.Owner) bool {
	return r.Standing(owner).State != owners.Active
}

func (r *replica) has(change string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.heard, change)
}

func open(t *testing.T, prefix string) *replica {
	t.Helper()
	return openWith(t, prefix, nil)
}

// openWith is open with what learns of plans.
func openWith(t *testing.T, prefix string, plans func(owners.SharedPlans)) *replica {
	t.Helper()
	c := replicatest.ConnectMany(t, replicatest.Servers(), prefix)
	kept, err := alerts.Open(t.Context(), c, time.Now)
	check(t, err)
	r := &replica{alerts: kept}
	r.Store, err = ownerstore.Open(t.Context(), c, time.Now, kept)
	check(t, err)
	t.Cleanup(r.Close)
	r.OnPlans = plans
	check(t, r.Follow(t.Context(), replicatest.Quiet(), func(owner principal.Owner, state owners.State) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.heard = append(r.heard, string(owner)+" "+string(state))
	}))
	return r
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// own stores one of everything for an owner.
func (r *replica) own(t *testing.T, name string, n int) {
	t.Helper()
	_, err := r.SeeOwner(t.Context(), owners.Owner{ID: principal.Owner(name), Issuer: "https://id.example", Subject: "s-" + name, Email: name + "@example.com"})
	check(t, err)
	for i := range 2 {
		a := replicatest.PriceAlert(n + i)
		a.Owner, a.Note = principal.Owner(name), "secret of "+name
		check(t, r.alerts.PutAlert(t.Context(), principal.Caller{Subject: principal.Owner(name)}, a))
		if i == 0 {
			_, err := r.alerts.FireAlerts(t.Context(), []alert.Firing{{Alert: a, Value: 1, At: time.Now()}})
			check(t, err)
		}
	}
	check(t, r.alerts.SaveCursors(t.Context(), principal.Owner(name), map[string]uint64{"reader": 1}))
	_, err = r.LinkOwner(t.Context(), principal.Owner(name), "https://other.example", "t-"+name)
	check(t, err)
}

func (r *replica) export(t *testing.T, id string) string {
	t.Helper()
	var all strings.Builder
	for row, err := range r.ExportOwner(t.Context(), principal.Owner(id)) {
		check(t, err)
		fmt.Fprintf(&all, "%s %s\n", row.Table, row.JSON)
	}
	return all.String()
}

// TestStore_KeepsOwnersForAllReplicas suspends and erases one of two owners at one replica: the
// other replica learns of it, nothing of the owner is left, and what the other owner has is as
// before.
func TestStore_KeepsOwnersForAllReplicas(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	a, b := open(t, prefix), open(t, prefix)
	a.own(t, "ann", 10)
	b.own(t, "bob", 20)
	before := b.export(t, "bob")
	for _, want := range []string{"owners ", "alerts ", "notifications ", "cursors ", "bob@example.com"} {
		if !strings.Contains(before, want) {
			t.Errorf("the export has no %q:\n%s", want, before)
		}
	}
	if _, err := a.EraseOwner(t.Context(), "ann"); fault.Of(err) == nil || fault.Of(err).Code != "owner_active" {
		t.Errorf("an active owner is erased: %v", err)
	}
	if _, err := b.LinkOwner(t.Context(), "bob", "https://other.example", "t-ann"); fault.Of(err) == nil || fault.Of(err).Code != "identity_linked" {
		t.Errorf("an identity is linked twice: %v", err)
	}
	if id, err := b.OwnerOf(t.Context(), "https://other.example", "t-ann"); err != nil || id != "ann" {
		t.Errorf("linked to %q, %v", id, err)
	}
	wantState(t, a, b, owners.Suspended)
	wantState(t, b, a, owners.Active)
	wantState(t, a, b, owners.Suspended)
	if _, err := a.SetOwnerPlan(t.Context(), "bob", "pro"); err != nil {
		t.Error(err)
	}
	replicatest.Eventually(t, "the other replica learns of the plan", func() bool { return b.Standing("bob").Plan == "pro" })
	if _, err := b.SetOwnerPlan(t.Context(), "bob", ""); err != nil {
		t.Error(err)
	}
	before = b.export(t, "bob") // with another change
	proof, err := b.EraseOwner(t.Context(), "ann")
	if err != nil || proof.Rows["alerts"] != 1 || proof.Rows["notifications"] != 1 || proof.Rows["cursors"] != 1 || proof.Rows["identities"] != 1 {
		t.Errorf("%+v, %v", proof, err)
	}
	replicatest.Eventually(t, "the other replica learns of it", func() bool { return a.has("ann erased") && a.barred("ann") })
	if left := a.export(t, "ann"); strings.Contains(left, "secret") || strings.Contains(left, "example") || strings.Contains(left, "\ncursors") {
		t.Errorf("left of ann:\n%s", left)
	}
	if id, err := a.OwnerOf(t.Context(), "https://other.example", "t-ann"); err != nil || id != "" {
		t.Errorf("still linked to %q, %v", id, err)
	}
	if after := a.export(t, "bob"); after != before {
		t.Errorf("bob has\n%s\nand had\n%s", after, before)
	}
	if o, err := a.SeeOwner(t.Context(), owners.Owner{ID: "ann", Email: "again@example.com"}); err != nil || o.State != owners.Erased || o.Email != "" {
		t.Errorf("an erased owner comes back: %+v, %v", o, err)
	}
	if _, err := a.SetOwnerState(t.Context(), "ann", owners.Active); fault.KindOf(err) != fault.Conflict {
		t.Errorf("an erased owner is resumed: %v", err)
	}
	var names []string
	for o, err := range a.Owners(t.Context(), "") {
		check(t, err)
		names = append(names, string(o.ID)+" "+string(o.State))
	}
	if got := strings.Join(names, ", "); got != "ann erased, bob active" {
		t.Error(got)
	}
	late := open(t, prefix)
	if !late.barred("ann") || late.barred("bob") {
		t.Error("a replica that starts later does not know who is erased")
	}
}

// wantState sets ann's state at one replica and waits until the other knows.
func wantState(t *testing.T, at, other *replica, state owners.State) {
	t.Helper()
	if o, err := at.SetOwnerState(t.Context(), "ann", state); err != nil || o.State != state {
		t.Fatalf("%+v, %v", o, err)
	}
	replicatest.Eventually(t, "the other replica learns of "+string(state), func() bool {
		return other.barred("ann") == (state != owners.Active)
	})
	if o, err := other.Owner(t.Context(), "ann"); err != nil || o.State != state {
		t.Fatalf("%+v, %v", o, err)
	}
}

// TestStore_KeepsEverySignInUnderConflict lets two replicas see the same new owner at once.
func TestStore_KeepsEverySignInUnderConflict(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	all := []*replica{open(t, prefix), open(t, prefix)}
	errs := make([]error, 2*5)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			r := all[i%2]
			_, err := r.SeeOwner(t.Context(), owners.Owner{ID: "ann", Issuer: "https://id.example"})
			_, linked := r.LinkOwner(t.Context(), "ann", "https://other.example", strconv.Itoa(i))
			errs[i] = errors.Join(err, linked)
		})
	}
	wg.Wait()
	check(t, errors.Join(errs...))
	if text := all[0].export(t, "ann"); strings.Count(text, "https://other.example") != len(errs) {
		t.Error(text)
	}
}

// TestStore_RefusesTheOtherMode opens streams that were made for one owner in an installation for
// many, and the other way round.
func TestStore_RefusesTheOtherMode(t *testing.T) {
	t.Parallel()
	one, many := replicatest.NewPrefix(), replicatest.NewPrefix()
	_, err := alerts.Open(t.Context(), replicatest.Connect(t, replicatest.Lone(), one), time.Now)
	check(t, err)
	_, err = alerts.Open(t.Context(), replicatest.ConnectMany(t, replicatest.Lone(), many), time.Now)
	check(t, err)
	_, err = alerts.Open(t.Context(), replicatest.ConnectMany(t, replicatest.Lone(), one), time.Now)
	_, other := alerts.Open(t.Context(), replicatest.Connect(t, replicatest.Lone(), many), time.Now)
	for _, err := range []error{err, other} {
		if f := fault.Of(err); f == nil || f.Code != "owners_mode" || !strings.Contains(f.Message, "--owners") {
			t.Errorf("%v", err)
		}
	}
}

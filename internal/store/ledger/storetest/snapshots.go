package storetest

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/kit/principal"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// SnapshotStore is an OrderStore that keeps what the events of an owner have come
// to, so that not all of them are read at a start. Whatever a snapshot has forgotten,
// the promises of OrderStore hold for it.
type SnapshotStore interface {
	OrderStore

	// SaveSnapshot keeps a book of the caller's subject that has all its events, in
	// place of the last one.
	SaveSnapshot(ctx context.Context, by principal.Caller, b *order.Book) error

	// Snapshot returns what was kept of an owner's book, nil for nothing, and the
	// events since.
	Snapshot(ctx context.Context, owner principal.Owner) ([]byte, iter.Seq2[order.Event, error], error)
}

// RunSnapshots runs the suite of SnapshotStore. open is as for RunAlerts; it may be
// called again while what it returned before is idle.
func RunSnapshots(t *testing.T, open func(t *testing.T, dir string) SnapshotStore) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, s SnapshotStore, reopen func() SnapshotStore){
		"a snapshot and the events since are all events":        snapshotEqualsReplay,
		"a snapshot is of its owner":                            snapshotOfOwner,
		"what a snapshot has forgotten is found":                forgottenIsFound,
		"what a snapshot has forgotten goes on":                 forgottenGoesOn,
		"what a snapshot has forgotten is listed":               forgottenIsListed,
		"a venue that was reset assigns forgotten names again":  forgottenIsWiped,
		"a context that has ended keeps no snapshot":            snapshotEnded,
		"what was kept first is found when there is more since": forgottenTwice,
		"the trades of random fills add up after a restart":     tradesAddUp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			check(t, open(t, dir), func() SnapshotStore { return open(t, dir) })
		})
	}
}

// readBook returns the book that a store gives at a start, and how many events it
// took besides the snapshot.
func readBook(ctx context.Context, s SnapshotStore, owner principal.Owner) (*order.Book, int, error) {
	data, since, err := s.Snapshot(ctx, owner)
	if err != nil {
		return nil, 0, err
	}
	b := order.NewBook(owner)
	if data != nil {
		if b, err = order.ReadSnapshot(owner, data); err != nil {
			return nil, 0, err
		}
	}
	n := 0
	for e, err := range since {
		if err == nil {
			err = b.Apply(e)
		}
		if err != nil {
			return nil, n, err
		}
		n++
	}
	return b, n, nil
}

// replayed returns the book that all events make.
func replayed(ctx context.Context, s OrderStore, owner principal.Owner) (*order.Book, error) {
	b := order.NewBook(owner)
	for e, err := range s.OrderEvents(ctx, owner) {
		if err == nil {
			err = b.Apply(e)
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// snapshotEqualsReplay draws what may happen to orders, with snapshots in between,
// some by a store that was opened again, and compares each start with a replay.
func snapshotEqualsReplay(t *testing.T, s SnapshotStore, reopen func() SnapshotStore) {
	t.Helper()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		ctx, owner := context.WithoutCancel(t.Context()), principal.Owner(fmt.Sprintf("owner %d", run))
		live := order.NewBook(owner)
		for i := range rapid.IntRange(1, longtest.Pick(15, 60)).Draw(rt, "events") {
			if e := drawEvent(rt, owner, run, i); live.Check(e) == nil {
				kept, err := s.AppendEvents(ctx, service(owner), []order.Event{e})
				if err != nil {
					rt.Fatal(err)
				}
				for _, e := range kept {
					if err := live.Apply(e); err != nil {
						rt.Fatal(err)
					}
				}
			}
			switch rapid.IntRange(0, 29).Draw(rt, "then") {
			case 0, 1:
				if err := s.SaveSnapshot(ctx, service(owner), live); err != nil {
					rt.Fatal(err)
				}
			case 2:
				if run%8 == 0 { // it costs
					s = reopen()
				}
				sameStart(ctx, rt, s, owner)
			}
		}
		sameStart(ctx, rt, s, owner)
		compareBooks(rt, s, live, owner)
	})
	s = reopen()
	for i := range run {
		rapidless(t, s, principal.Owner(fmt.Sprintf("owner %d", i+1)))
	}
}

// sameStart wants a start to give the book that all events make, to the last bit.
func sameStart(ctx context.Context, rt *rapid.T, s SnapshotStore, owner principal.Owner) {
	if err := differ(ctx, s, owner); err != nil {
		rt.Fatal(err)
	}
}

func rapidless(t *testing.T, s SnapshotStore, owner principal.Owner) {
	t.Helper()
	must(t, differ(t.Context(), s, owner))
}

func differ(ctx context.Context, s SnapshotStore, owner principal.Owner) error {
	b, _, err := readBook(ctx, s, owner)
	if err != nil {
		return err
	}
	whole, err := replayed(ctx, s, owner)
	if err != nil {
		return err
	}
	got, err := b.Snapshot()
	if err != nil {
		return err
	}
	want, err := whole.Snapshot()
	if err != nil {
		return err
	}
	if string(got) != string(want) {
		return fmt.Errorf("%s: a start gives another book than all events: %s", owner, cmp.Diff(whole.Orders(), b.Orders())+cmp.Diff(whole.Positions(), b.Positions()))
	}
	return nil
}

func snapshotOfOwner(t *testing.T, s SnapshotStore, reopen func() SnapshotStore) {
	t.Helper()
	data, _, err := s.Snapshot(t.Context(), "ann")
	if must(t, err); data != nil {
		t.Errorf("it begins with %q", data)
	}
	appendEvents(t, s, "ann", created("ann", "o1", start()), happened("o1", order.KindSent, 1))
	appendEvents(t, s, "bob", created("bob", "o2", start()))
	save(t, s)
	appendEvents(t, s, "ann", happened("o1", order.KindAccepted, 2))
	appendEvents(t, s, "bob", happened("o2", order.KindSent, 2))
	for _, from := range []SnapshotStore{s, reopen()} {
		for owner, want := range map[principal.Owner]int{"ann": 1, "bob": 2} {
			_, n, err := readBook(t.Context(), from, owner)
			if must(t, err); n != want {
				t.Errorf("%s has %d events since, want %d", owner, n, want)
			}
			rapidless(t, from, owner)
		}
	}
}

// save keeps what all events of ann's come to.
func save(t *testing.T, s SnapshotStore) {
	t.Helper()
	b, err := replayed(t.Context(), s, "ann")
	must(t, err)
	must(t, s.SaveSnapshot(t.Context(), service("ann"), b))
}

// forgetAll keeps a book of ann's that has forgotten every order that has ended.
func forgetAll(t *testing.T, s SnapshotStore) {
	t.Helper()
	b, err := replayed(t.Context(), s, "ann")
	must(t, err)
	b.Evict(start().Add(24*time.Hour), 0, 0)
	must(t, s.SaveSnapshot(t.Context(), service("ann"), b))
}

// ended appends orders of ann's from one number to another that were placed with a
// key, have traded and were cancelled.
func ended(t *testing.T, s SnapshotStore, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		id := "o" + strconv.Itoa(i)
		appendEvents(t, s, "ann", keyed(created("ann", id, start().Add(time.Duration(i)*time.Second)), "key of "+id), happened(id, order.KindSent, i+1))
		appendEvents(t, s, "ann", traded(id, "t"+strconv.Itoa(i), i+2, "1"))
		appendEvents(t, s, "ann", happened(id, order.KindCanceled, i+3))
	}
}

// wantFound wants the first orders that were placed by ended to be found as all events make
// them, and their names not to be free.
func wantFound(t *testing.T, s SnapshotStore, orders int) {
	t.Helper()
	whole, err := replayed(t.Context(), s, "ann")
	must(t, err)
	for i := range orders {
		id := "o" + strconv.Itoa(i)
		want, _ := whole.Order(id)
		byID, err := s.Order(t.Context(), "ann", id)
		must(t, err)
		same(t, want, byID)
		byKey, err := s.OrderByKey(t.Context(), "ann", "key of "+id)
		must(t, err)
		same(t, want, byKey)
		for _, owner := range []principal.Owner{"ann", "bob"} {
			_, err = s.AppendEvents(t.Context(), service(owner), []order.Event{created(owner, id, start())})
			wantCode(t, err, fault.Conflict, "order_exists", id)
		}
		_, err = s.AppendEvents(t.Context(), service("ann"), []order.Event{keyed(created("ann", "another", start()), "key of "+id)})
		wantCode(t, err, fault.Conflict, "idempotency_key_used", id)
		_, err = s.Order(t.Context(), "bob", id)
		wantKind(t, err, fault.NotFound)
		// A trade that is known counts for no order.
		if kept := appendEvents(t, s, "ann", traded("open", "t"+strconv.Itoa(i), 90, "1")); len(kept) != 0 {
			t.Errorf("trade %d counts again", i)
		}
	}
}

func forgottenIsFound(t *testing.T, s SnapshotStore, reopen func() SnapshotStore) {
	t.Helper()
	appendEvents(t, s, "ann", created("ann", "open", start()), happened("open", order.KindSent, 1))
	ended(t, s, 0, 6)
	forgetAll(t, s)
	wantFound(t, s, 6)
	s = reopen()
	wantFound(t, s, 6)
	b, n, err := readBook(t.Context(), s, "ann")
	must(t, err)
	if all := b.Orders(); n != 0 || len(all) != 1 || all[0].ID != "open" {
		t.Errorf("a start reads %d events and has %v", n, all)
	}
	for _, name := range []string{"o6", "key of o6", ""} {
		_, err := s.Order(t.Context(), "ann", name)
		wantKind(t, err, fault.NotFound)
		_, err = s.OrderByKey(t.Context(), "ann", name)
		wantKind(t, err, fault.NotFound)
	}
}

func forgottenTwice(t *testing.T, s SnapshotStore, reopen func() SnapshotStore) {
	t.Helper()
	appendEvents(t, s, "ann", created("ann", "open", start()), happened("open", order.KindSent, 1))
	for round := range 4 {
		ended(t, s, 5*round, 5*round+5)
		forgetAll(t, s)
		if round == 1 {
			s = reopen()
		}
	}
	ended(t, s, 20, 23)
	wantFound(t, s, 23)
	wantFound(t, reopen(), 23)
}

// forgottenGoesOn lets something happen to an order that a snapshot has forgotten.
func forgottenGoesOn(t *testing.T, s SnapshotStore, reopen func() SnapshotStore) {
	t.Helper()
	appendEvents(t, s, "ann", created("ann", "open", start()), happened("open", order.KindSent, 1))
	ended(t, s, 0, 3)
	forgetAll(t, s)
	late := traded("o1", "late", 50, "2")
	same(t, []order.Event{late}, appendEvents(t, s, "ann", late, traded("o1", "t1", 51, "1"), late))
	wantFound(t, s, 3)
	for range 2 {
		s = reopen()
		wantFound(t, s, 3)
		o, err := s.Order(t.Context(), "ann", "o1")
		must(t, err)
		if len(o.Fills) != 2 || !o.Filled.Equal(decimal.NewFromInt(3)) {
			t.Errorf("%d fills, %v", len(o.Fills), o.Filled)
		}
		forgetAll(t, s)
	}
	if kept := appendEvents(t, s, "ann", traded("open", "late", 60, "2")); len(kept) != 0 {
		t.Error("the late trade counts again")
	}
}

func forgottenIsWiped(t *testing.T, s SnapshotStore, reopen func() SnapshotStore) {
	t.Helper()
	appendEvents(t, s, "ann", created("ann", "open", start()), happened("open", order.KindSent, 1))
	ended(t, s, 0, 4)
	forgetAll(t, s)
	ended(t, s, 4, 6)
	appendEvents(t, s, "ann", order.Event{Kind: order.KindVenueReset, At: start(), Survivors: []string{"open", "o2"}})
	s = reopen()
	for i, want := range []int{1, 1, 0, 1, 1, 1} { // o2 was kept, and so its trade
		if kept := appendEvents(t, s, "ann", traded("open", "t"+strconv.Itoa(i), 90, "0.1")); len(kept) != want {
			t.Errorf("trade %d, numbered again, is kept %d times", i, len(kept))
		}
	}
	save(t, s)
	s = reopen()
	for i := range 6 {
		if kept := appendEvents(t, s, "ann", traded("open", "t"+strconv.Itoa(i), 91, "0.1")); len(kept) != 0 {
			t.Errorf("trade %d counts twice", i)
		}
	}
	rapidless(t, s, "ann")
}

func snapshotEnded(t *testing.T, s SnapshotStore, _ func() SnapshotStore) {
	t.Helper()
	appendEvents(t, s, "ann", created("ann", "o1", start()))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.SaveSnapshot(over, service("ann"), order.NewBook("ann")); err == nil {
		t.Error("it was kept")
	}
	data, _, err := s.Snapshot(t.Context(), "ann")
	if must(t, err); data != nil {
		t.Errorf("it keeps %q", data)
	}
}

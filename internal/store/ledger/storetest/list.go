package storetest

import (
	"testing"
	"time"

	"candela/internal/trading/order"
)

// wantList wants the pages of ann's orders to be what all events make, newest first.
func wantList(t *testing.T, s OrderStore, most int) {
	t.Helper()
	whole, err := replayed(t.Context(), s, "ann")
	must(t, err)
	want, _ := whole.List(order.Mark{}, 1000)
	var mark order.Mark
	for at := 0; ; {
		page, left, err := s.ListOrders(t.Context(), "ann", mark, most)
		must(t, err)
		if len(page) != min(most, len(want)-at) || left != len(want)-at-len(page) {
			t.Fatalf("after %d of %d orders, a page of %d has %d and %d are left", at, len(want), most, len(page), left)
		}
		for _, o := range page {
			same(t, want[at], o)
			at++
		}
		if left == 0 {
			return
		}
		mark = page[len(page)-1].Mark()
		if none, rest, err := s.ListOrders(t.Context(), "ann", mark, 0); err != nil || len(none) != 0 || (rest == 0) != (left == 0) {
			t.Fatalf("%d orders are left, counted alone %d (%v)", left, rest, err)
		}
	}
}

func listsAll(t *testing.T, s OrderStore) {
	t.Helper()
	if none, left, err := s.ListOrders(t.Context(), "ann", order.Mark{}, 5); err != nil || len(none) != 0 || left != 0 {
		t.Errorf("without orders there are %v, %d left, %v", none, left, err)
	}
	// Of one commit and moment, the later with the smaller ID.
	appendEvents(t, s, "ann", created("ann", "z", start()), created("ann", "y", start()), happened("z", order.KindSent, 0))
	appendEvents(t, s, "ann", traded("z", "t", 1, "1"))
	appendEvents(t, s, "bob", created("bob", "other", start()))
	for i := range 9 {
		appendEvents(t, s, "ann", created("ann", string(rune('a'+i)), start().Add(time.Duration(i)*time.Minute)))
	}
	for _, most := range []int{1, 2, 5, 11, 500} {
		wantList(t, s, most)
	}
}

func forgottenIsListed(t *testing.T, s SnapshotStore, reopen func() SnapshotStore) {
	t.Helper()
	appendEvents(t, s, "ann", created("ann", "open", start()), happened("open", order.KindSent, 1))
	ended(t, s, 0, 7)
	forgetAll(t, s)
	ended(t, s, 7, 12)
	for _, from := range []SnapshotStore{s, reopen()} {
		for _, most := range []int{1, 3, 4, 100} {
			wantList(t, from, most)
		}
	}
}

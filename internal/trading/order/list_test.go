package order_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"candela/internal/trading/order"
)

func ids(orders []order.Order) string {
	var all []string
	for _, o := range orders {
		all = append(all, o.ID)
	}
	return strings.Join(all, " ")
}

func TestBook_Newest(t *testing.T) {
	t.Parallel()
	b := order.NewBook("me")
	for i := range 9 {
		g := origin(strconv.Itoa(i), order.Buy, "1")
		events := []order.Event{created(g)}
		if i%3 != 0 {
			events = append(events, event(g.ID, order.KindDenied))
		}
		for _, e := range events {
			if err := b.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n, want := range map[int]string{1: "8 6", 2: "8 7 6 3", 3: "8 7 6 5 3 0", 9: "8 7 6 5 4 3 2 1 0"} {
		if got := ids(b.Newest(n)); got != want {
			t.Errorf("the newest %d are %s, want %s", n, got, want)
		}
	}
}

// TestBook_List holds that pages of any size list every order once, by time and ID, with orders
// created at the same time, clocks that go back, and evictions and restarts between.
func TestBook_List(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := order.NewBook("me")
		var want []order.Order
		for i := range rapid.IntRange(0, 30).Draw(t, "orders") {
			g := origin(fmt.Sprintf("%03d", rapid.IntRange(0, 9).Draw(t, "id")*100+i), order.Buy, "1")
			e := created(g)
			e.At = second(rapid.IntRange(0, 5).Draw(t, "at"))
			if err := b.Apply(e); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "denied") {
				if err := b.Apply(event(g.ID, order.KindDenied)); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.Evict(second(0), 100, rapid.IntRange(0, 30).Draw(t, "kept"))
		again, err := order.ReadSnapshot("me", snapshot(t, b))
		if err != nil || !again.EvictedBefore().Equal(b.EvictedBefore()) {
			t.Fatal(err, again.EvictedBefore(), b.EvictedBefore())
		}
		want = b.Orders()
		for _, one := range []*order.Book{b, again} {
			most := rapid.IntRange(1, 9).Draw(t, "most")
			var got []order.Order
			var mark order.Mark
			for left := 1; left > 0; {
				var page []order.Order
				if page, left = one.List(mark, most); len(page) > most || left != len(want)-len(got)-len(page) {
					t.Fatalf("%d of %d, then %d and %d left", len(got), len(want), len(page), left)
				}
				for _, o := range page {
					mark = o.Mark()
				}
				got = append(got, page...)
			}
			if !slices.EqualFunc(got, want, func(x, y order.Order) bool { return x.ID == y.ID }) {
				t.Fatalf("listed %s, want %s", ids(got), ids(want))
			}
		}
	})
}

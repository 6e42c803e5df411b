package order_test

import (
	"testing"

	"candela/internal/trading/order"
)

// TestCovers_AnOpenEntryHasWhatItBrought holds that what an older entry has just brought is its
// own while it is open, although a newer one whose position was sold has no exits left.
func TestCovers_AnOpenEntryHasWhatItBrought(t *testing.T) {
	t.Parallel()
	entry := func(id string) order.Origin {
		g := origin(id, order.Buy, "1")
		g.Role, g.Group.Name, g.Protect.StopLoss = order.Entry, id, dec("90")
		return g
	}
	older, newer, sale := entry("o1"), entry("o2"), origin("o3", order.Sell, "1")
	b := order.NewBook("me")
	for _, e := range []order.Event{
		created(older), event("o1", order.KindSent), event("o1", order.KindAccepted),
		created(newer), event("o2", order.KindSent), filled(trade(newer, 5, "1", "100")),
		created(sale), event("o3", order.KindSent), filled(trade(sale, 6, "1", "100")),
		filled(trade(older, 7, "0.4", "100")),
	} {
		if err := b.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	held := make(map[string]string)
	for _, c := range b.Covers(older.Symbol, "BTC") {
		held[c.Entry.ID] = c.Held.String()
	}
	if held["o1"] != "0.4" || held["o2"] != "" && held["o2"] != "0" {
		t.Errorf("the entries hold %v", held)
	}
}

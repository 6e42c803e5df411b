package order_test

import (
	"strings"
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

// TestCovers_ACancelThatFailedMayBeCarriedOut holds that a stop which the venue ends after the
// desk gave up its cancel for another order is still asked for, and one that a client ended is not.
func TestCovers_ACancelThatFailedMayBeCarriedOut(t *testing.T) {
	t.Parallel()
	asked := event("s", order.KindCancelRequested)
	asked.Reason = "x"
	pending := event("s", order.KindCancelRequested)
	pending.VenueID = "17"
	for name, c := range map[string]struct {
		events []order.Event
		want   bool
	}{
		"for another order":              {[]order.Event{asked}, true},
		"for another order, given up":    {[]order.Event{asked, event("s", order.KindCancelFailed)}, true},
		"given up, and reported pending": {[]order.Event{asked, event("s", order.KindCancelFailed), pending}, true},
		"pending before it is asked for": {[]order.Event{pending, asked}, true},
		"by a client":                    {[]order.Event{event("s", order.KindCancelRequested)}, false},
		"by a client, after one failed":  {[]order.Event{asked, event("s", order.KindCancelFailed), event("s", order.KindCancelRequested), pending}, false},
		"elsewhere":                      {[]order.Event{pending}, false},
		"with its entry, filled by then": {[]order.Event{event("e", order.KindCancelRequested), filled(trade(origin("e", order.Buy, "1"), 6, "0.5", "100")), pending}, true},
	} {
		entry := origin("e", order.Buy, "1")
		entry.Role, entry.Group.Name, entry.Protect.StopLoss = order.Entry, "e", dec("90")
		stop := order.Origin{Parent: "e", Spec: entry.Legs()[0]}
		stop.ID, stop.Owner = "s", entry.Owner
		b, accepted, canceled := order.NewBook("me"), event("s", order.KindAccepted), event("s", order.KindCanceled)
		accepted.VenueID = "17"
		events := []order.Event{created(entry), event("e", order.KindSent), created(stop), event("s", order.KindSent), filled(trade(entry, 5, "0.5", "100")), accepted}
		events = append(events, c.events...)
		if !strings.Contains(name, "entry") {
			events = append(events, filled(trade(entry, 6, "0.5", "100")))
		}
		for _, e := range append(events, canceled) {
			if err := b.Apply(e); err != nil {
				t.Fatal(name, err)
			}
		}
		if all := b.Covers(entry.Symbol, "BTC"); len(all) != 1 || all[0].Due.IsPositive() != c.want {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// TestCovers_AVenueCancelsTheStopOfAFilledTarget holds that the rest of a position keeps its wish when
// the venue cancels the stop of a pair for a part of it because the target was filled, and loses it
// when somebody cancels the stop.
func TestCovers_AVenueCancelsTheStopOfAFilledTarget(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string][]order.Event{"the venue": nil, "a client": {event("s", order.KindCancelRequested)}} {
		entry, target := origin("e", order.Buy, "8"), origin("t", order.Sell, "6")
		entry.Role, entry.Group.Name, entry.Protect.StopLoss = order.Entry, "e", dec("90")
		target.Role, target.Group.Name, target.Parent, target.Protect.StopLoss = order.TakeProfit, "t", "e", dec("90")
		stop := origin("s", order.Sell, "6")
		stop.Role, stop.Group.Name, stop.Parent, stop.StopPrice = order.StopLoss, "t", "e", dec("90")
		accepted := event("s", order.KindAccepted)
		accepted.VenueID = "17"
		b := order.NewBook("me")
		events := []order.Event{created(entry), event("e", order.KindSent), filled(trade(entry, 5, "8", "100")), created(target), event("t", order.KindSent), created(stop), event("s", order.KindSent), accepted}
		events = append(append(events, asked...), filled(trade(target, 6, "6", "110")), event("s", order.KindCanceled))
		for _, e := range events {
			if err := b.Apply(e); err != nil {
				t.Fatal(name, err)
			}
		}
		all := b.Covers(entry.Symbol, "BTC")
		if len(all) != 1 || all[0].Due.Equal(dec("2")) != (asked == nil) {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

package order_test

import (
	"slices"
	"testing"

	"candela/internal/trading/order"
)

// TestNotices_Ends has orders end in groups and in parts, each report of the venue stored before the next comes.
func TestNotices_Ends(t *testing.T) {
	t.Parallel()
	buy, stop, target := origin("buy", order.Buy, "3"), origin("stop", order.Sell, "3"), origin("target", order.Sell, "3")
	stop.StopPrice = dec("90")
	roles := map[string]order.Role{"buy": order.Entry, "stop": order.StopLoss, "target": order.TakeProfit}
	var group []order.Event
	for _, g := range []*order.Origin{&buy, &stop, &target} {
		g.Role, g.Group = roles[g.ID], order.Group{Name: "buy", Leg: g.ID != "buy"}
		group = append(group, created(*g), event(g.ID, order.KindSent), event(g.ID, order.KindAccepted))
	}
	bought := append(slices.Clone(group), filled(trade(buy, 5, "3", "100")))
	single := []order.Event{created(origin("buy", order.Buy, "3")), event("buy", order.KindSent), event("buy", order.KindAccepted)}
	part := filled(trade(origin("buy", order.Buy, "3"), 5, "1", "100"))
	owners := event("target", order.KindCancelRequested)
	owners.ByOwner = true
	const entered = "order_filled entry filled 3 after 3"
	for name, tc := range map[string]struct {
		before, events []order.Event
		want           string
	}{
		"the stop ends, then its target is filled": {
			bought,
			[]order.Event{event("stop", order.KindExpired), filled(trade(target, 6, "3", "120"))},
			entered + "; order_filled take_profit filled 3 after 0 earned 60; position_closed take_profit after 0 earned 60",
		},
		"its target is filled, then the stop ends": {
			bought,
			[]order.Event{filled(trade(target, 6, "3", "120")), event("stop", order.KindCanceled)},
			entered + "; order_filled take_profit filled 3 after 0 earned 60; position_closed take_profit after 0 earned 60",
		},
		"the venue ends both": {
			bought,
			[]order.Event{event("stop", order.KindExpired), event("target", order.KindCanceled)},
			entered + "; order_ended stop_loss expired 0; order_ended take_profit canceled 0",
		},
		"the venue refuses one and ends the other": {
			bought,
			[]order.Event{event("stop", order.KindRejected), event("target", order.KindExpired)},
			entered + "; order_ended stop_loss rejected 0; order_ended take_profit expired 0",
		},
		"the owner ends the target": {bought, []order.Event{owners, event("target", order.KindCanceled)}, entered + "; order_ended take_profit canceled 0"},
		"legs end before their entry": {
			group,
			[]order.Event{event("stop", order.KindExpired), event("target", order.KindExpired), event("buy", order.KindExpired)},
			"order_ended entry expired 0",
		},
		"a part is filled, then its caller cancels it": {
			single,
			[]order.Event{part, event("buy", order.KindCancelRequested), event("buy", order.KindCanceled)},
			"order_part_filled entry partially_filled 1 after 1; order_ended entry canceled 1",
		},
		"its caller cancels it, and a part was filled": {
			single,
			[]order.Event{event("buy", order.KindCancelRequested), part, event("buy", order.KindCanceled)},
			"order_part_filled entry pending_cancel 1 after 1; order_ended entry canceled 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, each := order.NewBook("me"), []order.Notice(nil)
			for _, e := range slices.Concat(tc.before, tc.events) {
				each = append(each, b.Notices([]order.Event{e})...)
				if err := b.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			if got := reported(t, each); got != tc.want {
				t.Errorf("reported %s\nwant %s", got, tc.want)
			}
		})
	}
}

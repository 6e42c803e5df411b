package order_test

import (
	"errors"
	"testing"
	"time"

	"candela/internal/trading/order"
)

// seen is a report of a leg of the group 7.
func seen(g order.Origin, n int, quantity, filled string) order.Report {
	r := order.Report{Spec: g.Spec, Status: order.Accepted, Filled: dec(filled), At: second(n)}
	r.Group = order.Group{Name: "7"}
	r.Quantity = dec(quantity)
	return r
}

func TestFromReport_AVenueResizesALeg(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Sell, "5")
	small, large := seen(g, 4, "3", "0"), seen(g, 3, "5", "0")
	for name, reports := range map[string][]order.Report{
		"in order": {large, small}, "the older one last": {small, large}, "twice": {large, small, small, large},
	} {
		o := hear(sent(g), reports...)
		if o.Doubtful() || o.NeedsQuery() || !o.Quantity.Equal(dec("3")) || o.Group.Name != "7" || o.Status != order.Accepted {
			t.Errorf("%s: %v over %v in %+v, doubt %q", name, o.Status, o.Quantity, o.Group, o.Doubt)
		}
	}
	// A report without the group, as in a stream, is about the same leg.
	alone := seen(g, 5, "2", "0")
	alone.Group = order.Group{}
	if o := hear(sent(g), small, alone); o.Doubtful() || !o.Quantity.Equal(dec("2")) {
		t.Errorf("without the group: over %v, doubt %q", o.Quantity, o.Doubt)
	}
	// The rest is filled, and the leg with it.
	last := seen(g, 6, "3", "3")
	last.Status, last.Fills = order.Filled, []order.Fill{trade(g, 6, "3", "100")}
	if o := hear(sent(g), large, small, last); o.Status != order.Filled || o.MissingFills() || o.Doubtful() {
		t.Errorf("%v with %v of %v filled, doubt %q", o.Status, o.Filled, o.Quantity, o.Doubt)
	}
}

// TestFromReport_ReportsOfTheSameTime holds that the answer to a group and the reports of what followed
// give the same quantity in any order, although the venue has the same time for all of them.
func TestFromReport_ReportsOfTheSameTime(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Sell, "5")
	waits, works, smaller, part := seen(g, 3, "5", "0"), seen(g, 3, "4", "0"), seen(g, 3, "3", "0"), seen(g, 3, "4.5", "1")
	waits.Status = order.Held
	part.Status, part.Fills = order.PartiallyFilled, []order.Fill{trade(g, 3, "1", "100")}
	for name, c := range map[string]struct {
		reports []order.Report
		want    string
	}{
		"a leg that was sized":    {[]order.Report{waits, works}, "4"},
		"and made smaller":        {[]order.Report{works, smaller}, "3"},
		"or sized twice":          {[]order.Report{waits, works, smaller}, "3"},
		"filled in part":          {[]order.Report{waits, works, part}, "4.5"},
		"made smaller and filled": {[]order.Report{works, smaller, part}, "4.5"},
	} {
		for _, n := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			o := sent(g)
			for _, i := range n {
				if i < len(c.reports) {
					o = hear(o, c.reports[i])
				}
			}
			if !o.Quantity.Equal(dec(c.want)) || o.Doubtful() {
				t.Errorf("%s, in the order %v: over %v, doubt %q", name, n, o.Quantity, o.Doubt)
			}
		}
	}
	// A larger quantity at the same time is taken from an answer alone.
	o := hear(sent(g), smaller)
	if !o.SizeUnclear(works) || o.SizeUnclear(smaller) || o.SizeUnclear(waits) || o.SizeUnclear(part) {
		t.Error("what is not clear is not said")
	}
	if o = hear(o, works); !o.Quantity.Equal(dec("3")) {
		t.Errorf("over %v", o.Quantity)
	}
	if o = fold(o, order.FromAnswer(o, works)...); !o.Quantity.Equal(dec("4")) {
		t.Errorf("after the answer over %v", o.Quantity)
	}
}

func TestFromReport_AnotherQuantityIsADoubt(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Sell, "5")
	single := seen(g, 3, "3", "0")
	single.Group = order.Group{}
	if o := hear(sent(g), single); !o.Doubtful() || !o.Quantity.Equal(dec("5")) {
		t.Error("an order in no group may have another quantity")
	}
	if o := hear(sent(g), seen(g, 3, "3", "4")); !o.Doubtful() {
		t.Error("more is filled than the leg has, without a doubt")
	}
}

func TestApply_GroupedAndResized(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Sell, "5")
	grouped := order.Event{Kind: order.KindGrouped, OrderID: "o1", Group: &order.Group{Name: "7", Leg: true}}
	resized := order.Event{Kind: order.KindResized, OrderID: "o1", Quantity: dec("2"), VenueAt: second(5)}
	if _, err := order.Apply(sent(g), resized); !errors.Is(err, order.ErrTransition) {
		t.Errorf("resized in no group: %v", err)
	}
	leg := fold(sent(g), grouped)
	if other := fold(leg, order.Event{Kind: order.KindGrouped, OrderID: "o1", Group: &order.Group{Name: "8"}}); other.Group != *grouped.Group {
		t.Errorf("the group became %+v", other.Group)
	}
	part := fold(leg, filled(trade(g, 2, "3", "100")))
	if _, err := order.Apply(part, resized); !errors.Is(err, order.ErrMalformed) {
		t.Errorf("resized below what is filled: %v", err)
	}
	late := resized
	late.Quantity, late.VenueAt = dec("4"), second(5).Add(-time.Millisecond)
	if o := fold(leg, resized, late); !o.Quantity.Equal(dec("2")) {
		t.Errorf("an older size counts: %v", o.Quantity)
	}
	whole := resized
	whole.Quantity = dec("3")
	if o := fold(part, whole); o.Status != order.Filled {
		t.Errorf("all that is left is filled, and it is %v", o.Status)
	}
}

// TestSnapshot_KeepsTheGroup holds that a restart counts a pair once, too.
func TestSnapshot_KeepsTheGroup(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Sell, "5")
	g.StopPrice = dec("90")
	b := book(t, created(g), event("o1", order.KindSent))
	o, _ := b.Order("o1")
	for _, e := range order.FromReport(o, seen(g, 4, "3", "0")) {
		if err := b.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	data, err := b.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again, err := order.ReadSnapshot("me", data)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := b.Order("o1")
	if after, _ := again.Order("o1"); same(before, after) != "" || after.Group.Name != "7" || !after.StopPrice.Equal(dec("90")) || !after.Resized.Equal(second(4)) {
		t.Errorf("read as %+v", after)
	}
}

func TestWithoutStop(t *testing.T) {
	t.Parallel()
	stop := func(side order.Side, quantity string) order.Order {
		g := origin("o1", side, quantity)
		g.StopPrice = dec("90")
		return fold(sent(g), event("o1", order.KindAccepted))
	}
	target := sent(origin("o2", order.Sell, "5"))
	g := origin("o3", order.Sell, "4")
	g.TrailPercent = dec("1.5")
	trailing := fold(sent(g), event("o3", order.KindAccepted))
	g.ID = "o1"
	unknown, lost := sent(g), fold(sent(g), event("o1", order.KindLost))
	g.Group = order.Group{Name: "o0", Leg: true}
	waiting := fold(sent(g), event("o1", order.KindHeld))
	leaving := fold(stop(order.Sell, "5"), event("o1", order.KindCancelRequested))
	for name, tc := range map[string]struct {
		held string
		open []order.Order
		want string
	}{
		"nothing is open":            {"5", nil, "5"},
		"a target is no stop":        {"5", []order.Order{target}, "5"},
		"a stop over a part":         {"5", []order.Order{stop(order.Sell, "3"), target}, "2"},
		"a stop over more":           {"5", []order.Order{stop(order.Sell, "8")}, "0"},
		"a stop that trails":         {"5", []order.Order{trailing}, "1"},
		"a leg that waits":           {"5", []order.Order{waiting}, "5"},
		"a stop without an answer":   {"5", []order.Order{unknown, lost}, "5"},
		"a stop that is being ended": {"5", []order.Order{leaving}, "5"},
		"a stop of the wrong side":   {"5", []order.Order{stop(order.Buy, "5")}, "5"},
		"a short":                    {"-5", []order.Order{stop(order.Buy, "4")}, "1"},
		"no position":                {"0", []order.Order{stop(order.Sell, "5")}, "0"},
	} {
		if got := order.WithoutStop(dec(tc.held), tc.open); !got.Equal(dec(tc.want)) {
			t.Errorf("%s: %v, want %s", name, got, tc.want)
		}
	}
}

// TestReplacements holds that an order names the one that took its place, and no other: not
// one that was never sent, was refused, or that the venue never knew.
func TestReplacements(t *testing.T) {
	t.Parallel()
	old := origin("o1", order.Sell, "1")
	next := origin("o2", order.Sell, "1")
	next.Replaces = old.ID
	accepted := event("o2", order.KindAccepted)
	accepted.VenueID = "17"
	for name, c := range map[string]struct {
		events []order.Event
		want   string
	}{
		"recorded": {nil, ""},
		"denied":   {[]order.Event{event("o2", order.KindDenied)}, ""},
		"sent":     {[]order.Event{event("o2", order.KindSent)}, "o2"},
		"accepted": {[]order.Event{event("o2", order.KindSent), accepted}, "o2"},
		"ended":    {[]order.Event{event("o2", order.KindSent), accepted, event("o2", order.KindCanceled)}, "o2"},
		"refused":  {[]order.Event{event("o2", order.KindSent), event("o2", order.KindRejected)}, ""},
		"not sent": {[]order.Event{event("o2", order.KindSent), event("o2", order.KindNotSent)}, ""},
		"gone":     {[]order.Event{event("o2", order.KindSent), event("o2", order.KindGone)}, ""},
	} {
		b := order.NewBook("me")
		for _, e := range append([]order.Event{created(old), event("o1", order.KindSent), created(next)}, c.events...) {
			if err := b.Apply(e); err != nil {
				t.Fatal(name, err)
			}
		}
		if by := order.Replacements(b.Orders())["o1"]; by != c.want {
			t.Errorf("%s: replaced by %q, want %q", name, by, c.want)
		}
	}
}

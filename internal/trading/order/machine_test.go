package order_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"candela/internal/trading/order"
)

// TestApply_Table lists for every state and kind of event the resulting
// order. What is not listed is refused.
func TestApply_Table(t *testing.T) {
	t.Parallel()
	const unchanged = order.Status(0)
	ends := map[order.Kind]order.Status{
		order.KindGone: order.Canceled, order.KindCanceled: order.Canceled, order.KindExpired: order.Expired, order.KindRejected: order.Rejected,
	}
	talk := map[order.Kind]order.Status{
		order.KindLost: unchanged, order.KindClaimed: unchanged, order.KindDoubted: unchanged, order.KindConfirmed: unchanged,
		order.KindTriggered: unchanged,
	}
	type row = map[order.Kind]order.Status
	merged := func(parts ...row) row {
		all := make(row)
		for _, p := range parts {
			maps.Copy(all, p)
		}
		return all
	}
	allowed := map[order.Status]row{
		order.New:             {order.KindDenied: order.Denied, order.KindSent: order.Submitted, order.KindApprovalAsked: order.PendingApproval},
		order.PendingApproval: {order.KindDenied: order.Denied, order.KindCanceled: order.Canceled, order.KindApproved: order.New},
		order.Held:            merged(talk, ends, row{order.KindAccepted: order.Accepted, order.KindFill: order.PartiallyFilled, order.KindCancelRequested: order.PendingCancel}),
		order.Submitted:       merged(talk, ends, row{order.KindAccepted: order.Accepted, order.KindHeld: order.Held, order.KindNotSent: order.Rejected, order.KindFill: order.PartiallyFilled, order.KindCancelRequested: unchanged, order.KindCancelFailed: unchanged, order.KindLost: order.Uncertain, order.KindDoubted: order.Uncertain}),
		order.Uncertain:       merged(talk, ends, row{order.KindAccepted: order.Accepted, order.KindHeld: order.Held, order.KindFill: order.PartiallyFilled, order.KindCancelRequested: unchanged, order.KindCancelFailed: unchanged}),
		order.Accepted:        merged(talk, ends, row{order.KindFill: order.PartiallyFilled, order.KindCancelRequested: order.PendingCancel}),
		order.PartiallyFilled: merged(talk, ends, row{order.KindFill: order.PartiallyFilled, order.KindCancelRequested: order.PendingCancel}),
		order.PendingCancel:   merged(talk, ends, row{order.KindFill: order.PendingCancel, order.KindCancelRequested: unchanged, order.KindCancelFailed: order.Accepted}),
		order.Canceled:        merged(talk, row{order.KindFill: order.Canceled, order.KindGone: unchanged}),
		order.Expired:         merged(talk, row{order.KindFill: order.Expired, order.KindGone: unchanged}),
		order.Rejected:        merged(talk, row{order.KindGone: unchanged}),
		order.Filled:          merged(talk, row{order.KindGone: unchanged}),
		order.Denied:          {},
	}
	g := origin("o1", order.Buy, "3")
	for from, o := range orders(g) {
		for _, name := range order.Kinds() {
			kind, _ := order.ParseKind(name)
			e := event(g.ID, kind)
			switch kind {
			case order.KindFill:
				e = filled(trade(g, 90, "1", "100"))
			case order.KindCreated:
				e = created(g)
			case order.KindApprovalAsked, order.KindApproved:
				e.Approval = &order.Approval{}
			default:
			}
			got, err := order.Apply(o, e)
			want, legal := allowed[from][kind]
			switch {
			case legal && err != nil, !legal && err == nil:
				t.Errorf("%v in %v: %v", kind, from, err)
			case !legal && same(o, got) != "":
				t.Errorf("%v in %v is refused and changes the order: %s", kind, from, same(o, got))
			case legal && want == unchanged && got.Status != from, legal && want != unchanged && got.Status != want:
				t.Errorf("%v in %v gives %v", kind, from, got.Status)
			}
		}
	}
}

// asked is the event of an order that the owner must approve.
func asked(id string) order.Event {
	e := event(id, order.KindApprovalAsked)
	e.Approval = &order.Approval{}
	return e
}

// orders returns an order in every state.
func orders(g order.Origin) map[order.Status]order.Order {
	id := g.ID
	base := sent(g)
	accepted := fold(base, event(id, order.KindAccepted))
	return map[order.Status]order.Order{
		order.New:             fold(order.Order{}, created(g)),
		order.Denied:          fold(order.Order{}, created(g), event(id, order.KindDenied)),
		order.PendingApproval: fold(order.Order{}, created(g), asked(id)),
		order.Held:            fold(base, event(id, order.KindHeld)),
		order.Submitted:       base,
		order.Uncertain:       fold(base, event(id, order.KindLost)),
		order.Accepted:        accepted,
		order.PartiallyFilled: fold(accepted, filled(trade(g, 5, "1", "100"))),
		order.Filled:          fold(accepted, filled(trade(g, 5, "3", "100"))),
		order.PendingCancel:   fold(accepted, event(id, order.KindCancelRequested)),
		order.Canceled:        fold(accepted, event(id, order.KindCanceled)),
		order.Expired:         fold(accepted, event(id, order.KindExpired)),
		order.Rejected:        fold(base, event(id, order.KindRejected)),
	}
}

func TestApply_Refusals(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Buy, "3")
	o := sent(g)
	change := func(f func(*order.Fill)) order.Event {
		fill := trade(g, 5, "1", "100")
		f(&fill)
		e := filled(fill)
		e.OrderID = g.ID
		return e
	}
	broken := func(f func(*order.Origin)) order.Event {
		g := g
		f(&g)
		e := created(g)
		return e
	}
	for name, tc := range map[string]struct {
		order order.Order
		event order.Event
		want  error
	}{
		"an event of another order":          {o, event("o2", order.KindAccepted), order.ErrMalformed},
		"an event before the order is known": {order.Order{}, event("o1", order.KindSent), order.ErrMalformed},
		"an order that is created twice":     {o, created(g), order.ErrTransition},
		"an order without a quantity":        {order.Order{}, broken(func(g *order.Origin) { g.Quantity = dec("0") }), order.ErrMalformed},
		"an order without a side":            {order.Order{}, broken(func(g *order.Origin) { g.Side = 0 }), order.ErrMalformed},
		"an order without a type":            {order.Order{}, broken(func(g *order.Origin) { g.Type = 0 }), order.ErrMalformed},
		"an order that says nothing":         {order.Order{}, event("o1", order.KindCreated), order.ErrMalformed},
		"a fill without a trade":             {o, event("o1", order.KindFill), order.ErrMalformed},
		"a fill without a trade id":          {o, change(func(f *order.Fill) { f.TradeID = "" }), order.ErrMalformed},
		"a fill of nothing":                  {o, change(func(f *order.Fill) { f.Quantity = dec("0") }), order.ErrMalformed},
		"a fill of the other side":           {o, change(func(f *order.Fill) { f.Side = order.Sell }), order.ErrMalformed},
		"a fill of another symbol":           {o, change(func(f *order.Fill) { f.Symbol = symbol("ETHUSDT") }), order.ErrMalformed},
		"a fill of another order":            {o, change(func(f *order.Fill) { f.OrderID = "o2" }), order.ErrMalformed},
		"a fill beyond the quantity":         {o, change(func(f *order.Fill) { f.Quantity = dec("3.00000001") }), order.ErrOverfill},
		"a fill of a filled order":           {orders(g)[order.Filled], filled(trade(g, 6, "1", "100")), order.ErrOverfill},
		"a fill of a rejected order":         {orders(g)[order.Rejected], filled(trade(g, 6, "1", "100")), order.ErrTransition},
		"a claim beyond the quantity":        {o, order.Event{Kind: order.KindClaimed, OrderID: "o1", Filled: dec("4")}, order.ErrOverfill},
		"a fill of an absurd quantity":       {o, change(func(f *order.Fill) { f.Quantity = dec("1e999999999") }), order.ErrMalformed},
		"a fill at an absurd price":          {o, change(func(f *order.Fill) { f.Price = dec("1e-999999999") }), order.ErrMalformed},
		"an order of an absurd quantity":     {order.Order{}, broken(func(g *order.Origin) { g.Quantity = dec("1e999999999") }), order.ErrMalformed},
		"an absurd claim":                    {o, order.Event{Kind: order.KindClaimed, OrderID: "o1", Filled: dec("1e999999999")}, order.ErrOverfill},
		"an adjustment is not of an order":   {o, event("o1", order.KindAdjusted), order.ErrTransition},
	} {
		got, err := order.Apply(tc.order, tc.event)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if diff := same(tc.order, got); diff != "" {
			t.Errorf("%s changes the order: %s", name, diff)
		}
	}
}

func TestApply_KeepsReportedValues(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Buy, "3")
	denied := fold(order.Order{}, created(g), order.Event{
		Kind: order.KindDenied, OrderID: "o1", At: second(1), Reason: "too large",
		Denial: &order.Denial{Rule: "max_order_notional", Limit: "10", Value: "300"},
	})
	if denied.Reason != "too large" || denied.Denial.Rule != "max_order_notional" || !denied.Updated.Equal(second(1)) || !denied.Created.Equal(second(0)) {
		t.Errorf("%+v", denied)
	}
	o := fold(sent(g), order.Event{Kind: order.KindAccepted, OrderID: "o1", VenueID: "v7", At: second(3)},
		filled(trade(g, 5, "1", "100")), filled(trade(g, 4, "0.5", "101")), filled(trade(g, 5, "1", "100")))
	average, ok := o.Average()
	if o.VenueID != "v7" || !o.Filled.Equal(dec("1.5")) || !o.Cost.Equal(dec("150.5")) || !o.Fees["USDT"].Equal(dec("0.02")) ||
		!ok || average.String() != "100.333333333333333333" || !o.Remaining().Equal(dec("1.5")) {
		t.Errorf("%+v", o)
	}
	if len(o.Fills) != 2 || o.Fills[0].TradeID != "4" {
		t.Errorf("the fills are %+v", o.Fills)
	}
	if _, ok := sent(g).Average(); ok {
		t.Error("an order without fills has an average")
	}
	unsent := fold(sent(g), order.Event{Kind: order.KindNotSent, OrderID: "o1", Reason: "no route"})
	if unsent.Status != order.Rejected || unsent.Reason != "no route" || !unsent.NotSent {
		t.Errorf("%+v", unsent)
	}
	if refused := fold(sent(g), event("o1", order.KindRejected)); refused.Status != order.Rejected || refused.NotSent {
		t.Errorf("%+v", refused)
	}
}

func TestApply_DoesNotTouchTheOrderItWasGiven(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Buy, "9")
	base := fold(sent(g), filled(trade(g, 5, "1", "100")), filled(trade(g, 7, "1", "100")))
	left := fold(base, filled(trade(g, 6, "1", "100")))
	right := fold(base, filled(trade(g, 8, "2", "100")))
	if len(base.Fills) != 2 || left.Fills[1].TradeID != "6" || right.Fills[1].TradeID != "7" || !base.Fees["USDT"].Equal(dec("0.02")) {
		t.Errorf("%v %v %v", base.Fills, left.Fills, right.Fills)
	}
}

func TestApply_RemembersACancelBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Buy, "3")
	for name, between := range map[string][]order.Event{
		"while it is on its way":             nil,
		"while its fate is not known":        {event("o1", order.KindLost)},
		"also when a fill shows its outcome": {event("o1", order.KindLost), filled(trade(g, 5, "1", "100"))},
		"also when the answer was a fill":    {filled(trade(g, 5, "1", "100"))},
		"and no answer to the cancel came":   {event("o1", order.KindAccepted), event("o1", order.KindLost)},
	} {
		o := fold(sent(g), event("o1", order.KindCancelRequested))
		if o.Status != order.Submitted || o.CancelRequested.IsZero() {
			t.Fatalf("%+v", o)
		}
		o = fold(o, between...)
		if o.Status == order.Submitted || o.Status == order.Uncertain {
			o = fold(o, event("o1", order.KindAccepted))
		}
		if o.Status != order.PendingCancel || !o.NeedsQuery() {
			t.Errorf("%s: %v", name, o.Status)
		}
		open := fold(o, event("o1", order.KindCancelFailed))
		if want := open.Filled.IsPositive(); (open.Status == order.PartiallyFilled) != want || (open.Status == order.Accepted) == want {
			t.Errorf("%s: %v after the cancel failed", name, open.Status)
		}
		if o = fold(o, event("o1", order.KindGone)); o.Status != order.Canceled || !o.CancelRequested.Equal(time.Time{}) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestApply_LateFills(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Buy, "3")
	for _, end := range []order.Kind{order.KindCanceled, order.KindExpired, order.KindGone} {
		o := fold(sent(g), event("o1", end))
		ended := o.Status
		if o = fold(o, filled(trade(g, 5, "1", "100"))); o.Status != ended || !o.Filled.Equal(dec("1")) {
			t.Errorf("%v: %v, %v filled", end, o.Status, o.Filled)
		}
		if o = fold(o, filled(trade(g, 6, "2", "100"))); o.Status != order.Filled || !o.Filled.Equal(dec("3")) {
			t.Errorf("%v: %v, %v filled", end, o.Status, o.Filled)
		}
	}
}

func TestOrder_Unsettled(t *testing.T) {
	t.Parallel()
	for status, o := range orders(origin("o1", order.Buy, "3")) {
		want := status == order.Submitted || status == order.Uncertain || status == order.PendingCancel
		if o.NeedsQuery() != want {
			t.Errorf("%v: %v", status, !want)
		}
	}
}

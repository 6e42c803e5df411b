package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/kit/principal"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// RunOrders runs the suite of OrderStore. open is as for RunAlerts.
func RunOrders(t *testing.T, open func(t *testing.T, dir string) OrderStore) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, OrderStore){
		"events come back as they were":                    orderEventsComeBack,
		"an id is used once":                               orderTwice,
		"an idempotency key is used once by its owner":     keyTwice,
		"of many with one idempotency key one wins":        keyRace,
		"a trade counts once":                              tradeOnce,
		"a venue that was reset assigns trade names again": reusesNames,
		"events of an unknown order are refused":           unknownOrder,
		"an event that the order refuses is refused":       refusedEvent,
		"a batch is persisted whole or not at all":         wholeBatch,
		"orders are found by their owner alone":            foreignOrders,
		"replay equals the projection":                     replayEqualsProjection,
		"all orders of an owner are listed":                listsAll,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, t.TempDir()))
		})
	}
}

func orderSymbol() market.Symbol { return market.Symbol{Venue: "binance", Name: "BTCUSDT"} }

// created returns the first event of an order.
func created(owner principal.Owner, id string, at time.Time) order.Event {
	return order.Event{Kind: order.KindCreated, OrderID: id, At: at, Origin: &order.Origin{
		Spec: order.Spec{
			ID: id, Owner: owner, Symbol: orderSymbol(), Side: order.Buy, Type: order.Limit,
			Quantity: decimal.RequireFromString("10.00000001"), Price: decimal.RequireFromString("0.000123"),
		},
		Broker: "binance", Mode: order.Paper, Token: "key of " + string(owner), Client: "a client",
	}}
}

// keyed gives the order of a created event an idempotency key.
func keyed(e order.Event, key string) order.Event {
	origin := *e.Origin
	origin.Key = key
	e.Origin = &origin
	return e
}

// planned records the plan of a position.
func planned(lines ...order.Line) order.Event {
	e := order.Planned(orderSymbol(), lines)
	e.At = start()
	return e
}

func happened(id string, kind order.Kind, n int) order.Event {
	return order.Event{Kind: kind, OrderID: id, At: start().Add(time.Duration(n) * time.Second)}
}

func traded(id, trade string, n int, quantity string) order.Event {
	e := happened(id, order.KindFill, n)
	e.VenueAt = e.At.Add(-time.Millisecond)
	e.Fill = &order.Fill{
		TradeID: trade, OrderID: id, VenueID: "v-" + id, Symbol: orderSymbol(), Side: order.Buy,
		Quantity: decimal.RequireFromString(quantity), Price: decimal.New(int64(100+n), -6),
		Fee: decimal.RequireFromString("0.0000001"), FeeAsset: "BNB", At: e.VenueAt,
	}
	return e
}

func service(owner principal.Owner) principal.Caller { return principal.Caller{Subject: owner} }

func appendEvents(t *testing.T, s OrderStore, owner principal.Owner, events ...order.Event) []order.Event {
	t.Helper()
	kept, err := s.AppendEvents(t.Context(), service(owner), events)
	must(t, err)
	return kept
}

func wantCode(t *testing.T, err error, kind fault.Kind, code, value string) {
	t.Helper()
	if e := fault.Of(err); e == nil || e.Kind != kind || e.Code != code || value != "" && e.Value != value {
		t.Errorf("got %v, want %v %s of %q", err, kind, code, value)
	}
}

// same compares what was stored with what was handed over: amounts by value, times
// by the moment.
func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func orderEventsComeBack(t *testing.T, s OrderStore) {
	t.Helper()
	events := []order.Event{
		keyed(created("ann", "o1", start()), "again"), happened("o1", order.KindSent, 1), happened("o1", order.KindAccepted, 2),
		traded("o1", "t1", 3, "4"), traded("o1", "t2", 4, "6.00000001"),
		created("ann", "o2", start().Add(123*time.Nanosecond)), happened("o2", order.KindDenied, 6),
		{Kind: order.KindAdjusted, At: start(), Adjustment: &order.Adjustment{Symbol: orderSymbol(), Quantity: decimal.New(-5, -3), Price: decimal.New(7, 0)}},
		planned(order.Line{
			ID: "o1", Side: order.Buy, Quantity: decimal.RequireFromString("10.00000001"), Best: decimal.New(8, 0), By: "o2",
			Protect: order.Protection{TrailPercent: decimal.New(15, -1), TakeProfit: decimal.New(9, 0)},
		}),
		planned(), // of a position that has nothing any more
	}
	events[2].VenueID = "v-o1"
	events[6].Reason, events[6].Denial = "too large", &order.Denial{Rule: "max_quantity", Limit: "5", Value: "10.00000001"}
	same(t, events, appendEvents(t, s, "ann", events...))
	same(t, events, collect(t, s.OrderEvents(t.Context(), "ann")))
	same(t, []order.Event(nil), collect(t, s.OrderEvents(t.Context(), "bob")))
	if none := appendEvents(t, s, "ann"); len(none) != 0 {
		t.Errorf("nothing appended gives %v", none)
	}
	owners, err := s.OrderOwners(t.Context())
	must(t, err)
	same(t, []principal.Owner{"ann"}, owners)
}

func orderTwice(t *testing.T, s OrderStore) {
	t.Helper()
	appendEvents(t, s, "ann", created("ann", "o1", start()))
	for _, owner := range []principal.Owner{"ann", "bob"} {
		_, err := s.AppendEvents(t.Context(), service(owner), []order.Event{created(owner, "o1", start())})
		wantCode(t, err, fault.Conflict, "order_exists", "o1")
	}
	_, err := s.AppendEvents(t.Context(), service("bob"), []order.Event{created("ann", "o2", start())})
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("reading the order of another owner returned %v", err)
	}
}

func keyTwice(t *testing.T, s OrderStore) {
	t.Helper()
	appendEvents(t, s, "ann", keyed(created("ann", "o1", start()), "k"), created("ann", "o2", start()), created("ann", "o3", start()))
	_, err := s.AppendEvents(t.Context(), service("ann"), []order.Event{keyed(created("ann", "o4", start()), "k")})
	wantCode(t, err, fault.Conflict, "idempotency_key_used", "o1")
	_, err = s.AppendEvents(t.Context(), service("ann"), []order.Event{keyed(created("ann", "o1", start()), "k")})
	wantCode(t, err, fault.Conflict, "order_exists", "o1")
	appendEvents(t, s, "bob", keyed(created("bob", "o5", start()), "k"))
	o, err := s.OrderByKey(t.Context(), "ann", "k")
	must(t, err)
	if o.ID != "o1" || o.Key != "k" {
		t.Errorf("the key leads to %s", o.ID)
	}
	for _, key := range []string{"", "other"} {
		_, err = s.OrderByKey(t.Context(), "ann", key)
		wantKind(t, err, fault.NotFound)
	}
}

func keyRace(t *testing.T, s OrderStore) {
	t.Helper()
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := s.AppendEvents(context.WithoutCancel(t.Context()), service("ann"), []order.Event{keyed(created("ann", "o"+strconv.Itoa(i), start()), "k")})
			if err == nil {
				won.Add(1)
			} else if fault.KindOf(err) != fault.Conflict {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d orders have the key", won.Load())
	}
}

func tradeOnce(t *testing.T, s OrderStore) {
	t.Helper()
	appendEvents(t, s, "ann", created("ann", "o1", start()), happened("o1", order.KindSent, 1), created("ann", "o2", start()), happened("o2", order.KindSent, 1))
	first := traded("o1", "t1", 2, "1")
	same(t, []order.Event{first}, appendEvents(t, s, "ann", first, first))
	later := traded("o1", "t2", 3, "2")
	same(t, []order.Event{later}, appendEvents(t, s, "ann", first, later, traded("o2", "t1", 4, "1")))
	o, err := s.Order(t.Context(), "ann", "o1")
	must(t, err)
	if !o.Filled.Equal(decimal.NewFromInt(3)) || len(o.Fills) != 2 || o.Status != order.PartiallyFilled {
		t.Errorf("the order is %+v", o)
	}
	if n := len(collect(t, s.OrderEvents(t.Context(), "ann"))); n != 6 {
		t.Errorf("%d events", n)
	}
	appendEvents(t, s, "bob", created("bob", "o3", start()), happened("o3", order.KindSent, 1))
	if kept := appendEvents(t, s, "bob", traded("o3", "t1", 2, "1")); len(kept) != 1 {
		t.Errorf("a trade of another owner's account is taken for a known one")
	}
}

func reusesNames(t *testing.T, s OrderStore) {
	t.Helper()
	appendEvents(t, s, "ann", created("ann", "o1", start()), happened("o1", order.KindSent, 1), created("ann", "o2", start()), happened("o2", order.KindSent, 1))
	old, kept := traded("o1", "t1", 2, "1"), traded("o2", "t2", 3, "1")
	appendEvents(t, s, "ann", old, kept)
	appendEvents(t, s, "bob", created("bob", "o4", start()), happened("o4", order.KindSent, 1), traded("o4", "t1", 2, "1"))
	for range 2 { // the second time there is nothing left to free
		appendEvents(t, s, "ann", order.Event{Kind: order.KindVenueReset, At: start(), Survivors: []string{"o2", "never"}})
	}
	fresh := traded("o2", "t1", 4, "2")
	same(t, []order.Event{fresh}, appendEvents(t, s, "ann", old, fresh, kept, fresh))
	if kept := appendEvents(t, s, "bob", traded("o4", "t1", 2, "1")); len(kept) != 0 {
		t.Error("another owner's trades were wiped, too")
	}
	for id, want := range map[string]int64{"o1": 1, "o2": 3} {
		o, err := s.Order(t.Context(), "ann", id)
		must(t, err)
		if !o.Filled.Equal(decimal.NewFromInt(want)) {
			t.Errorf("the order is %+v", o)
		}
	}
}

func unknownOrder(t *testing.T, s OrderStore) {
	t.Helper()
	appendEvents(t, s, "ann", created("ann", "o1", start()))
	for _, id := range []string{"o1", "never"} { // bob has neither
		_, err := s.AppendEvents(t.Context(), service("bob"), []order.Event{happened(id, order.KindSent, 1)})
		wantCode(t, err, fault.NotFound, "order_not_found", "")
	}
	o, err := s.Order(t.Context(), "ann", "o1")
	must(t, err)
	if o.Status != order.New {
		t.Errorf("the order is %v", o.Status)
	}
}

func refusedEvent(t *testing.T, s OrderStore) {
	t.Helper()
	appendEvents(t, s, "ann", created("ann", "o1", start()))
	for _, e := range []order.Event{
		happened("o1", order.KindAccepted, 1),
		traded("o1", "t1", 1, "1"),
		{Kind: order.KindCreated, OrderID: "o2", At: start()},
		{Kind: order.KindAdjusted, At: start()},
		{Kind: order.KindFill, OrderID: "o1", At: start()},
		{Kind: order.KindPlanned, At: start()},
		planned(order.Line{Side: order.Buy, Quantity: decimal.New(1, 0)}), // without an ID
		planned(order.Line{ID: "o1", Quantity: decimal.New(1, 0)}),        // without a side
	} {
		_, err := s.AppendEvents(t.Context(), service("ann"), []order.Event{e})
		wantCode(t, err, fault.Conflict, "order_event_refused", "")
		if !errors.Is(err, order.ErrTransition) && !errors.Is(err, order.ErrMalformed) {
			t.Errorf("%v does not carry the reason", err)
		}
	}
	// The trade that was refused is still new.
	appendEvents(t, s, "ann", happened("o1", order.KindSent, 2))
	if kept := appendEvents(t, s, "ann", traded("o1", "t1", 3, "1")); len(kept) != 1 {
		t.Errorf("kept %v", kept)
	}
}

func wholeBatch(t *testing.T, s OrderStore) {
	t.Helper()
	_, err := s.AppendEvents(t.Context(), service("ann"), []order.Event{
		keyed(created("ann", "o1", start()), "k"), happened("o1", order.KindSent, 1), traded("o1", "t1", 2, "1"), traded("o1", "t2", 2, "1000"),
	})
	if !errors.Is(err, order.ErrOverfill) {
		t.Fatalf("got %v", err)
	}
	same(t, []order.Event(nil), collect(t, s.OrderEvents(t.Context(), "ann")))
	_, err = s.Order(t.Context(), "ann", "o1")
	wantKind(t, err, fault.NotFound)
	appendEvents(t, s, "ann", keyed(created("ann", "o1", start()), "k"), happened("o1", order.KindSent, 1), traded("o1", "t1", 2, "1"))
}

func foreignOrders(t *testing.T, s OrderStore) {
	t.Helper()
	appendEvents(t, s, "ann", keyed(created("ann", "o1", start()), "k"))
	_, err := s.Order(t.Context(), "bob", "o1")
	wantKind(t, err, fault.NotFound)
	_, err = s.OrderByKey(t.Context(), "bob", "k")
	wantKind(t, err, fault.NotFound)
}

// replayEqualsProjection draws what may happen to orders, persists it in batches,
// and compares three books: the one that was kept along, the one that the persisted
// events make, and the orders that the store made of them.
func replayEqualsProjection(t *testing.T, s OrderStore) {
	t.Helper()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		owner := principal.Owner(fmt.Sprintf("owner %d", run))
		book, batch := order.NewBook(owner), []order.Event(nil)
		flush := func() {
			if _, err := s.AppendEvents(context.WithoutCancel(t.Context()), service(owner), batch); err != nil {
				rt.Fatal(err)
			}
			batch = nil
		}
		for i := range rapid.IntRange(1, longtest.Pick(25, 60)).Draw(rt, "events") {
			e := drawEvent(rt, owner, run, i)
			if book.Check(e) != nil {
				continue
			}
			if err := book.Apply(e); err != nil {
				rt.Fatal(err)
			}
			batch = append(batch, e)
			if rapid.IntRange(0, 9).Draw(rt, "flush") == 0 {
				flush()
			}
		}
		flush()
		compareBooks(rt, s, book, owner)
	})
}

// drawEvent draws an event of one of five orders, possible or not.
func drawEvent(rt *rapid.T, owner principal.Owner, run, n int) order.Event {
	id := fmt.Sprintf("%d-%d", run, rapid.IntRange(1, 5).Draw(rt, "order"))
	kind := rapid.SampledFrom([]order.Kind{
		order.KindCreated, order.KindCreated, order.KindDenied, order.KindSent, order.KindSent, order.KindNotSent, order.KindLost, order.KindGone, order.KindAccepted,
		order.KindFill, order.KindFill, order.KindFill, order.KindClaimed, order.KindCancelRequested, order.KindCancelFailed, order.KindCanceled, order.KindExpired,
		order.KindRejected, order.KindDoubted, order.KindConfirmed, order.KindAdjusted, order.KindVenueReset, order.KindPlanned, order.KindFunded, order.KindAssigned,
	}).Draw(rt, "kind")
	switch kind {
	case order.KindCreated:
		e := created(owner, id, start().Add(time.Duration(n)*time.Second))
		if rapid.Bool().Draw(rt, "keyed") {
			e = keyed(e, "key "+id)
		}
		e.Origin.External, e.Origin.Deployment = rapid.Bool().Draw(rt, "external"), drawDeployment(rt)
		return e
	case order.KindFill:
		trade := strconv.Itoa(rapid.IntRange(1, 12).Draw(rt, "trade"))
		return traded(id, trade, rapid.IntRange(0, 60).Draw(rt, "time"), rapid.SampledFrom([]string{"0.00000001", "1", "2.5", "10"}).Draw(rt, "quantity"))
	case order.KindVenueReset:
		return order.Event{Kind: kind, At: start(), Survivors: []string{id}}
	case order.KindAdjusted:
		return order.Event{Kind: kind, At: start(), Adjustment: &order.Adjustment{Symbol: orderSymbol(), Quantity: decimal.New(int64(n-30), -2), Price: decimal.New(1, 0)}}
	case order.KindFunded:
		return order.Event{Kind: kind, At: start(), Funding: &order.Funding{Symbol: orderSymbol(), At: start().Add(time.Duration(n%5) * time.Hour), Rate: decimal.New(1, -4), Mark: decimal.New(50, 0), Amount: decimal.New(int64(n-30), -4)}}
	case order.KindAssigned:
		a := order.Assignment{Deployment: drawDeployment(rt)}
		if a.Released = a.Deployment == "d2" && n%3 == 0; !a.Released {
			a.Symbol, a.Quantity, a.Price = orderSymbol(), decimal.New(int64(n-30), -2), decimal.New(1, 0)
		}
		return order.Event{Kind: kind, At: start(), Assignment: &a}
	case order.KindPlanned:
		line := order.Line{ID: id, Side: order.Buy, Quantity: decimal.New(int64(n), -1), Protect: order.Protection{StopLoss: decimal.New(int64(n+1), -5)}, By: id}
		return planned(slices.Repeat([]order.Line{line}, rapid.IntRange(0, 1).Draw(rt, "lines"))...)
	default:
		e := happened(id, kind, n)
		e.Reason, e.VenueID = "because", "v-"+id
		e.VenueAt = e.At.Add(-time.Duration(rapid.IntRange(0, 9).Draw(rt, "ago")) * time.Second)
		if kind == order.KindClaimed {
			e.Filled = decimal.New(int64(n), -1)
		}
		return e
	}
}

// drawDeployment draws whose order it is.
func drawDeployment(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"", "d1", "d2"}).Draw(rt, "deployment")
}

func compareBooks(rt *rapid.T, s OrderStore, book *order.Book, owner principal.Owner) {
	ctx := context.Background()
	replayed := order.NewBook(owner)
	for e, err := range s.OrderEvents(ctx, owner) {
		if err != nil {
			rt.Fatal(err)
		}
		if err := replayed.Apply(e); err != nil {
			rt.Fatal(err)
		}
	}
	var err error
	projected := make([]order.Order, len(book.Orders()))
	for i, o := range book.Orders() {
		if projected[i], err = s.Order(ctx, owner, o.ID); err != nil {
			rt.Fatal(err)
		}
	}
	for name, orders := range map[string][]order.Order{"replayed": replayed.Orders(), "projected": projected} {
		if diff := cmp.Diff(book.Orders(), orders, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("%s: %s", name, diff)
		}
	}
	if diff := cmp.Diff(book.Positions(), replayed.Positions(), cmpopts.EquateEmpty()); diff != "" {
		rt.Fatal(diff)
	}
	if diff := cmp.Diff(book.Lines(orderSymbol()), replayed.Lines(orderSymbol()), cmpopts.EquateEmpty()); diff != "" {
		rt.Fatal(diff)
	}
	if diff := cmp.Diff([]order.DeploymentBook{book.Of("d1"), book.Of("d2")}, []order.DeploymentBook{replayed.Of("d1"), replayed.Of("d2")}, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatal(diff)
	}
	if !slices.EqualFunc(book.Open(), replayed.Open(), func(a, b order.Order) bool { return a.ID == b.ID }) {
		rt.Fatal("other orders are open")
	}
}

package order_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// replay returns the book of stored events, in their stored order.
func replay(events []order.Event) (*order.Book, error) {
	b := order.NewBook("me")
	for i, e := range events {
		if err := b.Apply(e); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	return b, nil
}

func book(t *testing.T, events ...order.Event) *order.Book {
	t.Helper()
	b, err := replay(events)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBook_FindsOrders(t *testing.T) {
	t.Parallel()
	a, b := origin("a", order.Buy, "3"), origin("b", order.Sell, "2")
	a.Key = "once"
	at := func(e order.Event, n int) order.Event { e.At = second(n); return e }
	accepted := order.Event{Kind: order.KindAccepted, OrderID: "a", VenueID: "v1", At: second(3)}
	bk := book(t, created(a), at(created(b), 1), event("a", order.KindSent), accepted, event("b", order.KindDenied))
	if all := bk.Orders(); len(all) != 2 || all[0].ID != "b" || all[1].ID != "a" {
		t.Errorf("orders %v", all)
	}
	if open := bk.Open(); len(open) != 1 || open[0].ID != "a" {
		t.Errorf("open %v", open)
	}
	if since := bk.Since(second(1)); len(since) != 1 || since[0].ID != "b" || len(bk.Since(second(0))) != 2 {
		t.Errorf("since %v", since)
	}
	if o, ok := bk.ByKey("once"); !ok || o.ID != "a" {
		t.Error("by key")
	}
	if o, ok := bk.ByVenueID("paper", a.Symbol, "v1"); !ok || o.ID != "a" {
		t.Error("by the venue's id")
	}
	if o, ok := bk.ByVenueID("paper", market.Symbol{Venue: a.Symbol.Venue, Name: "OTHER"}, "v1"); ok {
		t.Errorf("the same number in another symbol is %+v", o)
	}
	if _, ok := bk.ByKey(""); ok {
		t.Error("no key finds an order")
	}
	if _, ok := bk.Order("c"); ok {
		t.Error("an order that is not there")
	}
}

func TestBook_Refusals(t *testing.T) {
	t.Parallel()
	a := origin("a", order.Buy, "3")
	a.Key = "once"
	sameKey, stranger := origin("b", order.Buy, "1"), origin("c", order.Buy, "1")
	sameKey.Key, stranger.Owner = "once", "you"
	b := book(t, created(a), event("a", order.KindSent))
	before := b.Orders()
	for name, tc := range map[string]struct {
		event order.Event
		want  error
	}{
		"an order that is not there":    {event("x", order.KindSent), order.ErrUnknownOrder},
		"an id that is taken":           {created(a), order.ErrDuplicate},
		"a key that is taken":           {created(sameKey), order.ErrDuplicate},
		"an order of somebody else":     {created(stranger), order.ErrMalformed},
		"an order without its origin":   {event("y", order.KindCreated), order.ErrMalformed},
		"what the order does not allow": {event("a", order.KindDenied), order.ErrTransition},
		"too much":                      {filled(trade(a, 1, "4", "1")), order.ErrOverfill},
		"an adjustment of nothing":      {order.Event{Kind: order.KindAdjusted}, order.ErrMalformed},
	} {
		if err := b.Check(tc.event); !errors.Is(err, tc.want) {
			t.Errorf("%s: check says %v", name, err)
		}
		if err := b.Apply(tc.event); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, b.Orders()); diff != "" {
		t.Errorf("a refusal changes the book: %s", diff)
	}
	if _, err := replay([]order.Event{event("x", order.KindSent)}); !errors.Is(err, order.ErrUnknownOrder) {
		t.Errorf("replay: %v", err)
	}
}

func TestBook_CountsATradeOnce(t *testing.T) {
	t.Parallel()
	a, b := origin("a", order.Buy, "3"), origin("b", order.Buy, "3")
	f := trade(a, 5, "1", "100")
	astray := f
	astray.OrderID = "b"
	bk := book(t, created(a), event("a", order.KindSent), created(b), event("b", order.KindSent), filled(f), filled(f), filled(astray))
	if o, _ := bk.Order("b"); !o.Filled.IsZero() {
		t.Errorf("the trade of another order counts: %v", o.Filled)
	}
	p := bk.Position(a.Symbol)
	if !p.Quantity.Equal(dec("1")) || !p.Fees["USDT"].Equal(dec("0.01")) || !p.Updated.Equal(second(5)) {
		t.Errorf("%+v", p)
	}
	// An account that trades with itself has two fills with one trade id.
	sell := origin("s", order.Sell, "1")
	own := trade(sell, 5, "1", "100")
	for _, e := range []order.Event{created(sell), event("s", order.KindSent), filled(own)} {
		if err := bk.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if p := bk.Position(a.Symbol); !p.Quantity.IsZero() || f.Key() == own.Key() {
		t.Errorf("%+v", p)
	}
}

func TestBook_Adjusts(t *testing.T) {
	t.Parallel()
	adjust := func(n int, q, price string) order.Event {
		return order.Event{Kind: order.KindAdjusted, At: second(n), Adjustment: &order.Adjustment{Symbol: symbol("BTCUSDT"), Quantity: dec(q), Price: dec(price)}}
	}
	b := book(t, adjust(1, "2", "100"), adjust(2, "-0.5", "110"))
	p := b.Position(symbol("BTCUSDT"))
	if !p.Quantity.Equal(dec("1.5")) || !p.Realised.Equal(dec("5")) || !p.Cost.Equal(dec("150")) {
		t.Errorf("%+v", p)
	}
	if p := b.Position(symbol("ETHUSDT")); p.Symbol != symbol("ETHUSDT") || !p.Quantity.IsZero() {
		t.Errorf("%+v", p)
	}
	if err := b.Check(adjust(3, "1", "1")); err != nil {
		t.Error(err)
	}
	if len(b.Traded(second(1))) != 0 {
		t.Error("an adjustment is turnover")
	}
}

// TestBook_Wiped continues with the orders that the venue still has: numbers that
// it gives out again are of new orders and new trades.
func TestBook_Wiped(t *testing.T) {
	t.Parallel()
	before, after := origin("before", order.Buy, "3"), origin("after", order.Buy, "2")
	accepted := func(id string) order.Event {
		return order.Event{Kind: order.KindAccepted, OrderID: id, VenueID: "1", At: second(3)}
	}
	old := trade(before, 1, "2", "100")
	b := book(t, created(before), event("before", order.KindSent), accepted("before"), filled(old), event("before", order.KindGone),
		created(after), event("after", order.KindSent), accepted("after"))
	if b.Check(order.Event{Kind: order.KindVenueReset}) != nil {
		t.Error("a wipe is refused")
	}
	if err := b.Apply(order.Event{Kind: order.KindVenueReset, At: second(9), Survivors: []string{"after", "never"}}); err != nil {
		t.Fatal(err)
	}
	if p := b.Positions(); len(p) != 0 {
		t.Errorf("positions of the account before: %+v", p)
	}
	if o, ok := b.ByVenueID("paper", after.Symbol, "1"); !ok || o.ID != "after" {
		t.Errorf("number 1 is %+v", o)
	}
	fresh := trade(after, 1, "2", "110")
	if err := b.Apply(filled(fresh)); err != nil {
		t.Fatal(err)
	}
	if p := b.Position(after.Symbol); !p.Quantity.Equal(dec("2")) || !p.Cash().Equal(dec("-220")) {
		t.Errorf("the position is %+v", p)
	}
	// A second wipe keeps what was traded since the first.
	if err := b.Apply(order.Event{Kind: order.KindVenueReset, At: second(10), Survivors: []string{"after"}}); err != nil {
		t.Fatal(err)
	}
	if p := b.Position(after.Symbol); !p.Quantity.Equal(dec("2")) {
		t.Errorf("the position is %+v", p)
	}
	if err := b.Apply(filled(fresh)); err != nil || !b.Position(after.Symbol).Quantity.Equal(dec("2")) {
		t.Errorf("a known trade counts again: %v", err)
	}
	if o, _ := b.Order("before"); o.Status != order.Canceled || !o.Filled.Equal(dec("2")) {
		t.Errorf("the order before is %+v", o)
	}
}

func TestBook_Turnover(t *testing.T) {
	t.Parallel()
	const day = 24 * 3600
	g := origin("a", order.Sell, "100")
	events := []order.Event{created(g), event("a", order.KindSent)}
	for _, n := range []int{0, 1, day, 2 * day, day + 1, 3} { // the last is of a day that is dropped
		events = append(events, filled(trade(g, n, "2", "10")))
	}
	b := book(t, events...)
	for n, want := range map[int]string{0: "0", day: "40", 2 * day: "20", 3 * day: "0"} {
		if got := b.Traded(second(n))[g.Symbol]; !got.Equal(dec(want)) {
			t.Errorf("day %d: %v, want %v", n/day, got, want)
		}
	}
}

func TestBook_Forgets(t *testing.T) {
	t.Parallel()
	a, b, c := origin("a", order.Buy, "1"), origin("b", order.Buy, "1"), origin("c", order.Buy, "1")
	a.Key = "once"
	f := trade(a, 5, "1", "100")
	behind := order.Event{Kind: order.KindClaimed, OrderID: "c", At: second(5), Filled: dec("1")}
	bk := book(t, created(a), event("a", order.KindSent), filled(f), created(b), event("b", order.KindSent),
		created(c), event("c", order.KindSent), event("c", order.KindCanceled), behind)
	bk.Evict(second(5), 10, 10)
	if len(bk.Orders()) != 3 {
		t.Error("what ended at that moment is forgotten")
	}
	bk.Evict(second(6), 10, 10)
	if all := bk.Orders(); len(all) != 2 || len(bk.Since(time.Time{})) != 2 {
		t.Errorf("left: %v", all)
	}
	if _, ok := bk.ByKey("once"); ok || bk.Check(filled(f)) == nil {
		t.Error("what was forgotten is still found")
	}
	if p := bk.Position(a.Symbol); !p.Quantity.Equal(dec("1")) {
		t.Errorf("the position went with its order: %+v", p)
	}
}

// TestBook_PutsALongTailInOrder holds that fills are counted by time far beyond
// what is kept for putting them in order, when none is very late.
func TestBook_PutsALongTailInOrder(t *testing.T) {
	t.Parallel()
	const trades = 1800
	g, h := origin("a", order.Buy, "3000"), origin("b", order.Sell, "3000")
	opening := []order.Event{created(g), event("a", order.KindSent), created(h), event("b", order.KindSent)}
	var sorted, jumbled []order.Event
	for n := range trades {
		side := g
		if n%3 == 0 {
			side = h
		}
		sorted = append(sorted, filled(trade(side, n, "0.7", strconv.Itoa(100+n%17))))
	}
	for n := 0; n < trades; n += 300 {
		for k := n + 299; k >= n; k-- {
			jumbled = append(jumbled, sorted[k])
		}
	}
	want, got := book(t, append(opening, sorted...)...), book(t, append(opening, jumbled...)...)
	if diff := cmp.Diff(want.Positions(), got.Positions()); diff != "" {
		t.Error(diff)
	}
	plain := order.Position{}
	for _, e := range sorted {
		plain = plain.Trade(e.Fill.Quantity.Mul(decimal.NewFromInt(e.Fill.Side.Sign())), e.Fill.Price)
	}
	if p := got.Position(g.Symbol); !p.Realised.Equal(plain.Realised) || !p.Cost.Equal(plain.Cost) {
		t.Errorf("%v and %v, one by one %v and %v", p.Realised, p.Cost, plain.Realised, plain.Cost)
	}
}

// TestBook_ReplayIsTheProjection runs an account in which anything may happen,
// writes every event down as a store does, and reads the book back from that.
func TestBook_ReplayIsTheProjection(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &session{t: t, live: order.NewBook("me")}
		for range rapid.IntRange(1, longtest.Pick(30, 60)).Draw(t, "steps") {
			s.step()
		}
		var events []order.Event
		for _, line := range s.log {
			var e order.Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
		back, err := replay(events)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, s.live, back)
		if diff := cmp.Diff(s.live.Orders(), back.Orders()); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(s.live.Open(), back.Open()); diff != "" {
			t.Fatal(diff)
		}
		for _, p := range back.Positions() {
			whole(t, back, p)
		}
	})
}

// whole compares a position with the sum of everything in the book.
func whole(t *rapid.T, b *order.Book, p order.Position) {
	t.Helper()
	var cash, quantity, fees decimal.Decimal
	for _, o := range b.Orders() {
		if o.Symbol == p.Symbol {
			sign := decimal.NewFromInt(o.Side.Sign())
			cash, quantity, fees = cash.Sub(o.Cost.Mul(sign)), quantity.Add(o.Filled.Mul(sign)), fees.Add(o.Fees["USDT"])
		}
	}
	if mark := dec("123.45"); !p.Realised.Add(p.Unrealised(mark)).Equal(cash.Add(quantity.Mul(mark))) || !p.Fees["USDT"].Equal(fees) {
		t.Fatalf("%+v, the orders have %v in cash and %v in hand", p, cash, quantity)
	}
}

// session is an account in use.
type session struct {
	t    *rapid.T
	live *order.Book
	log  [][]byte
	now  int
	// keyless has it use no keys: a book that forgets leaves those to the store.
	keyless bool
}

func (s *session) apply(events ...order.Event) {
	for _, e := range events {
		checked := s.live.Check(e)
		err := s.live.Apply(e)
		if (checked == nil) != (err == nil) {
			s.t.Fatalf("Check says %v, Apply %v", checked, err)
		}
		if err != nil {
			continue // the desk would not have persisted it
		}
		line, err := json.Marshal(e)
		if err != nil {
			s.t.Fatal(err)
		}
		s.log = append(s.log, line)
	}
}

func (s *session) step() {
	s.now++
	t, all := s.t, s.live.Orders()
	if len(all) == 0 || rapid.IntRange(0, 4).Draw(t, "new order") == 0 {
		g := origin(fmt.Sprintf("o%03d", s.now), rapid.SampledFrom([]order.Side{order.Buy, order.Sell}).Draw(t, "side"), "1")
		g.Quantity = drawDecimal(t, "quantity", 1000)
		g.Symbol = rapid.SampledFrom([]market.Symbol{symbol("BTCUSDT"), symbol("AAPL")}).Draw(t, "symbol")
		g.Deployment = rapid.SampledFrom([]string{"", "", "d1", "d2"}).Draw(t, "deployment")
		if !s.keyless {
			g.Key = rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(t, "key")
		}
		s.apply(created(g), s.at(event(g.ID, order.KindSent)))
		return
	}
	o := rapid.SampledFrom(all).Draw(t, "order")
	if rapid.Bool().Draw(t, "a report") {
		s.apply(order.FromReport(o, s.report(o))...)
		return
	}
	// Later kinds are not about an order; a reset of the venue takes what the orders have from the positions.
	kind := order.Kind(rapid.IntRange(int(order.KindCreated)+1, int(order.KindAdjusted)).Draw(t, "kind"))
	s.apply(s.at(event(o.ID, kind)))
}

func (s *session) at(e order.Event) order.Event {
	e.At = second(s.now).Add(time.Duration(s.now) * time.Millisecond)
	return e
}

func (s *session) report(o order.Order) order.Report {
	t := s.t
	statuses := []order.Status{order.Accepted, order.PartiallyFilled, order.PartiallyFilled, order.Filled, order.Canceled, order.Uncertain}
	r := report(rapid.SampledFrom(statuses).Draw(t, "status"), rapid.IntRange(0, 60).Draw(t, "at"), "0")
	r.VenueID = "v" + o.ID
	if rapid.Bool().Draw(t, "a fill") {
		f := trade(o.Origin, rapid.IntRange(0, 60).Draw(t, "trade"), "1", "1")
		f.TradeID += o.ID
		f.Quantity = o.Quantity.Mul(decimal.New(rapid.Int64Range(1, 10).Draw(t, "tenths"), -1))
		f.Price = drawDecimal(t, "price", 1000)
		r.Fills = append(r.Fills, f)
	}
	return r
}

func TestRequest_Asks(t *testing.T) {
	t.Parallel()
	o := order.Order{Origin: order.Origin{Spec: order.Spec{
		Symbol: market.Symbol{Venue: "v", Name: "X"}, Side: order.Buy, Type: order.Limit, Quantity: decimal.New(10, -1), Price: decimal.NewFromInt(5),
	}}}
	r := order.Request{Symbol: market.Symbol{Name: "X"}, Side: order.Buy, Type: order.Limit, Quantity: decimal.NewFromInt(1), Price: decimal.NewFromInt(5)}
	if !r.Matches(o) {
		t.Error("the same order is not taken for it")
	}
	for name, change := range map[string]func(*order.Request){
		"venue": func(r *order.Request) { r.Symbol.Venue = "w" }, "name": func(r *order.Request) { r.Symbol.Name = "Y" },
		"side": func(r *order.Request) { r.Side = order.Sell }, "type": func(r *order.Request) { r.Type = order.Market },
		"quantity": func(r *order.Request) { r.Quantity = decimal.NewFromInt(2) }, "price": func(r *order.Request) { r.Price = decimal.NewFromInt(6) },
	} {
		other := r
		change(&other)
		if other.Matches(o) {
			t.Errorf("another %s makes no difference", name)
		}
	}
	first := r
	first.Key, first.Symbol = "k", market.Symbol{Name: "x/y"}
	o.RequestedSymbol = first.WithSymbol(o.Symbol).RequestedSymbol
	if !first.Matches(o) || !r.Matches(o) {
		t.Error("the order does not know the spelling of its request, or its own")
	}
	if first.Symbol.Name = "x-y"; first.Matches(o) {
		t.Error("a spelling that nobody used passes for the one that was")
	}
}

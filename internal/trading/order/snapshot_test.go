package order_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// snapshot writes a book.
func snapshot(t interface {
	Helper()
	Fatal(...any)
}, b *order.Book,
) []byte {
	t.Helper()
	data, err := b.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// text is a snapshot as it can be read: every amount, time and name of the book.
func text(t *rapid.T, b *order.Book) string {
	r, err := gzip.NewReader(bytes.NewReader(snapshot(t, b)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// more lets happen what session leaves out: adjustments and wipes.
func (s *session) more() {
	s.step()
	switch rapid.IntRange(0, 17).Draw(s.t, "more") {
	case 3:
		s.apply(s.at(order.Event{Kind: order.KindAssigned, Assignment: &order.Assignment{
			Deployment: "d1", Symbol: symbol("BTCUSDT"), Quantity: drawDecimal(s.t, "assigned", 1000).Neg(), Price: drawDecimal(s.t, "for", 1000),
		}}))
	case 4:
		s.apply(s.at(order.Event{Kind: order.KindAssigned, Assignment: &order.Assignment{Deployment: "d2", Released: true}}))
	case 0:
		s.apply(s.at(order.Event{Kind: order.KindAdjusted, Adjustment: &order.Adjustment{
			Symbol: symbol("BTCUSDT"), Quantity: drawDecimal(s.t, "adjusted", 1000).Neg(), Price: drawDecimal(s.t, "at", 1000),
		}}))
	case 1:
		var kept []string
		for _, o := range s.live.Orders() {
			if rapid.Bool().Draw(s.t, "kept") {
				kept = append(kept, o.ID)
			}
		}
		s.apply(s.at(order.Event{Kind: order.KindVenueReset, Survivors: kept}))
	case 2: // the venue gives out a number again
		if all := s.live.Orders(); len(all) > 1 {
			o := rapid.SampledFrom(all).Draw(s.t, "named")
			e := s.at(event(o.ID, order.KindConfirmed))
			e.VenueID = "v" + rapid.SampledFrom(all).Draw(s.t, "as").ID
			s.apply(e)
		}
	}
}

// lines makes events of what was written down.
func lines(t *rapid.T, log [][]byte) []order.Event {
	events := make([]order.Event, len(log))
	for i, line := range log {
		if err := json.Unmarshal(line, &events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return events
}

// TestSnapshot_IsTheReplay makes snapshots of a running account at random places. Each
// with the events after it is, to the last digit and name, what all events make; and
// so is what the account itself has become.
func TestSnapshot_IsTheReplay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &session{t: t, live: order.NewBook("me")}
		type kept struct {
			data   []byte
			events int
		}
		all := []kept{{snapshot(t, s.live), 0}}
		for range rapid.IntRange(1, longtest.Pick(20, 60)).Draw(t, "steps") {
			s.more()
			if rapid.IntRange(0, 9).Draw(t, "a snapshot") == 0 {
				all = append(all, kept{snapshot(t, s.live), len(s.log)})
			}
		}
		events := lines(t, s.log)
		whole, err := replay(events)
		if err != nil {
			t.Fatal(err)
		}
		want := text(t, whole)
		if diff := cmp.Diff(want, text(t, s.live)); diff != "" {
			t.Fatal("the running account:", diff)
		}
		for _, one := range all {
			b, err := order.ReadSnapshot("me", one.data)
			if err != nil {
				t.Fatal(err)
			}
			if again := snapshot(t, b); !bytes.Equal(again, one.data) {
				t.Fatal("a snapshot of what was read is another")
			}
			for _, e := range events[one.events:] {
				if err := b.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, text(t, b)); diff != "" {
				t.Fatalf("from event %d on: %s", one.events, diff)
			}
			compare(t, whole, b)
			if diff := cmp.Diff(whole.Open(), b.Open(), cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// TestSnapshot_OfAnAccountThatForgets lets a running account forget before each
// snapshot. What it still has is what all events make, and what it has not had ended.
func TestSnapshot_OfAnAccountThatForgets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &session{t: t, live: order.NewBook("me"), keyless: true}
		for range rapid.IntRange(1, longtest.Pick(40, 80)).Draw(t, "steps") {
			s.step()
			if rapid.IntRange(0, 9).Draw(t, "a snapshot") > 0 {
				continue
			}
			s.live.Evict(second(s.now-rapid.IntRange(0, 40).Draw(t, "ago")), rapid.IntRange(0, 9).Draw(t, "sent"), rapid.IntRange(0, 2).Draw(t, "denied"))
			b, err := order.ReadSnapshot("me", snapshot(t, s.live))
			if err != nil {
				t.Fatal(err)
			}
			s.live = b
		}
		whole, err := replay(lines(t, s.log))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole.Positions(), s.live.Positions()) + cmp.Diff(whole.Traded(second(0)), s.live.Traded(second(0))); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(whole.Open(), s.live.Open(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		for _, o := range whole.Orders() {
			have, ok := s.live.Order(o.ID)
			if diff := cmp.Diff(o, have, cmpopts.EquateEmpty()); ok && diff != "" {
				t.Fatal(diff)
			}
			if !ok && !o.Status.Final() {
				t.Fatalf("%s is %v and forgotten", o.ID, o.Status)
			}
		}
	})
}

// TestSnapshot_PutsLateTradesInOrder has a trade come after a snapshot that happened
// before what is in it.
func TestSnapshot_PutsLateTradesInOrder(t *testing.T) {
	t.Parallel()
	g, h := origin("a", order.Buy, "5000"), origin("b", order.Sell, "5000")
	b := book(t, created(g), event("a", order.KindSent), created(h), event("b", order.KindSent))
	apply := func(b *order.Book, n int) {
		t.Helper()
		side := g
		if n%3 == 0 {
			side = h
		}
		if err := b.Apply(filled(trade(side, n, "0.7", "1.0000000000"+string(rune('1'+n%7))))); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 1800 {
		if n%50 != 49 {
			apply(b, n)
		}
	}
	read, err := order.ReadSnapshot("me", snapshot(t, b))
	if err != nil {
		t.Fatal(err)
	}
	for n := 49; n < 1800; n += 50 {
		apply(b, n)
		apply(read, n)
	}
	if x, y := snapshot(t, b), snapshot(t, read); !bytes.Equal(x, y) {
		t.Error("they differ")
	}
	if diff := cmp.Diff(b.Positions(), read.Positions()); diff != "" {
		t.Error(diff)
	}
}

// TestPosition_RoundsByValue has a cost that was written down, and so has lost its
// zeros, divide as before.
func TestPosition_RoundsByValue(t *testing.T) {
	t.Parallel()
	for _, cost := range []string{"1.00000000000000000000", "0.1234567890123456789000", "7", "1.23456789012345678901"} {
		a := order.Position{Quantity: dec("3"), Cost: dec(cost)}
		b := a
		if b.Cost = dec(a.Cost.String()); a.Cost.Exponent() == 0 {
			b.Cost = decimal.New(7_000_000_000, 0).Div(decimal.New(1_000_000_000, 0))
		}
		x, y := a.Trade(dec("-1"), dec("1")), b.Trade(dec("-1"), dec("1"))
		if !x.Cost.Equal(y.Cost) || !x.Realised.Equal(y.Realised) {
			t.Errorf("%s: %v and %v, %v and %v", cost, x.Cost, y.Cost, x.Realised, y.Realised)
		}
	}
}

func TestReadSnapshot_Refusals(t *testing.T) {
	t.Parallel()
	a := origin("a", order.Buy, "3")
	good := snapshot(t, book(t, created(a)))
	if _, err := order.ReadSnapshot("me", good); err != nil {
		t.Fatal(err)
	}
	if _, err := order.ReadSnapshot("you", good); err == nil {
		t.Error("somebody else's is read")
	}
	for i := range good {
		if bad := bytes.Clone(good); i > 9 { // before that are words that nobody reads
			bad[i] ^= 0x10
			if b, err := order.ReadSnapshot("me", bad); err == nil && len(b.Orders()) != 1 {
				t.Errorf("with another byte at %d it is read", i)
			}
		}
		if _, err := order.ReadSnapshot("me", good[:i]); err == nil {
			t.Errorf("%d bytes of it are read", i)
		}
	}
	for name, form := range map[string]string{
		"the version before":     `{"version":1,"owner":"me"}`,
		"an order twice":         `{"version":2,"owner":"me","orders":[{"id":"a","owner":"me","status":"new"},{"id":"a","owner":"me","status":"new"}]}`,
		"somebody else's order":  `{"version":2,"owner":"me","orders":[{"id":"a","owner":"you","status":"new"}]}`,
		"an order without state": `{"version":2,"owner":"me","orders":[{"id":"a","owner":"me"}]}`,
		"no object":              `[]`,
	} {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := io.Copy(w, strings.NewReader(form)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := order.ReadSnapshot("me", packed.Bytes()); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

// TestBook_ForgetsByNumber keeps so many of each kind, and names that were given out
// again after a venue reset.
func TestBook_ForgetsByNumber(t *testing.T) {
	t.Parallel()
	b := order.NewBook("me")
	apply := func(events ...order.Event) {
		t.Helper()
		for _, e := range events {
			if err := b.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := func(id, trade1 string) {
		g := origin(id, order.Buy, "1")
		f := trade(g, 1, "1", "100")
		f.TradeID, f.VenueID = trade1, "v"+trade1
		accepted := event(id, order.KindAccepted)
		accepted.VenueID = "v" + trade1
		apply(created(g), event(id, order.KindSent), accepted, filled(f))
	}
	end("old", "1")
	apply(order.Event{Kind: order.KindVenueReset})
	end("new", "1") // the venue reuses numbers
	for _, id := range []string{"d1", "d2", "d3"} {
		apply(created(origin(id, order.Buy, "1")), event(id, order.KindDenied))
	}
	open := origin("open", order.Buy, "1")
	apply(created(open), event("open", order.KindSent))
	b.Evict(second(0), 1, 2)
	var left []string
	for _, o := range b.Newest(10) {
		left = append(left, o.ID)
	}
	if diff := cmp.Diff([]string{"open", "d3", "d2", "new"}, left); diff != "" {
		t.Error(diff)
	}
	if o, ok := b.ByVenueID("paper", market.Symbol{Venue: "paper", Name: "BTCUSDT"}, "v1"); !ok || o.ID != "new" {
		t.Errorf("the reused number belongs to %q", o.ID)
	}
	if o, _ := b.Order("new"); b.OrderOfTrade(o.Fills[0]) != "new" {
		t.Error("the trade with the reused number is missing")
	}
}

// TestBook_ForgetsWhatEndedFirst has an order rest while newer ones end, and end
// last: it is the newest of those that have ended.
func TestBook_ForgetsWhatEndedFirst(t *testing.T) {
	t.Parallel()
	at := func(e order.Event, n int) order.Event {
		e.At = second(n)
		return e
	}
	var events []order.Event
	for i, id := range []string{"rests", "b", "c", "d"} {
		events = append(events, at(created(origin(id, order.Buy, "1")), i), at(event(id, order.KindSent), i))
	}
	for i, id := range []string{"d", "b", "c", "rests"} {
		events = append(events, at(event(id, order.KindRejected), 10+i))
	}
	b := book(t, events...)
	b.Evict(second(0), 2, 0)
	var left []string
	for _, o := range b.Newest(10) {
		left = append(left, o.ID)
	}
	if diff := cmp.Diff([]string{"c", "rests"}, left); diff != "" {
		t.Error(diff)
	}
}

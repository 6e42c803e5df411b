package order_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
)

// shared are orders of clients and of deployments that are filled at random, each as far as it holds something.
type shared struct {
	random *rand.Rand
	held   map[string]decimal.Decimal
	orders []order.Event // that create and send the orders
	fills  []order.Event
	whose  map[string]string // by order
}

func newShared(seed uint64) *shared {
	s := &shared{random: rand.New(rand.NewPCG(seed, 3)), held: make(map[string]decimal.Decimal), whose: make(map[string]string)}
	for n := range 2 + s.random.IntN(14) {
		s.order(fmt.Sprint("o", n))
	}
	return s
}

// order draws an order whose fills keep its part on the long side. Some entries pay their fee in what they buy.
func (s *shared) order(id string) {
	owner := []string{"", "d1", "d2", "d3"}[s.random.IntN(4)]
	side, quantity := order.Buy, decimal.NewFromInt(int64(1+s.random.IntN(9)))
	if held := s.held[owner]; held.GreaterThan(dec("1")) && s.random.IntN(2) == 0 {
		side, quantity = order.Sell, decimal.Min(held, quantity).Truncate(0)
	}
	g := origin(id, side, quantity.String())
	g.Deployment, s.whose[id] = owner, owner
	s.orders = append(s.orders, created(g), event(id, order.KindSent))
	for left := quantity; left.IsPositive(); {
		part := decimal.Min(left, decimal.New(int64(5+s.random.IntN(60)), -1))
		f := trade(g, len(s.fills), part.String(), strconv.Itoa(90+s.random.IntN(20)))
		if side == order.Buy && s.random.IntN(3) == 0 {
			f.FeeAsset, f.Base, f.Fee = "BTC", "BTC", part.Shift(-3)
			s.held[owner] = s.held[owner].Sub(f.Fee)
		}
		s.fills, left = append(s.fills, filled(f)), left.Sub(part)
		s.held[owner] = s.held[owner].Add(part.Mul(decimal.NewFromInt(side.Sign())))
	}
}

// alone returns the events of one owner.
func (s *shared) alone(owner string, events []order.Event) []order.Event {
	var own []order.Event
	for _, e := range events {
		if s.whose[e.OrderID] == owner {
			own = append(own, e)
		}
	}
	return own
}

// TestBooks_AreTheAccount holds over random fills, reported in any order, that every book is what the orders of its
// deployment would make alone, to the last digit, that books and the rest are the account, and that snapshots and
// forgotten orders change nothing.
func TestBooks_AreTheAccount(t *testing.T) {
	t.Parallel()
	for n := range uint64(longtest.Pick(300, 100_000)) {
		s := newShared(longtest.Seed()<<20 + n)
		late := append([]order.Event(nil), s.fills...)
		s.random.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
		b := book(t, s.orders...)
		for i, e := range late {
			if err := b.Apply(e); err != nil {
				t.Fatal(err)
			}
			if i%5 == 4 {
				b = again(t, b)
			}
		}
		b.Evict(second(1_000_000), 0, 0)
		sum := dec("0")
		for owner, held := range s.held {
			if got := b.Part(symbol("BTCUSDT"), owner); !got.Equal(held) {
				t.Fatalf("seed %d: %q holds %v, want %v", n, owner, got, held)
			}
			sum = sum.Add(held)
			if owner == "" {
				continue
			}
			alone := book(t, append(s.alone(owner, s.orders), s.alone(owner, s.fills)...)...)
			of := b.Of(owner)
			if diff := cmp.Diff(alone.Position(symbol("BTCUSDT")), of.Position(symbol("BTCUSDT"))); diff != "" {
				t.Fatalf("seed %d: the book of %s is not its own: %s", n, owner, diff)
			}
			if diff := cmp.Diff(alone.Trades(), of.Trades, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d: the trades of %s: %s", n, owner, diff)
			}
		}
		shares := dec("0")
		for _, one := range b.Shares(symbol("BTCUSDT")) {
			shares = shares.Add(one.Quantity)
		}
		if all := b.Position(symbol("BTCUSDT")).Quantity; !all.Equal(sum) || !all.Equal(shares) {
			t.Fatalf("seed %d: the account holds %v, its parts %v and %v", n, all, sum, shares)
		}
	}
}

// again returns the book of a snapshot.
func again(t *testing.T, b *order.Book) *order.Book {
	t.Helper()
	read, err := order.ReadSnapshot("me", snapshot(t, b))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// deployed returns the origin of an order of a deployment.
func deployed(id, deployment string, side order.Side, quantity string) order.Origin {
	g := origin(id, side, quantity)
	g.Deployment = deployment
	return g
}

// TestBooks_Forced holds that what the venue closes by itself closes the book that holds it, whenever its entry is
// reported, and never turns it round.
func TestBooks_Forced(t *testing.T) {
	t.Parallel()
	entry, end := deployed("e", "d1", order.Buy, "2"), origin("x", order.Sell, "3")
	end.External = true
	closed := trade(end, 5, "3", "80")
	closed.Cause = order.ByLiquidation
	opening := []order.Event{created(entry), event("e", order.KindSent), created(end)}
	fills := []order.Event{filled(trade(entry, 2, "2", "100")), filled(closed)}
	first, late := book(t, append(opening, fills...)...), book(t, append(opening, fills[1], fills[0])...)
	for name, b := range map[string]*order.Book{"in order": first, "the entry late": late, "a snapshot": again(t, late)} {
		of := b.Of("d1")
		if p := of.Position(symbol("BTCUSDT")); !p.Quantity.IsZero() || !p.Realised.Equal(dec("-40")) || len(of.Trades) != 1 || of.Trades[0].Reason != order.ByLiquidation {
			t.Errorf("%s: the book is %+v", name, of)
		}
		if rest := b.Part(symbol("BTCUSDT"), ""); !rest.Equal(dec("-1")) {
			t.Errorf("%s: the rest is %v", name, rest)
		}
	}
}

// TestBooks_Funding holds that a book that holds a perpetual future bears its funding, and another does not.
func TestBooks_Funding(t *testing.T) {
	t.Parallel()
	entry, before := deployed("e", "d1", order.Buy, "2"), deployed("b", "d2", order.Buy, "1")
	exit := deployed("c", "d2", order.Sell, "1")
	b := book(t, created(before), event("b", order.KindSent), filled(trade(before, 1, "1", "100")), created(exit), event("c", order.KindSent), filled(trade(exit, 2, "1", "101")),
		created(entry), event("e", order.KindSent), filled(trade(entry, 3, "2", "100")),
		order.Event{Kind: order.KindFunded, Funding: &order.Funding{Symbol: symbol("BTCUSDT"), At: second(9), Amount: dec("0.5")}})
	if got := b.Of("d1").Position(symbol("BTCUSDT")); !got.Funding.Equal(dec("0.5")) {
		t.Errorf("the one that held it: %+v", got)
	}
	if net, _ := b.Of("d2").Position(symbol("BTCUSDT")).Net("USDT"); !net.Equal(dec("0.98")) {
		t.Errorf("the one that did not earned %v", net)
	}
	if net, other := b.Of("d1").Position(symbol("BTCUSDT")).Net("USDT"); !net.Equal(dec("-0.51")) || len(other) != 0 {
		t.Errorf("it earned %v %v", net, other)
	}
}

// TestBooks_Lines holds that what one part of a position closes leaves the lines of the others.
func TestBooks_Lines(t *testing.T) {
	t.Parallel()
	w := &planWorld{Book: order.NewBook("me"), t: t}
	s := symbol("BTCUSDT")
	for i, owner := range []string{"d1", "", "d2"} {
		g := deployed(fmt.Sprint("e", i), owner, order.Buy, "2")
		g.Role, g.Group, g.Protect = order.Entry, order.Group{Name: g.ID}, order.Protection{StopLoss: dec("90")}
		lines := append(w.Lines(s), order.Line{ID: g.ID, Side: order.Buy, Protect: g.Protect, By: g.ID, Deployment: owner})
		w.apply(created(g), event(g.ID, order.KindSent), order.Planned(s, lines), filled(trade(g, i+1, "2", "100")))
	}
	want := func(want string) {
		t.Helper()
		if got := shape(again(t, w.Book).Lines(s)); got != want || shape(w.Lines(s)) != want {
			t.Errorf("the lines are %q and %q, want %q", shape(w.Lines(s)), got, want)
		}
	}
	sell := func(id, owner, quantity string, n int) {
		g := deployed(id, owner, order.Sell, quantity)
		g.Role, g.ReduceOnly = order.Exit, true
		w.apply(created(g), event(id, order.KindSent), filled(trade(g, n, quantity, "101")))
	}
	if ids := w.Shortened(s, "", "d2", order.Buy, dec("1")); len(ids) != 1 || ids[0] != "e2" {
		t.Errorf("an exit of d2 shortens %v", ids)
	}
	sell("x1", "", "1", 11)
	want("e0 2, e1 1, e2 2")
	sell("x2", "d2", "1", 12)
	want("e0 2, e1 1, e2 1")
	bought := origin("m", order.Buy, "3")
	w.apply(created(bought), event("m", order.KindSent), filled(trade(bought, 13, "3", "100")))
	if bare := w.Bare(s, ""); !bare.Own.Equal(dec("3")) || !w.Bare(s, "d1").Own.IsZero() || !w.Bare(s, "d1").Others.Equal(dec("3")) {
		t.Errorf("no line is for %+v", bare)
	}
	outside := origin("y", order.Sell, "5")
	outside.External = true
	w.apply(created(outside), filled(trade(outside, 14, "5", "100")))
	want("e0 1, e2 1") // what no deployment held went first
	w.apply(order.Event{Kind: order.KindAssigned, At: second(20), Assignment: &order.Assignment{Deployment: "d1", Symbol: s, Quantity: dec("-1"), Price: dec("100")}})
	if all := w.Shares(s); len(all) != 2 || !all[0].Quantity.Equal(dec("1")) || !all[1].Quantity.Equal(dec("1")) {
		t.Errorf("they hold %+v", all)
	}
	w.apply(order.Event{Kind: order.KindAssigned, At: second(21), Assignment: &order.Assignment{Deployment: "d2", Released: true}})
	want("e0 1, e2 1")
	if of := w.Of("d2"); !of.Released || !of.Position(s).Quantity.IsZero() || !w.Part(s, "").Equal(dec("1")) || w.Lines(s)[1].Deployment != "" {
		t.Errorf("released it is %+v, lines %+v", of, w.Lines(s))
	}
	sell("x3", "d2", "1", 22)
	if got := w.Of("d2").Position(s).Quantity; !got.IsZero() {
		t.Errorf("an order of a released book leaves %v in it", got)
	}
}

// TestBooks_Bounds holds that old books that hold nothing are forgotten, and no others.
func TestBooks_Bounds(t *testing.T) {
	t.Parallel()
	b := order.NewBook("me")
	for n := range 150 {
		g, x := deployed(fmt.Sprint("e", n), fmt.Sprintf("d%03d", n), order.Buy, "1"), deployed(fmt.Sprint("x", n), fmt.Sprintf("d%03d", n), order.Sell, "1")
		events := []order.Event{created(g), event(g.ID, order.KindSent), filled(trade(g, 2*n, "1", "100"))}
		if n != 3 {
			events = append(events, created(x), event(x.ID, order.KindSent), filled(trade(x, 2*n+1, "1", "100")))
		}
		for _, e := range events {
			if err := b.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	ids := b.Deployments()
	if len(ids) != 100 || ids[0] != "d003" || ids[1] != "d051" {
		t.Errorf("%d books are kept: %v", len(ids), ids[:2])
	}
}

func TestIsDeploymentKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		"s1-0123456789abcdef0123456789abcdef01234567": true, "s1-0123456789abcdef0123456789abcdef0123456": false,
		"s1-0123456789ABCDEF0123456789abcdef01234567": false, "": false, "buy-1": false,
	} {
		if order.IsDeploymentKey(key) != want {
			t.Errorf("%q: %v", key, !want)
		}
	}
}

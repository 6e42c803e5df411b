package paper_test

import (
	gocmp "cmp"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/data/provider"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// move is one thing that happens in a world. Its numbers choose among few prices and
// quantities, so that orders meet.
type move struct{ Kind, A, B, C, D int }

func drawMoves() *rapid.Generator[[]move] {
	n := rapid.IntRange(0, 1<<20)
	one := rapid.Custom(func(rt *rapid.T) move {
		return move{rapid.IntRange(0, 15).Draw(rt, "kind"), n.Draw(rt, "a"), n.Draw(rt, "b"), n.Draw(rt, "c"), n.Draw(rt, "d")}
	})
	return rapid.SliceOfN(one, 1, 60)
}

// world is an account, its prices and a clock, without anything else: the same moves give the
// same world. Beside it stand the orders as a desk knows them from the reports.
type world struct {
	t       *rapid.T
	b       *paper.Broker
	journal *papertest.Journal
	market  *papertest.Market
	now     time.Time
	bar     market.Bar
	n       int
	desk    map[string]order.Order
	placed  map[string]decimal.Decimal // by id: the quantity that was asked for
	reports func() []order.Report
}

func newWorld(rt *rapid.T) *world {
	w := &world{
		t: rt, journal: &papertest.Journal{}, market: papertest.NewMarket(papertest.BTCUSDT()), now: time.Unix(1_800_000_000, 0),
		bar: market.Bar{T: 1_800_000_000, O: 50000, H: 50000, L: 50000, C: 50000, V: 1}, desk: make(map[string]order.Order), placed: make(map[string]decimal.Decimal),
	}
	w.b = paper.New(paper.Config{
		Journal: w.journal, Market: w.market, Rates: paper.Usual(), Now: func() time.Time { return w.now }, Log: slog.New(slog.DiscardHandler),
		Cash: map[string]decimal.Decimal{"USDT": dec("100000")},
	})
	if err := w.b.Load(rt.Context()); err != nil {
		rt.Fatal(err)
	}
	w.reports = w.b.Tap()
	return w
}

// level returns one of a few prices.
func level(n int) decimal.Decimal { return decimal.NewFromInt(int64(48_000 + n%41*100)) }

func quantity(n int) decimal.Decimal {
	return dec([]string{"0.1", "0.3", "0.33333", "1", "1.5"}[n%5])
}

// request returns a request that may be taken or not.
func request(m move) order.Request {
	r := order.Request{Symbol: btc(), Side: order.Buy, Type: order.Market, Quantity: quantity(m.D)}
	if m.A%3 > 0 {
		r.Type, r.Price = order.Limit, level(m.B)
	}
	switch m.Kind {
	case 0, 1, 2: // an entry with legs
		r.Protect = order.Protection{StopLoss: level(m.C), TakeProfit: level(m.A)}
		switch m.C % 7 {
		case 0:
			r.Protect.TakeProfit = decimal.Zero
		case 1:
			r.Protect.StopLoss, r.Protect.TrailPercent = decimal.Zero, dec("0.7")
		case 2:
			r.Protect.StopLossLimit = level(m.D)
		case 3:
			r.StopPrice = level(m.D)
		}
	case 3, 4: // a pair
		r.Side, r.ReduceOnly, r.Protect = order.Sell, true, order.Protection{StopLoss: level(m.C % 20), TakeProfit: level(20 + m.A%21)}
		if m.C%5 == 0 {
			r.Protect.StopLoss, r.Protect.TrailPercent = decimal.Zero, dec("0.5")
		}
	case 5: // a stop
		r.Side, r.ReduceOnly, r.Protect = order.Sell, true, order.Protection{StopLoss: level(m.C)}
	case 6: // a trail
		r.Side, r.ReduceOnly, r.Protect = order.Sell, true, order.Protection{TrailPercent: dec("0.3")}
	default:
		r.Side = []order.Side{order.Buy, order.Sell}[m.C%2]
		if m.B%3 == 0 {
			r.StopPrice = level(m.C)
		}
	}
	if m.Kind > 4 {
		r.TimeInForce = []order.TimeInForce{0, 0, order.GTC, order.IOC, order.FOK}[m.B%5]
	}
	return r
}

// do lets one thing happen.
func (w *world) do(m move) {
	w.now = w.now.Add(time.Second)
	switch m.Kind {
	case 9:
		if open, _ := w.b.Open(w.t.Context()); len(open) > 0 {
			if _, err := w.b.Cancel(w.t.Context(), open[m.A%len(open)].Handle()); err != nil {
				w.t.Fatal(err)
			}
		}
	case 10:
		w.restart()
	case 11, 12, 13, 14, 15:
		w.trade(m)
	default:
		w.place(request(m))
	}
	w.hear()
	w.check()
}

// trade moves the price.
func (w *world) trade(m move) {
	switch m.Kind {
	case 11, 12: // a bar of its own
		w.now = w.now.Add(time.Minute)
		o, c := level(m.A), level(m.B)
		high, low := decimal.Max(o, c, level(m.C)), decimal.Min(o, c, level(m.D))
		w.bar = market.Bar{T: w.now.Unix() / 60 * 60, O: o.InexactFloat64(), H: high.InexactFloat64(), L: low.InexactFloat64(), C: c.InexactFloat64(), V: volume(m.A)}
		w.observe(provider.Closed)
	default: // the bar grows
		c := level(m.A).InexactFloat64()
		w.bar.H, w.bar.L, w.bar.C, w.bar.V = max(w.bar.H, c), min(w.bar.L, c), c, w.bar.V+volume(m.B)
		if m.C%4 == 0 {
			w.bar.H = max(w.bar.H, level(m.D).InexactFloat64())
		}
		w.observe(provider.Forming)
	}
}

func volume(n int) float64 { return []float64{0, 0.05, 0.25, 1, 9}[n%5] }

func (w *world) observe(kind provider.EventKind) {
	w.b.Observe(provider.Event{
		Sub: provider.Sub{Symbol: btc(), Interval: market.Minute1}, Kind: kind, Bar: w.bar, Price: w.bar.C, At: w.now.Add(time.Millisecond),
	}, provider.Clock{})
}

// quote lets the market have the last price.
func (w *world) quote() {
	w.market.Set(btc(), order.Quote{Last: decimal.NewFromFloat(w.bar.C), At: w.now})
}

// place sends a request. The desk learns of the orders before the venue does.
func (w *world) place(r order.Request) {
	w.quote()
	w.n++
	head := r.Spec("o"+strconv.Itoa(w.n), "")
	orders := []order.Spec{head}
	for i, leg := range head.Legs() {
		leg.ID = fmt.Sprintf("o%d.%d", w.n, i)
		orders = append(orders, leg)
	}
	for _, o := range orders {
		w.desk[o.ID] = w.apply(w.apply(order.Order{}, order.Event{Kind: order.KindCreated, OrderID: o.ID, Origin: &order.Origin{Spec: o}}), order.Event{Kind: order.KindSent, OrderID: o.ID})
	}
	var err error
	if len(orders) == 1 {
		_, err = w.b.Submit(w.t.Context(), head)
	} else {
		_, err = w.b.SubmitGroup(w.t.Context(), orders)
	}
	for _, o := range orders {
		if err != nil {
			delete(w.desk, o.ID)
		} else {
			w.placed[o.ID] = o.Quantity
		}
	}
}

func (w *world) apply(o order.Order, e order.Event) order.Order {
	next, err := order.Apply(o, e)
	if err != nil {
		w.t.Fatal(err)
	}
	return next
}

// hear applies the reports to the desk's orders.
func (w *world) hear() {
	for _, r := range w.reports() {
		o := w.desk[r.ID]
		for _, e := range order.FromReport(o, r) {
			o = w.apply(o, e)
		}
		w.desk[r.ID] = o
	}
}

// book is all that the account says.
func (w *world) book() []any {
	holdings, errH := w.b.Holdings(w.t.Context())
	fills, _, errF := w.b.Fills(w.t.Context(), btc(), "")
	open, errO := w.b.Open(w.t.Context())
	if errH != nil || errF != nil || errO != nil {
		w.t.Fatal(errH, errF, errO)
	}
	all := w.b.Taken()
	slices.SortFunc(all, func(a, b order.Report) int { return gocmp.Compare(a.ID, b.ID) })
	return []any{holdings, fills, open, all}
}

// restart opens the account from its journal: the same book.
func (w *world) restart() {
	before := w.book()
	again, err := w.b.Again(w.t.Context(), w.journal)
	if err != nil {
		w.t.Fatal(err)
	}
	w.b, w.reports = again, again.Tap()
	if diff := cmp.Diff(before, w.book(), cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatal("after a restart", diff)
	}
}

// check holds what is true of every account.
func (w *world) check() {
	holdings, err := w.b.Holdings(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range holdings {
		if h.Quantity.IsNegative() || h.Available.IsNegative() || h.Available.GreaterThan(h.Quantity) {
			w.t.Fatalf("there are %s of %s, and %s available", h.Quantity, h.Asset, h.Available)
		}
	}
	groups := make(map[string][]order.Report)
	for _, r := range w.b.Taken() {
		o := w.desk[r.ID]
		if o.Status != r.Status || !o.Filled.Equal(r.Filled) || o.Doubtful() || o.MissingFills() || !o.Status.Final() && !o.Quantity.Equal(r.Quantity) || o.Triggered.IsZero() != r.Triggered.IsZero() {
			w.t.Fatalf("the desk has %s as %v %s/%s %q, the account %v %s/%s", r.ID, o.Status, o.Filled, o.Quantity, o.Doubt, r.Status, r.Filled, r.Quantity)
		}
		if !r.Status.Final() && !r.Filled.LessThan(r.Quantity) || r.Filled.GreaterThan(r.Quantity) {
			w.t.Fatalf("%s is %v, and %s of %s are filled", r.ID, r.Status, r.Filled, r.Quantity)
		}
		if r.Group.Name != "" {
			groups[r.Group.Name] = append(groups[r.Group.Name], r)
		}
	}
	for name, orders := range groups {
		w.checkGroup(name, orders)
	}
}

// checkGroup holds that exits of a group close what it opened and no more, and that those
// which work are over all that is left.
func (w *world) checkGroup(name string, orders []order.Report) {
	brought, closed, entryOpen := w.placed[name], decimal.Zero, false
	for _, r := range orders {
		if r.Role == order.Entry {
			brought, entryOpen = r.Filled, !r.Status.Final()
		} else {
			closed = closed.Add(r.Filled)
		}
	}
	if closed.GreaterThan(brought) {
		w.t.Fatalf("group %s brought %s and closed %s", name, brought, closed)
	}
	for _, r := range orders {
		switch {
		case r.Role == order.Entry || r.Status.Final():
		case r.Status == order.Held && (!brought.IsZero() || !entryOpen):
			w.t.Fatalf("%s waits for an entry that has %s filled", r.ID, brought)
		case r.Status != order.Held && !r.Quantity.Sub(r.Filled).Equal(brought.Sub(closed)):
			w.t.Fatalf("%s is over %s, and %s of the position are left", r.ID, r.Quantity.Sub(r.Filled), brought.Sub(closed))
		}
	}
}

// TestBroker_RandomWorlds plays random orders, prices, cancels and restarts: nothing is ever
// negative or reserved twice, groups close what they opened, the desk's orders follow from
// the reports, a restart changes nothing, and the same moves give the same world.
func TestBroker_RandomWorlds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		moves := drawMoves().Draw(rt, "moves")
		play := func() []any {
			w := newWorld(rt)
			if len(moves)%2 == 0 {
				w.b.SnapshotEvery(5)
			}
			for _, m := range moves {
				w.do(m)
			}
			w.restart()
			return w.book()
		}
		if diff := cmp.Diff(play(), play(), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatal("played again", diff)
		}
	})
}

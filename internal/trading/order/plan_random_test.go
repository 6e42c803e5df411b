package order_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
)

// planWorld is a book whose orders trade in one symbol, with the trades as they happened, of which some are
// reported late.
type planWorld struct {
	*order.Book
	t      *testing.T
	random *rand.Rand
	log    []string
	trades int
	late   []order.Event
	held   decimal.Decimal // by the trades that happened
	truth  []order.Line    // by the trades in the order in which they happened
	orders []*planOrder
}

// planOrder is an order as it happened.
type planOrder struct {
	order.Origin
	left decimal.Decimal
}

// TestLines_CoverWhatEntriesBrought draws entries with a stop, their legs, exits and fills that are
// reported in another order than they happened, or entries of both sides. Once all is known, every unit
// that is held has a line, and lines are never for more than is held.
func TestLines_CoverWhatEntriesBrought(t *testing.T) {
	t.Parallel()
	for n := range uint64(longtest.Pick(2000, 100_000)) {
		w := &planWorld{Book: order.NewBook("me"), t: t, random: rand.New(rand.NewPCG(longtest.Seed()<<20+n, 7))}
		bothSides := n%2 == 1
		for range 3 + w.random.IntN(10) {
			w.step(bothSides)
			if w.random.IntN(8) == 0 {
				w.restart()
			}
		}
		w.report(len(w.late))
		w.finish()
		lines, held := w.Lines(symbol("BTCUSDT")), w.Position(symbol("BTCUSDT")).Quantity
		sum := decimal.Zero
		for _, l := range lines {
			sum = sum.Add(l.Quantity)
		}
		if !held.Equal(w.held) || !sum.Equal(held.Abs()) || bothSides && shape(lines) != shape(w.truth) {
			t.Fatalf("seed %d: %v is held, want %v, lines are for %v: %s, want %s\n%v", n, held, w.held, sum, shape(lines), shape(w.truth), w.log)
		}
	}
}

// shape writes the lines that are for something.
func shape(lines []order.Line) string {
	var all []string
	for _, l := range lines {
		if l.Quantity.IsPositive() {
			all = append(all, l.ID+" "+l.Quantity.String())
		}
	}
	return strings.Join(all, ", ")
}

func (w *planWorld) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...)+"\n")
}

func (w *planWorld) apply(events ...order.Event) {
	w.t.Helper()
	for _, e := range events {
		if err := w.Apply(e); err != nil {
			w.t.Fatalf("%v of %s: %v\n%v", e.Kind, e.OrderID, err, w.log)
		}
		if held := w.Position(symbol("BTCUSDT")).Quantity; true {
			sum := decimal.Zero
			for _, l := range w.Lines(symbol("BTCUSDT")) {
				sum = sum.Add(l.Quantity)
			}
			if sum.GreaterThan(held.Abs()) {
				w.t.Fatalf("lines are for %v, %v is held\n%v", sum, held, w.log)
			}
		}
	}
}

// step lets one thing happen.
func (w *planWorld) step(bothSides bool) {
	switch w.random.IntN(6) {
	case 0, 1:
		side := order.Buy
		if bothSides && w.random.IntN(3) == 0 {
			side = order.Sell
		}
		w.enter(side)
	case 2, 3, 4:
		if len(w.orders) > 0 {
			w.trade(w.orders[w.random.IntN(len(w.orders))])
		}
	case 5:
		w.exit()
	}
	if bothSides { // reported late, what an exit closes would be closed by an entry of the other side
		w.report(len(w.late))
		return
	}
	w.report(w.random.IntN(len(w.late) + 1))
}

// restart goes on with the book of a snapshot, which has the same plan.
func (w *planWorld) restart() {
	w.t.Helper()
	data, err := w.Snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	again, err := order.ReadSnapshot("me", data)
	if err != nil {
		w.t.Fatal(err)
	}
	s := symbol("BTCUSDT")
	if got, want := shape(again.Lines(s)), shape(w.Lines(s)); got != want || again.HasPlan(s) != w.HasPlan(s) || shape(again.Due(s)) != shape(w.Due(s)) {
		w.t.Fatalf("after a snapshot the lines are %s, and were %s\n%v", got, want, w.log)
	}
	w.note("restart")
	w.Book = again
}

// enter places an entry with a stop.
func (w *planWorld) enter(side order.Side) {
	id := "e" + strconv.Itoa(len(w.orders))
	g := origin(id, side, strconv.Itoa(1+w.random.IntN(5)))
	g.Role, g.Group, g.Protect = order.Entry, order.Group{Name: id}, order.Protection{StopLoss: dec("90")}
	leg := origin("s"+id, side.Opposite(), g.Quantity.String())
	leg.Role, leg.Group, leg.Parent, leg.ReduceOnly, leg.StopPrice, leg.Type, leg.Price = order.StopLoss, order.Group{Name: id, Leg: true}, id, true, dec("90"), order.Market, decimal.Zero
	w.note("entry %s %v %v", id, side, g.Quantity)
	lines := append(w.Lines(g.Symbol), order.Line{ID: id, Side: side, Protect: g.Protect, By: id})
	w.apply(created(g), event(id, order.KindSent), created(leg), event(leg.ID, order.KindSent), order.Planned(g.Symbol, lines), event(id, order.KindAccepted), event(leg.ID, order.KindAccepted))
	w.orders = append(w.orders, &planOrder{g, g.Quantity}, &planOrder{leg, g.Quantity})
	w.truth = append(w.truth, order.Line{ID: id, Side: side})
}

// exit closes a part of what is held, of all lines or of one.
func (w *planWorld) exit() {
	held := w.Position(symbol("BTCUSDT")).Quantity
	if !held.Equal(w.held) || held.IsZero() {
		return
	}
	id, side := "x"+strconv.Itoa(len(w.orders)), order.Sell
	if held.IsNegative() {
		side = order.Buy
	}
	g := origin(id, side, strconv.Itoa(1+w.random.IntN(int(held.Abs().IntPart()))))
	g.Role, g.ReduceOnly = order.Exit, true
	w.note("exit %s %v", id, g.Quantity)
	w.apply(created(g), event(id, order.KindSent), event(id, order.KindAccepted))
	x := &planOrder{g, g.Quantity}
	w.orders = append(w.orders, x)
	w.trade(x)
}

// trade lets an order trade one unit or more, as far as there is something to trade: an entry brings
// it, a stop closes what its entry brought.
func (w *planWorld) trade(o *planOrder) {
	most := o.left
	switch o.Role {
	case order.StopLoss:
		most = decimal.Min(most, w.truth[w.lineOf(o.Parent)].Quantity)
	case order.Exit:
		most = decimal.Min(most, decimal.Max(w.held.Mul(decimal.NewFromInt(-o.Side.Sign())), decimal.Zero))
	default:
	}
	if !most.IsPositive() {
		return
	}
	quantity := decimal.NewFromInt(1 + w.random.Int64N(most.IntPart()))
	o.left = o.left.Sub(quantity)
	w.trades++
	w.follow(o, quantity)
	w.held = w.held.Add(quantity.Mul(decimal.NewFromInt(o.Side.Sign())))
	w.note("%s trades %v, %v is held", o.ID, quantity, w.held)
	w.late = append(w.late, filled(trade(o.Origin, w.trades, quantity.String(), "100")))
}

// follow changes the true lines by a trade: a stop closes its own line, anything else the oldest of the other
// side, and what an entry brings beyond that is for its line.
func (w *planWorld) follow(o *planOrder, quantity decimal.Decimal) {
	take := func(l *order.Line) {
		part := decimal.Min(l.Quantity, quantity)
		l.Quantity, quantity = l.Quantity.Sub(part), quantity.Sub(part)
	}
	if o.Role == order.StopLoss {
		take(&w.truth[w.lineOf(o.Parent)])
		return
	}
	for i := range w.truth {
		if w.truth[i].Side != o.Side {
			take(&w.truth[i])
		}
	}
	if o.Role == order.Entry {
		l := &w.truth[w.lineOf(o.ID)]
		l.Quantity = l.Quantity.Add(quantity)
	}
}

func (w *planWorld) lineOf(id string) int {
	return slices.IndexFunc(w.truth, func(l order.Line) bool { return l.ID == id })
}

// report reports some of the trades that are not known, in any order.
func (w *planWorld) report(n int) {
	w.random.Shuffle(len(w.late), func(i, j int) { w.late[i], w.late[j] = w.late[j], w.late[i] })
	for _, e := range w.late[:n] {
		w.note("report of %s, %v", e.OrderID, e.Fill.Quantity)
		w.apply(e)
	}
	w.late = slices.Clone(w.late[n:])
}

// finish ends the orders that are open.
func (w *planWorld) finish() {
	for _, o := range w.Open() {
		w.apply(event(o.ID, order.KindCancelRequested), event(o.ID, order.KindCanceled))
	}
}

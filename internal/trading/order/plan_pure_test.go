package order_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
)

// drawn is a random plan of a long position.
type drawn struct {
	random *rand.Rand
	lines  []order.Line
	bare   decimal.Decimal
}

// drawPlans calls a test with random plans.
func drawPlans(t *testing.T, test func(t *testing.T, d *drawn)) {
	t.Helper()
	for n := range uint64(longtest.Pick(3000, 200_000)) {
		d := &drawn{random: rand.New(rand.NewPCG(longtest.Seed()<<20+n, 11)), lines: []order.Line{}}
		for i := range d.random.IntN(4) {
			d.lines = append(d.lines, order.Line{ID: fmt.Sprint("line", i), Side: order.Buy, Quantity: d.quantity(), Protect: d.protection(), By: "somebody"})
		}
		if d.random.IntN(2) == 0 {
			d.bare = d.quantity()
		}
		if test(t, d); t.Failed() {
			t.Fatalf("seed %d: lines %s, bare %v", n, linesText(d.lines), d.bare)
		}
	}
}

func (d *drawn) quantity() decimal.Decimal { return decimal.New(1+d.random.Int64N(9), -2) }

func (d *drawn) price() decimal.Decimal { return decimal.NewFromInt(40 + d.random.Int64N(20)) }

func (d *drawn) protection() (p order.Protection) {
	switch d.random.IntN(4) {
	case 0:
		p.TrailPercent = decimal.NewFromInt(1 + d.random.Int64N(3))
	case 1:
		p.TakeProfit = d.price()
	default:
		p.StopLoss = d.price()
	}
	if d.random.IntN(2) == 0 {
		p.TakeProfit = d.price()
	}
	return p
}

// any returns the ID of a line, or one that no line has.
func (d *drawn) any() string {
	if i := d.random.IntN(len(d.lines) + 1); i < len(d.lines) {
		return d.lines[i].ID
	}
	return "none"
}

func total(lines []order.Line, bare decimal.Decimal) decimal.Decimal {
	for _, l := range lines {
		bare = bare.Add(l.Quantity)
	}
	return bare
}

// find returns the line with an ID; its ID is empty if there is none.
func find(lines []order.Line, id string) order.Line {
	for _, l := range lines {
		if l.ID == id {
			return l
		}
	}
	return order.Line{}
}

// TestShorten_Random holds that lines lose what an exit closes beyond what no line is for, in the order of
// the rule, and that nothing else changes: the argument neither.
func TestShorten_Random(t *testing.T) {
	t.Parallel()
	drawPlans(t, func(t *testing.T, d *drawn) {
		t.Helper()
		named, quantity, was := d.any(), d.quantity(), linesText(d.lines)
		after := order.Shorten(d.lines, named, "", order.Buy, quantity, order.Uncovered{Own: d.bare})
		if linesText(d.lines) != was || len(after) != len(d.lines) {
			t.Errorf("the lines were %s, and are %s", was, linesText(d.lines))
		}
		left := quantity
		want := make(map[string]decimal.Decimal)
		for _, l := range d.lines {
			want[l.ID] = l.Quantity
		}
		use := func(id string) {
			part := decimal.Min(left, want[id])
			want[id], left = want[id].Sub(part), left.Sub(part)
		}
		use(named)
		left = left.Sub(decimal.Min(left, d.bare))
		for _, l := range d.lines {
			use(l.ID)
		}
		for i, l := range after {
			same := d.lines[i]
			same.Quantity = l.Quantity
			if !l.Quantity.Equal(want[l.ID]) || !reflect.DeepEqual(l, same) {
				t.Errorf("%v of %s closes %s to %v, want %v", quantity, named, l.ID, l.Quantity, want[l.ID])
			}
		}
		other := order.Shorten(d.lines, named, "", order.Sell, quantity, order.Uncovered{})
		if linesText(other) != was {
			t.Errorf("an exit of the other side leaves %s", linesText(other))
		}
	})
}

// TestRest_Random holds that an exit which waits becomes the target of the parts that it was to close: they
// keep their stops, no line becomes larger, and all of it is what it was.
func TestRest_Random(t *testing.T) {
	t.Parallel()
	drawPlans(t, func(t *testing.T, d *drawn) {
		t.Helper()
		g := origin("exit", order.Sell, d.quantity().String())
		g.Role, g.ReduceOnly, g.Price, g.Parent = order.Exit, true, dec("70"), d.any()
		o := sent(g)
		after := order.Rest(d.lines, o, "", order.Uncovered{Own: d.bare}, func(line string) string { return "rest of " + line })
		short := order.Shorten(d.lines, o.Line(), "", order.Buy, o.Quantity, order.Uncovered{Own: d.bare})
		if got, want := total(after, decimal.Zero), decimal.Min(total(d.lines, d.bare), total(d.lines, decimal.Zero).Add(decimal.Min(d.bare, o.Quantity))); got.GreaterThan(want) {
			t.Errorf("the lines are for %v, want %v at most", got, want)
		}
		targets := decimal.Zero
		for _, l := range after {
			from, rest := strings.CutPrefix(l.ID, "rest of ")
			if !rest {
				if was := find(short, l.ID); !reflect.DeepEqual(was, l) {
					t.Errorf("line %s is %+v, want %+v", l.ID, l, was)
				}
				continue
			}
			targets = targets.Add(l.Quantity)
			was := find(d.lines, from).Protect
			was.TakeProfit = o.Price
			if !reflect.DeepEqual(l.Protect, was) || !l.Quantity.IsPositive() || l.Side != order.Buy {
				t.Errorf("the part of %q is %+v, want %+v", from, l, was)
			}
		}
		if want := decimal.Min(o.Quantity, total(d.lines, d.bare)); !targets.Equal(want) {
			t.Errorf("targets are for %v, want %v", targets, want)
		}
	})
}

// TestChange_Random holds that a change keeps every price that it does not name and every quantity, that
// it concerns the quantity that it asks for, and that Undo takes it back, also after a part was closed.
func TestChange_Random(t *testing.T) {
	t.Parallel()
	applied := 0
	drawPlans(t, func(t *testing.T, d *drawn) {
		t.Helper()
		c := order.Change{ID: "new", Side: order.Buy, Quantity: d.quantity(), Protect: d.protection()}
		switch d.random.IntN(3) {
		case 0:
			c.Quantity = total(d.lines, d.bare)
		case 1:
			c.Line = d.any()
		}
		was := linesText(d.lines)
		after, concerned, ok := c.Apply(d.lines, d.bare)
		if linesText(d.lines) != was {
			t.Errorf("the lines were %s, and are %s", was, linesText(d.lines))
		}
		if !ok {
			return
		}
		applied++
		if got := total(after, decimal.Zero); got.GreaterThan(total(d.lines, d.bare)) || got.LessThan(total(d.lines, decimal.Zero)) {
			t.Errorf("the lines are for %v after %s", got, linesText(after))
		}
		for _, l := range after {
			d.keeps(t, c, l, concerned)
		}
		if got := linesText(c.Undo(after, d.lines, concerned)); got != was {
			t.Errorf("undone it is %s, and was %s", got, was)
		}
		closed := order.Shorten(after, "", "", order.Buy, d.quantity(), order.Uncovered{})
		undone := c.Undo(closed, d.lines, concerned)
		for _, l := range undone {
			if before := find(d.lines, l.ID); l.ID == "new" || !reflect.DeepEqual(before.Protect, l.Protect) || l.Quantity.GreaterThan(before.Quantity) {
				t.Errorf("undone after a sale, line %s is %+v, and was %+v", l.ID, l, before)
			}
		}
	})
	if applied < 500 {
		t.Errorf("%d changes were possible", applied)
	}
}

// keeps holds that a line has the prices that are named, if it is concerned, and its own.
func (d *drawn) keeps(t *testing.T, c order.Change, l order.Line, concerned []string) {
	t.Helper()
	before := find(d.lines, l.ID)
	if l.ID == "new" && len(concerned) == 2 && concerned[0] == "new" { // a part of another
		before = find(d.lines, concerned[1])
	}
	changed := l.By == "new"
	want := before.Protect
	if changed && c.Protect.HasStop() {
		want.StopLoss, want.TrailPercent = c.Protect.StopLoss, c.Protect.TrailPercent
	}
	if changed && c.Protect.TakeProfit.IsPositive() {
		want.TakeProfit = c.Protect.TakeProfit
	}
	if !reflect.DeepEqual(l.Protect, want) {
		t.Errorf("line %s asks for %+v, want %+v; concerned are %v", l.ID, l.Protect, want, concerned)
	}
	if !changed && !reflect.DeepEqual(l.Protect, before.Protect) {
		t.Errorf("line %s, which is not concerned, changes", l.ID)
	}
}

// TestDue_LeavesOutExits holds that lines are due for what exits on their way do not close, and that an
// exit which was not sent leaves them.
func TestDue_LeavesOutExits(t *testing.T) {
	t.Parallel()
	w := &planWorld{Book: order.NewBook("me"), t: t, random: rand.New(rand.NewPCG(1, 1))}
	for i, quantity := range []string{"2", "3"} {
		g := origin(fmt.Sprint("e", i), order.Buy, quantity)
		g.Role, g.Group, g.Protect = order.Entry, order.Group{Name: g.ID}, order.Protection{StopLoss: dec("90")}
		lines := append(w.Lines(g.Symbol), order.Line{ID: g.ID, Side: order.Buy, Protect: g.Protect, By: g.ID})
		w.apply(created(g), event(g.ID, order.KindSent), order.Planned(g.Symbol, lines), filled(trade(g, i+1, quantity, "100")))
	}
	s := symbol("BTCUSDT")
	due := func(want string) {
		t.Helper()
		if got := shape(w.Due(s)); got != want {
			t.Errorf("due is %q, want %q", got, want)
		}
		if got := shape(w.Lines(s)); got != "e0 2, e1 3" {
			t.Errorf("in force is %q", got)
		}
	}
	due("e0 2, e1 3")
	if got := strings.Join(w.Shortened(s, "", "", order.Buy, dec("3")), " "); got != "e0 e1" {
		t.Errorf("an exit of 3 would shorten %q", got)
	}
	x := origin("x", order.Sell, "3")
	x.Role, x.ReduceOnly = order.Exit, true
	w.apply(created(x), event("x", order.KindSent))
	due("e1 2")
	named := origin("y", order.Sell, "1")
	named.Role, named.ReduceOnly, named.Parent = order.Exit, true, "e1"
	w.apply(created(named), event("y", order.KindSent), event("y", order.KindLost))
	due("e1 1")
	w.apply(event("x", order.KindRejected))
	due("e0 2, e1 2")
	w.apply(event("y", order.KindGone))
	due("e0 2, e1 3")
}

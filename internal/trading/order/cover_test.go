package order_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// protect reads prices such as "stop 90 target 120".
func protect(words string) (p order.Protection) {
	all := strings.Fields(words)
	for i := 0; i+1 < len(all); i += 2 {
		*map[string]*decimal.Decimal{"stop": &p.StopLoss, "limit": &p.StopLossLimit, "trail": &p.TrailPercent, "target": &p.TakeProfit}[all[i]] = dec(all[i+1])
	}
	return p
}

// newPlanWorld returns an empty book.
func newPlanWorld(t *testing.T) *planWorld {
	t.Helper()
	return &planWorld{Book: order.NewBook("me"), t: t, random: rand.New(rand.NewPCG(1, 1))}
}

// entered places an entry with a line, and returns it.
func (w *planWorld) entered(id string, side order.Side, quantity, words string) order.Origin {
	w.t.Helper()
	g := origin(id, side, quantity)
	g.Role, g.Group, g.Protect = order.Entry, order.Group{Name: id}, protect(words)
	lines := append(w.Lines(g.Symbol), order.Line{ID: id, Side: side, Protect: g.Protect, By: id})
	w.apply(created(g), event(id, order.KindSent), order.Planned(g.Symbol, lines), event(id, order.KindAccepted))
	return g
}

// placed places an order that closes a part of a line, and returns it.
func (w *planWorld) placed(id, line, quantity, words string) order.Origin {
	w.t.Helper()
	g, p := origin(id, order.Sell, quantity), protect(words)
	g.Role, g.ReduceOnly, g.Parent = order.Exit, true, line
	switch {
	case p.HasStop():
		g.Role, g.StopPrice, g.Price, g.TrailPercent = order.StopLoss, p.StopLoss, p.StopLossLimit, p.TrailPercent
		if p.StopLossLimit.IsZero() {
			g.Type = order.Market
		}
	case p.TakeProfit.IsPositive():
		g.Role, g.Price = order.TakeProfit, p.TakeProfit
	}
	w.apply(created(g), event(id, order.KindSent), event(id, order.KindAccepted))
	return g
}

// fills reports a trade.
func (w *planWorld) fills(g order.Origin, quantity string) {
	w.t.Helper()
	w.trades++
	w.apply(filled(trade(g, w.trades, quantity, "100")))
}

// inForce holds which lines the book has.
func (w *planWorld) inForce(want string) {
	w.t.Helper()
	if got := shape(w.Lines(symbol("BTCUSDT"))); got != want {
		w.t.Errorf("the lines are %q, want %q", got, want)
	}
}

// TestCovers compares orders with the line that they are for.
func TestCovers(t *testing.T) {
	t.Parallel()
	type want struct{ has, lacks, over, wrong string }
	for name, c := range map[string]struct {
		line string
		legs []string // prices, each of a group of its own, over 5 units
		want
	}{
		"no order":                        {"stop 90", nil, want{"0", "5", "0", ""}},
		"its stop":                        {"stop 90", []string{"stop 90"}, want{"5", "0", "0", ""}},
		"a wider stop":                    {"stop 90", []string{"stop 89"}, want{"0", "5", "0", "a0"}},
		"a nearer stop":                   {"stop 90", []string{"stop 91"}, want{"0", "5", "0", "a0"}},
		"a stop with a limit":             {"stop 90", []string{"stop 90 limit 89"}, want{"0", "5", "0", "a0"}},
		"its stop with a limit":           {"stop 90 limit 89", []string{"stop 90 limit 89"}, want{"5", "0", "0", ""}},
		"a stop without its limit":        {"stop 90 limit 89", []string{"stop 90"}, want{"0", "5", "0", "a0"}},
		"its trail":                       {"trail 2", []string{"trail 2"}, want{"5", "0", "0", ""}},
		"another trail":                   {"trail 2", []string{"trail 3"}, want{"0", "5", "0", "a0"}},
		"a stop for a trail":              {"trail 2", []string{"stop 90"}, want{"0", "5", "0", "a0"}},
		"its target":                      {"target 120", []string{"target 120"}, want{"5", "0", "0", ""}},
		"a target for a stop":             {"stop 90", []string{"target 120"}, want{"0", "5", "0", "a0"}},
		"its pair":                        {"stop 90 target 120", []string{"stop 90 target 120"}, want{"5", "0", "0", ""}},
		"a pair with another target":      {"stop 90 target 120", []string{"stop 90 target 121"}, want{"5", "0", "0", "a0 b0"}},
		"a pair with another stop":        {"stop 90 target 120", []string{"stop 89 target 120"}, want{"0", "5", "0", "a0 b0"}},
		"a pair for a stop alone":         {"stop 90", []string{"stop 90 target 120"}, want{"5", "0", "0", "a0 b0"}},
		"a stop without its target":       {"stop 90 target 120", []string{"stop 90"}, want{"5", "0", "0", "a0"}},
		"two stops, the second too much":  {"stop 90", []string{"stop 90", "stop 90"}, want{"10", "0", "5", ""}},
		"two stops, the older wider":      {"stop 90", []string{"stop 80", "stop 90"}, want{"5", "0", "5", "a0"}},
		"a pair and a target that is off": {"stop 90 target 120", []string{"stop 90 target 120", "target 120"}, want{"5", "0", "0", "a1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPlanWorld(t)
			w.fills(w.entered("e", order.Buy, "5", c.line), "5")
			for i, words := range c.legs {
				w.group(i, words)
			}
			covers, orphans := w.Covers(symbol("BTCUSDT"), func(l order.Line) order.Protection { return l.Protect }, func(string) bool { return false })
			if len(covers) != 1 || len(orphans) > 0 {
				t.Fatalf("%d lines, orphans %v", len(covers), orphans)
			}
			var wrong []string
			for _, o := range covers[0].Wrong {
				wrong = append(wrong, o.ID)
			}
			got := want{covers[0].Has.String(), covers[0].Lacks.String(), covers[0].Over.String(), strings.Join(wrong, " ")}
			if got != c.want {
				t.Errorf("has, lacks, over, wrong are %q, want %q", got, c.want)
			}
		})
	}
}

// group places the orders of a line over 5 units, a stop a and a target b.
func (w *planWorld) group(n int, words string) {
	w.t.Helper()
	p := protect(words)
	group := order.Group{Name: fmt.Sprint("a", n)}
	if !p.HasStop() || p.TakeProfit.IsZero() {
		w.placed(group.Name, "e", "5", words)
		return
	}
	for _, g := range []order.Origin{origin(group.Name, order.Sell, "5"), origin(fmt.Sprint("b", n), order.Sell, "5")} {
		g.Role, g.ReduceOnly, g.Parent, g.Group = order.StopLoss, true, "e", group
		g.Type, g.Price, g.StopPrice, g.TrailPercent = order.Market, decimal.Zero, p.StopLoss, p.TrailPercent
		if g.ID != group.Name {
			g.Role, g.Type, g.Price, g.StopPrice, g.TrailPercent = order.TakeProfit, order.Limit, p.TakeProfit, decimal.Zero, decimal.Zero
		}
		w.apply(created(g), event(g.ID, order.KindSent), event(g.ID, order.KindAccepted))
	}
}

// TestCovers_LegsSizedBeforeTheFee holds that the legs of an entry may be larger than what is left of it by
// the fee, and no more.
func TestCovers_LegsSizedBeforeTheFee(t *testing.T) {
	t.Parallel()
	for quantity, over := range map[string]string{"5": "0", "6": "1"} {
		w := newPlanWorld(t)
		f := trade(w.entered("e", order.Buy, "5", "stop 90"), 1, "5", "100")
		f.Fee, f.FeeAsset = dec("0.01"), "BTC"
		w.apply(filled(f))
		w.placed("a", "e", quantity, "stop 90")
		covers, _ := w.Covers(symbol("BTCUSDT"), func(l order.Line) order.Protection { return l.Protect }, func(string) bool { return false })
		if got := covers[0].Over.String(); got != over {
			t.Errorf("a stop over %s of 4.99 is too large by %s, want %s", quantity, got, over)
		}
	}
}

// TestCovers_Orphans holds that an order which no line asks for is returned.
func TestCovers_Orphans(t *testing.T) {
	t.Parallel()
	w := newPlanWorld(t)
	w.fills(w.entered("e", order.Buy, "5", "stop 90"), "5")
	w.placed("a", "gone", "5", "stop 90")
	if _, orphans := w.Covers(symbol("BTCUSDT"), func(l order.Line) order.Protection { return l.Protect }, func(string) bool { return false }); len(orphans) != 1 || orphans[0].ID != "a" {
		t.Errorf("orphans are %v", orphans)
	}
}

// TestLines_FeeInBase holds that each line is for what its entry left after the fee.
func TestLines_FeeInBase(t *testing.T) {
	t.Parallel()
	w := newPlanWorld(t)
	for i, id := range []string{"e0", "e1"} {
		f := trade(w.entered(id, order.Buy, "2", "stop 90"), i+1, "2", "100")
		f.Fee, f.FeeAsset = dec("0.02"), "BTC"
		w.apply(filled(f))
	}
	w.inForce("e0 1.98, e1 1.98")
}

// TestLines_AStopReportedBeforeItsEntry holds that a stop closes only what its own entry brings, also if it
// is reported first, and that a plan which is recorded in between does not change that.
func TestLines_AStopReportedBeforeItsEntry(t *testing.T) {
	t.Parallel()
	w := newPlanWorld(t)
	w.fills(w.entered("e0", order.Buy, "2", "stop 90"), "2")
	e1 := w.entered("e1", order.Buy, "3", "stop 90")
	w.fills(w.placed("s1", "e1", "3", "stop 90"), "1")
	w.inForce("e0 1")
	w.entered("e2", order.Buy, "1", "stop 80")
	w.fills(e1, "1")
	w.inForce("e0 2")
	w.fills(w.bought("plain", "1"), "1")
	w.inForce("e0 2")
	w.fills(e1, "2")
	w.inForce("e0 2, e1 2")
}

// bought places a purchase without a line.
func (w *planWorld) bought(id, quantity string) order.Origin {
	w.t.Helper()
	g := origin(id, order.Buy, quantity)
	w.apply(created(g), event(id, order.KindSent), event(id, order.KindAccepted))
	return g
}

// TestLines_AnExitReportedLate holds that an entry has its line although an exit before it was reported
// after it, so that it seemed to close what the exit had closed.
func TestLines_AnExitReportedLate(t *testing.T) {
	t.Parallel()
	w := newPlanWorld(t)
	w.fills(w.entered("e0", order.Buy, "2", "stop 90"), "2")
	x := w.placed("x", "", "2", "")
	w.fills(w.entered("e1", order.Sell, "1", "stop 110"), "1")
	w.fills(x, "2")
	w.inForce("e1 1")
}

// TestLine_Level holds that a trail follows below a long and above a short position.
func TestLine_Level(t *testing.T) {
	t.Parallel()
	for side, want := range map[order.Side]string{order.Buy: "98", order.Sell: "102"} {
		l := order.Line{Side: side, Protect: protect("trail 2"), Best: dec("100")}
		if got := l.Level().String(); got != want {
			t.Errorf("the level of a trail of a %v is %s, want %s", side, got, want)
		}
	}
}

// TestLine_With holds that a call changes what it names, and that a trail goes on from its best price
// unless it is another trail.
func TestLine_With(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, call, want, best string }{
		{"trail 2", "target 120", "trail 2 target 120", "100"},
		{"trail 2", "trail 2 target 120", "trail 2 target 120", "100"},
		{"trail 2", "trail 3", "trail 3", "0"},
		{"trail 2 target 120", "stop 95", "stop 95 target 120", "0"},
		{"stop 90 target 120", "stop 95 limit 94", "stop 95 limit 94 target 120", "0"},
		{"stop 90 limit 89", "stop 95", "stop 95", "0"},
	} {
		l := order.Line{Side: order.Buy, Protect: protect(c.line), By: "before"}
		if l.Protect.TrailPercent.IsPositive() {
			l.Best = dec("100")
		}
		got := l.With(protect(c.call), "now")
		if !reflect.DeepEqual(got.Protect, protect(c.want)) || !got.Best.Equal(dec(c.best)) || got.By != "now" {
			t.Errorf("%s with %s is %+v, want %s, best %s", c.line, c.call, got, c.want, c.best)
		}
	}
}

// TestChange_UndoKeepsTheBestPrice holds that a trail whose change was refused goes on from its best price.
func TestChange_UndoKeepsTheBestPrice(t *testing.T) {
	t.Parallel()
	before := []order.Line{{ID: "e", Side: order.Buy, Quantity: dec("5"), Protect: protect("trail 2"), Best: dec("100"), By: "e"}}
	c := order.Change{ID: "c", Side: order.Buy, Quantity: dec("5"), Protect: protect("stop 99")}
	after, concerned, ok := c.Apply(before, decimal.Zero)
	if got := c.Undo(after, before, concerned); !ok || !reflect.DeepEqual(got, before) {
		t.Errorf("undone it is %+v, and was %+v", got, before)
	}
}

// TestChange_UndoKeepsALaterCancel holds that a target which was cancelled while a stop was being moved does
// not come back when that is taken back, and that a target which was being moved stays cancelled.
func TestChange_UndoKeepsALaterCancel(t *testing.T) {
	t.Parallel()
	for named, want := range map[string]string{"stop 95": "stop 90", "target 130": "stop 90"} {
		before := []order.Line{{ID: "e", Side: order.Buy, Quantity: dec("5"), Protect: protect("stop 90 target 120"), By: "e"}}
		c := order.Change{ID: "c", Side: order.Buy, Quantity: dec("5"), Protect: protect(named)}
		after, concerned, _ := c.Apply(before, decimal.Zero)
		after[0].Protect.TakeProfit, after[0].By = decimal.Zero, "cancel"
		got := c.Undo(after, before, concerned)
		if p := got[0].Protect; !p.StopLoss.Equal(protect(want).StopLoss) || !p.TakeProfit.IsZero() || got[0].By != "cancel" {
			t.Errorf("%s undone is %+v, want %s", named, got[0], want)
		}
	}
}

// TestChange_MeansTheLineOfItsQuantity holds that a quantity is for the line that has it, and not for one
// that has a little more, even if that has no stop.
func TestChange_MeansTheLineOfItsQuantity(t *testing.T) {
	t.Parallel()
	lines := []order.Line{
		{ID: "e0", Side: order.Buy, Quantity: dec("0.02271"), Protect: protect("stop 90"), By: "e0"},
		{ID: "e1", Side: order.Buy, Quantity: dec("0.02279"), Protect: protect("target 120"), By: "e1"},
	}
	c := order.Change{ID: "c", Side: order.Buy, Quantity: dec("0.02271"), Protect: protect("stop 95"), Step: dec("0.00001"), Least: dec("0.0001")}
	if _, concerned, ok := c.Apply(lines, decimal.Zero); !ok || len(concerned) != 1 || concerned[0] != "e0" {
		t.Errorf("it concerns %v", concerned)
	}
}

package simulate

import (
	"slices"
	"testing"
)

// A result is the fills of a case: bar and price of the entry, then of the exit; the
// exit is absent while the trade is open.
type result struct {
	inBar  int
	in     float64
	outBar int
	out    float64
}

// Two quiet bars come first; orders are placed at the close of the second, bar 1.
var quiet = []Bar{
	{Open: 100, High: 100.5, Low: 99.5, Close: 100},
	{Open: 100, High: 100.5, Low: 99.5, Close: 100},
}

func bar(o, h, l, c float64) Bar { return Bar{Open: o, High: h, Low: l, Close: c} }

// Orders against single bars, by the rules of TradingView's manual.
func TestBar_WorkedExamples(t *testing.T) {
	market := func(a *Account) { a.Enter(Request{ID: "L", Side: Long, Quantity: 1, Limit: nan(), Stop: nan()}) }
	enter := func(limit, stop float64) func(*Account) {
		return func(a *Account) { a.Enter(Request{ID: "L", Side: Long, Quantity: 1, Limit: limit, Stop: stop}) }
	}
	exit := func(limit, stop float64) func(*Account) {
		return func(a *Account) {
			x := NewExit("X", "L")
			x.Limit, x.Stop = limit, stop
			a.Exit(x)
		}
	}
	trail := func(a *Account) {
		x := NewExit("X", "L")
		x.TrailPrice, x.TrailOffset = 103, 200
		a.Exit(x)
	}
	none := nan()
	cases := []struct {
		name   string
		orders []func(*Account)
		bars   []Bar
		want   result
	}{
		{"nearer the high", []func(*Account){market, exit(105, 95)}, []Bar{bar(100, 106, 93, 100)}, result{2, 100, 2, 105}},
		{"nearer the low", []func(*Account){market, exit(105, 95)}, []Bar{bar(100, 107, 94, 100)}, result{2, 100, 2, 95}},
		{"tie, close up", []func(*Account){market, exit(105, 95)}, []Bar{bar(100, 106, 94, 103)}, result{2, 100, 2, 95}},
		{"tie, close down", []func(*Account){market, exit(105, 95)}, []Bar{bar(100, 106, 94, 97)}, result{2, 100, 2, 95}},
		{"gap below the stop", []func(*Account){market, exit(105, 95)}, []Bar{bar(100, 100, 100, 100), bar(93, 94, 92, 93)}, result{2, 100, 3, 93}},
		{"gap above the target", []func(*Account){market, exit(105, 95)}, []Bar{bar(100, 100, 100, 100), bar(107, 108, 106, 107)}, result{2, 100, 3, 107}},
		{"opens below its stop", []func(*Account){market, exit(105, 95)}, []Bar{bar(94, 96, 93, 95)}, result{2, 94, 2, 94}},
		{"stop entry reached", []func(*Account){enter(none, 102)}, []Bar{bar(101, 103, 100.5, 102.5)}, result{inBar: 2, in: 102}},
		{"stop entry gapped", []func(*Account){enter(none, 102)}, []Bar{bar(104, 105, 103, 104)}, result{inBar: 2, in: 104}},
		{"limit entry reached", []func(*Account){enter(98, none)}, []Bar{bar(100, 101, 97, 99)}, result{inBar: 2, in: 98}},
		{"limit entry gapped", []func(*Account){enter(98, none)}, []Bar{bar(96, 97, 95, 96)}, result{inBar: 2, in: 96}},
		{"limit entry touched", []func(*Account){enter(98, none)}, []Bar{bar(100, 101, 98, 99)}, result{inBar: 2, in: 98}},
		{"stop-limit, high first", []func(*Account){enter(101, 102)}, []Bar{bar(101.5, 102.4, 100.4, 100.8)}, result{inBar: 2, in: 101}},
		{
			"stop-limit, low first",
			[]func(*Account){enter(101, 102)},
			[]Bar{bar(101.5, 103, 100.4, 102.5), bar(100, 100.5, 99.5, 100)},
			result{inBar: 3, in: 100},
		},
		{
			"trailing stop, then a gap",
			[]func(*Account){market, trail},
			[]Bar{bar(100, 104, 100, 103.5), bar(101, 101.5, 100, 101)},
			result{2, 100, 3, 101},
		},
		{"limit and target, low first", []func(*Account){enter(98, none), exit(99, none)}, []Bar{bar(99.5, 99.8, 97, 99.2)}, result{2, 98, 2, 99}},
		{
			"limit and target, high first",
			[]func(*Account){enter(98, none), exit(99, none)},
			[]Bar{bar(99, 100, 97, 97.5), bar(100, 100.5, 99.5, 100)},
			result{2, 98, 3, 100},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := New(Config{Capital: 1e6, Tick: 0.01, Step: 1, PointValue: 1})
			if err != nil {
				t.Fatal(err)
			}
			for i, b := range slices.Concat(quiet, c.bars) {
				a.Bar(b)
				if i == 1 {
					for _, place := range c.orders {
						place(a)
					}
				}
				a.Computed()
			}
			if got := only(t, a); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// A stop that is placed together with a market entry of the other side reverses it: the
// entry fills first. One that is placed while flat and alone only closes.
func TestEnter_StopBesideAMarketOrder(t *testing.T) {
	a, err := New(Config{Capital: 1e6, Tick: 0.01, Step: 1, PointValue: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range quiet {
		a.Bar(b)
	}
	a.Enter(Request{ID: "L", Side: Long, Quantity: 1, Limit: nan(), Stop: nan()})
	a.Enter(Request{ID: "S", Side: Short, Quantity: 2, Limit: nan(), Stop: 98})
	a.Computed()
	a.Bar(bar(100, 101, 97, 99))
	if len(a.Trades()) != 1 || a.Trades()[0].ExitPrice != 98 || a.Position() != -2 {
		t.Errorf("%v held after %+v, want a trade that ended at 98 and 2 sold", a.Position(), a.Trades())
	}
}

// Of two market entries of one side and bar only the first is filled without pyramiding.
func TestEnter_MarketOrdersOfOneBar(t *testing.T) {
	for pyramiding, want := range map[int]float64{0: 1, 1: 1, 2: 2} {
		a, err := New(Config{Capital: 1e6, Tick: 0.01, Step: 1, PointValue: 1, Pyramiding: pyramiding})
		if err != nil {
			t.Fatal(err)
		}
		a.Bar(quiet[0])
		for _, id := range []string{"A", "B"} {
			a.Enter(Request{ID: id, Side: Long, Quantity: 1, Limit: nan(), Stop: nan()})
		}
		a.Computed()
		a.Bar(quiet[1])
		if a.Position() != want {
			t.Errorf("pyramiding %d: %v held, want %v", pyramiding, a.Position(), want)
		}
	}
}

// A price within a ten-thousandth of a tick is on the tick.
func TestSnap_OnTheTick(t *testing.T) {
	a, err := New(Config{Capital: 1e6, Tick: 0.01, Step: 1, PointValue: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		price, want float64
		side        Side
		stop        bool
	}{
		{3760.480000607087, 3760.48, Short, false}, // exported: 3760.48
		{2463.3000002862696, 2463.3, Long, true},   // exported: 2463.30
		{100.00002, 100.01, Long, true},
		{100.00002, 100, Short, true},
		{100.00002, 100, Long, false},
	} {
		if got := a.snap(c.price, c.side, c.stop); got != c.want {
			t.Errorf("%v (%v, stop %v) is placed at %v, want %v", c.price, c.side, c.stop, got, c.want)
		}
	}
}

// only returns the single trade of an account, closed or open.
func only(t *testing.T, a *Account) result {
	t.Helper()
	if len(a.Trades())+len(a.Open()) != 1 {
		t.Fatalf("%d closed and %d open trades, want one: %+v %+v", len(a.Trades()), len(a.Open()), a.Trades(), a.Open())
	}
	if len(a.Open()) == 1 {
		l := a.Open()[0]
		return result{inBar: l.Bar, in: l.Price}
	}
	x := a.Trades()[0]
	return result{x.EntryBar, x.EntryPrice, x.ExitBar, x.ExitPrice}
}

// The manual's example of a margin call sells four times what covers the loss.
func TestMarginCall_ManualExample(t *testing.T) {
	a, err := New(Config{Capital: 1e6, Tick: 0.01, Step: 1, PointValue: 1, MarginLong: 25})
	if err != nil {
		t.Fatal(err)
	}
	a.Bar(bar(4.43, 4.43, 4.43, 4.43))
	a.Enter(Request{ID: "L", Side: Long, Quantity: 682438, Limit: nan(), Stop: nan()})
	a.Computed()
	a.Bar(bar(4.43, 4.43, 4.43, 4.43))
	a.Computed()
	a.Bar(bar(3.90, 3.90, 3.90, 3.90))
	if len(a.Trades()) != 1 || a.Trades()[0].Quantity != 111052 {
		t.Fatalf("trades %+v, want one of 111052 units", a.Trades())
	}
}

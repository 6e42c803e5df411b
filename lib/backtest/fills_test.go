package backtest

import (
	"fmt"
	"slices"
	"testing"

	"candela/internal/testkit/sharedtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// A strategy that is computed after fills trades as often as in PyneCore 6.11.0, whose
// passes were measured on TradingView:
//
//	python run_pyne.py BTCUSDT_1h.csv out s14_fills_always
func TestScript_CalcOnOrderFills(t *testing.T) {
	bars := sharedtest.Bars(t, "data/BTCUSDT_1h.csv")
	const body = `
if strategy.position_size == 0
    strategy.entry("L", strategy.long)
strategy.exit("X", "L", profit=8000, loss=8000)`
	trades := func(settings string) []simulate.Trade {
		r, err := Over(t.Context(), declared(t, ", margin_long=0"+settings, body), &bars, 0)
		if err != nil {
			t.Fatal(err)
		}
		return r.Trades
	}
	if n := len(trades(", calc_on_order_fills=true")); n != 9933 {
		t.Errorf("%d trades, want 9933", n)
	}
	// Where orders fill at the close, a bar is computed once.
	if !slices.Equal(trades(", process_orders_on_close=true, calc_on_order_fills=true"), trades(", process_orders_on_close=true")) {
		t.Error("orders that fill at the close had the strategy computed again")
	}
}

// A bar has four points, so a script that turns on every fill turns four times: twice at the
// open and once at each extreme. What it keeps in a var counts bars, not computations.
func TestScript_CalcOnOrderFillsFourTimes(t *testing.T) {
	s := declared(t, ", margin_long=0, margin_short=0, calc_on_order_fills=true", `
var n = 0
n += 1
strategy.entry(strategy.position_size > 0 ? "S" : "L", strategy.position_size > 0 ? strategy.short : strategy.long, comment=str.tostring(n))`)
	r := overFour(t, s)
	var prices []float64
	for _, x := range r.Trades {
		if x.ExitBar == 3 {
			prices = append(prices, x.ExitPrice)
		}
		if x.EntryBar == 3 && x.EntryComment != "3" && x.EntryComment != "4" {
			t.Errorf("the var counted to %s at an entry of the fourth bar", x.EntryComment)
		}
	}
	if want := []float64{100, 100, 103, 95}; !slices.Equal(prices, want) {
		t.Errorf("the fourth bar turned at %v, want %v", prices, want)
	}
}

// A varip number counts computations, where a var counts bars.
func TestScript_CalcOnOrderFillsKeepsVarip(t *testing.T) {
	s := declared(t, ", margin_long=0, margin_short=0, calc_on_order_fills=true", `
var n = 0
varip k = 0
varip on = false
n += 1
k += 1
on := not on
strategy.entry(strategy.position_size > 0 ? "S" : "L", strategy.position_size > 0 ? strategy.short : strategy.long,
     comment=str.tostring(n) + " " + str.tostring(k) + " " + str.tostring(on))`)
	r := overFour(t, s)
	last, bars := 0, map[int]bool{}
	for _, x := range r.Trades {
		var n, k int
		var on bool
		if _, err := fmt.Sscan(x.EntryComment, &n, &k, &on); err != nil {
			t.Fatal(err)
		}
		if k <= last || on != (k%2 == 1) {
			t.Errorf("entry %q follows computation %d", x.EntryComment, last)
		}
		last, bars[n] = k, true
	}
	if len(bars) > 5 || last <= 5 {
		t.Errorf("the var counted %d bars, the varip %d computations", len(bars), last)
	}
}

// Orders that a script places in the middle of a bar live on the rest of its path.
func TestScript_CalcOnOrderFillsRestOfBar(t *testing.T) {
	s := declared(t, ", calc_on_order_fills=true", `
if bar_index == 2
    strategy.entry("L", strategy.long, stop=102)
if strategy.position_size > 0
    strategy.exit("X", "L", stop=strategy.position_avg_price - 3)`)
	r := overFour(t, s)
	if len(r.Trades) != 1 || r.Trades[0].EntryPrice != 102 || r.Trades[0].ExitPrice != 99 || r.Trades[0].ExitBar != 3 {
		t.Errorf("trades %+v, want one from 102 to 99 in the fourth bar", r.Trades)
	}
}

// overFour runs a script over three flat bars, a fourth that goes to 103 and then to 95, and one more.
func overFour(t *testing.T, s *Script) *Run {
	t.Helper()
	bars := flat(3)
	bars.Append(market.Bar{T: 3 * 3600, O: 100, H: 103, L: 95, C: 98})
	bars.Append(market.Bar{T: 4 * 3600, O: 98, H: 99, L: 97, C: 98})
	r, err := Over(t.Context(), s, &bars, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// flat returns hours at 100.
func flat(n int) market.Bars {
	bars := market.MakeBars(n, false)
	for i := range n {
		bars.Append(market.Bar{T: int64(i) * 3600, O: 100, H: 100, L: 100, C: 100})
	}
	return bars
}

// With shorter bars the path inside a bar is theirs; a bar that they do not cover keeps its own.
func TestOver_Magnified(t *testing.T) {
	s := declared(t, ", use_bar_magnifier=true", `
if bar_index == 2
    strategy.entry("L", strategy.long)
    strategy.exit("X", "L", limit=105, stop=95)`)
	bars := flat(3)
	bars.Append(market.Bar{T: 3 * 3600, O: 100, H: 106, L: 94, C: 100}) // by itself: first to the low
	shorter := market.MakeBars(2, false)
	shorter.Append(market.Bar{T: 3 * 3600, O: 100, H: 106, L: 99, C: 100})
	shorter.Append(market.Bar{T: 3*3600 + 1800, O: 100, H: 101, L: 94, C: 100})
	missing := shorter.Slice(0, 1)
	for _, c := range []struct {
		name    string
		shorter *market.Bars
		covers  int
		out     float64
	}{{"without", nil, 0, 95}, {"covered", &shorter, 1, 105}, {"half is missing", &missing, 0, 95}} {
		s.Magnifier = nil
		if c.shorter != nil {
			s.Magnifier = &Magnifier{Bars: c.shorter, Interval: market.Hour1}
			if n := s.Magnifier.Covers(&bars); n != c.covers {
				t.Errorf("%s: %d bars are covered, want %d", c.name, n, c.covers)
			}
		}
		r, err := Over(t.Context(), s, &bars, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Trades) != 1 || r.Trades[0].ExitPrice != c.out || r.Trades[0].Ambiguous == (c.covers > 0) {
			t.Errorf("%s: trades %+v, want an exit at %v", c.name, r.Trades, c.out)
		}
	}
}

// Each bar as its only shorter bar gives the same run, in bits.
func TestOver_MagnifiedByItself(t *testing.T) {
	bars := sharedtest.Bars(t, "data/BTCUSDT_1h.csv")
	s := script(t, pineCross+"\nstrategy.exit(\"X\", profit=8000, loss=9000)")
	plain, err := Over(t.Context(), s, &bars, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.Magnifier = &Magnifier{Bars: &bars, Interval: market.Hour1}
	again, err := Over(t.Context(), s, &bars, 0)
	if err != nil {
		t.Fatal(err)
	}
	same := func(x, y simulate.Trade) bool { return x == y }
	if len(plain.Trades) < fewTrades || !slices.EqualFunc(plain.Trades, again.Trades, same) || !slices.Equal(plain.Equity, again.Equity) {
		t.Errorf("%d trades and %d are not equal", len(plain.Trades), len(again.Trades))
	}
}

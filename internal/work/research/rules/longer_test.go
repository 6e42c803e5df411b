package rules_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/testkit/longtest"
	"candela/internal/work/research/replay"
	"candela/internal/work/research/rules"
	"candela/lib/backtest"
	"candela/lib/market"
	"candela/lib/ta"
)

// hours is a random walk of bars that begin with the hour.
func hours(n int) *market.Bars {
	bars := walk(n)
	for i := range bars.T {
		bars.T[i] -= bars.T[i] % 3600
	}
	return bars
}

// on is a member on bars of its own.
func on(i market.Interval, c alert.Condition) alert.Condition {
	c.Interval = i
	return c
}

func allOf(members ...alert.Condition) alert.Condition {
	return alert.Condition{Type: alert.All, Members: members}
}

func anyOf(members ...alert.Condition) alert.Condition {
	return alert.Condition{Type: alert.Any, Members: members}
}

// longerBars builds the bars of longer intervals.
func longerBars(tb testing.TB, bars *market.Bars, cal market.Calendar, all ...market.Interval) map[market.Interval]*market.Bars {
	tb.Helper()
	out := map[market.Interval]*market.Bars{}
	for _, i := range all {
		built, err := market.Aggregate(bars, market.Hour1, i, cal)
		if err != nil {
			tb.Fatal(err)
		}
		out[i] = &built.Bars
	}
	return out
}

// holed returns bars of which some are missing, at times also those that end a longer bar.
func holed(bars *market.Bars) *market.Bars {
	out := market.MakeBars(bars.Len(), false)
	for i := range bars.Len() {
		if i%97 != 13 && i%1000 > 9 && i%240 != 0 && i/50%41 != 7 {
			out.Append(bars.At(i))
		}
	}
	return &out
}

// session returns the bars that lie in the sessions of a calendar, one for each of its hours.
func session(bars *market.Bars, cal market.Calendar) *market.Bars {
	out := market.MakeBars(bars.Len(), false)
	t := bars.T[0]
	for i := range bars.Len() {
		b := bars.At(i)
		t = cal.Next(market.Hour1, t).Open
		b.T = t
		out.Append(b)
	}
	return &out
}

// compounds are conditions over two and three intervals, of every kind of member.
func compounds() map[string]alert.Condition {
	rsi := line("rsi", `{"length":7}`, "RSI")
	below := compare(rsi, alert.Less, number(45))
	high := alert.Condition{Type: alert.NewHigh, Bars: 20}
	moved := alert.Condition{Type: alert.PercentChange, Bars: 6, Op: alert.Greater, Threshold: decimal.NewFromInt(1)}
	cross := alert.Condition{Type: alert.IndicatorSignal, Indicator: "macd", Signal: "cross_up"}
	closes := alert.Operand{Price: "close"}
	return map[string]alert.Condition{
		"two":            allOf(below, on(market.Hour4, compare(rsi, alert.Greater, number(50)))),
		"three":          allOf(below, on(market.Hour4, compare(line("macd", "", "MACD"), alert.Greater, line("macd", "", "Signal"))), on(market.Day1, compare(closes, alert.Greater, line("sma", `{"period":20}`, "SMA")))),
		"events":         allOf(on(market.Hour4, cross), compare(rsi, alert.Less, number(65))),
		"any":            anyOf(on(market.Day1, high), on(market.Hour4, below), compare(rsi, alert.CrossesAbove, number(70))),
		"any of events":  anyOf(on(market.Hour4, cross), on(market.Day1, moved), alert.Condition{Type: alert.NewLow, Bars: 50}),
		"no own member":  allOf(on(market.Hour4, below), on(market.Day1, compare(closes, alert.Greater, alert.Operand{Price: "open"}))),
		"price":          allOf(high, on(market.Hour4, alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromInt(28000)})),
		"range and week": allOf(on(market.Week1, compare(closes, alert.Greater, alert.Operand{Price: "open"})), alert.Condition{Type: alert.Value, Left: rsi, Op: alert.Enters, Low: decimal.NewFromInt(40), High: decimal.NewFromInt(60)}),
	}
}

// streamed fires a repeating alert as the engine does, bar by bar, and returns the bars at which it fired. Longer
// bars are delivered in order, each when it has closed.
func streamed(t *testing.T, a alert.Alert, bars *market.Bars, longer map[market.Interval]*market.Bars, cal market.Calendar) (fired []int) {
	t.Helper()
	a.ID, a.Owner, a.Instrument = "018bcfe5-6800-7000-8000-000000000001", "ann", a.Symbol
	a.Repeat, a.Created = alert.Repeat{MaxFires: alert.MaxFires}, time.Unix(0, 0)
	a.Interval = market.Hour1
	index := alert.NewIndex()
	d := a.Dependency()
	if err := index.Add(a); err != nil {
		t.Fatal(err)
	}
	evaluators, delivered := map[string]*evaluate.Evaluator{}, map[market.Interval]*market.Bars{}
	for i := range longer {
		delivered[i] = &market.Bars{}
	}
	var prev market.Bar
	for k := range bars.Len() {
		bar, end := bars.At(k), cal.CloseOf(market.Hour1, bars.T[k])
		c := alert.Closing{Bar: bar, Prev: prev, Closed: time.Unix(end, 0)}
		for _, i := range index.LongerThan(d) {
			seen := delivered[i]
			for n := seen.Len(); n < longer[i].Len() && cal.CloseOf(i, longer[i].T[n]) <= end; n++ {
				seen.Append(longer[i].At(n))
			}
			of := evaluate.Longer{Interval: i, Own: market.Hour1, Calendar: cal, Bars: seen}
			newest, n := of.At(bar, prev, func(t int64) time.Time { return time.Unix(t, 0) })
			if n != seen.Len() {
				t.Fatalf("%d of %d longer bars are seen", n, seen.Len())
			}
			c.Longer = append(c.Longer, newest)
		}
		for g := range index.Groups(d) {
			ev := evaluators[g.Key]
			if ev == nil {
				ev = evaluate.New(g.Selection, ta.Env{Interval: market.Hour1, Calendar: cal})
				if g.Longer != 0 {
					ev = evaluate.New(g.Selection, ta.Env{Interval: g.Longer, Calendar: cal})
				}
				evaluators[g.Key] = ev
			}
			switch {
			case g.Longer == 0:
				seen := bars.Slice(0, k+1)
				index.SetRow(d, g.Key, *ev.Last(&seen), c.Closed)
			case delivered[g.Longer].Len() > 0:
				i := slices.IndexFunc(c.Longer, func(b alert.LongerBar) bool { return b.Interval == g.Longer })
				index.SetRow(d, g.Key, *ev.Newest(delivered[g.Longer]), c.Longer[i].Closed)
			}
		}
		for _, f := range index.FireLonger(nil, d, &c) {
			fired = append(fired, k)
			index.Remove("ann", f.ID) // and set again, so that it may fire without end
			a.State = alert.State{Fires: 1, LastFired: f.At}
			if err := index.Add(a); err != nil {
				t.Fatal(err)
			}
		}
		prev = bar
	}
	return fired
}

// TestLonger_StreamReplayAndBackTestAgree fires alerts over two and three intervals as the engine does, tests them over the past,
// and trades on them: at the same bars. Bars have holes, or sessions of a stock.
func TestLonger_StreamReplayAndBackTestAgree(t *testing.T) {
	t.Parallel()
	stock, err := market.NewCalendar(market.USEquities())
	if err != nil {
		t.Fatal(err)
	}
	full := hours(longtest.Pick(5_000, 100_000))
	for place, of := range map[string]struct {
		bars *market.Bars
		cal  market.Calendar
	}{
		"round the clock": {full, market.Calendar{}},
		"with holes":      {holed(hours(longtest.Pick(1_500, 6_000))), market.Calendar{}},
		"of a stock":      {session(hours(longtest.Pick(1_500, 6_000)), stock), stock},
	} {
		longer := longerBars(t, of.bars, of.cal, market.Hour4, market.Day1, market.Week1)
		for name, c := range compounds() {
			if of.bars == full && name != "two" && name != "three" {
				continue
			}
			t.Run(place+" "+name, func(t *testing.T) {
				t.Parallel()
				agree(t, c, of.bars, longer, of.cal)
			})
		}
	}
}

// agree holds that a condition becomes true at the same bars in every way of evaluating it.
func agree(t *testing.T, c alert.Condition, bars *market.Bars, longer map[market.Interval]*market.Bars, cal market.Calendar) {
	t.Helper()
	r := &rules.Rules{
		Long: &rules.Side{Enter: c, MaxBars: 1}, Symbol: market.Symbol{Name: "X"}, Interval: market.Hour1, Calendar: cal, Account: account(), Longer: longer,
	}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	a := alert.Alert{Symbol: r.Symbol, Instrument: r.Symbol, Interval: market.Hour1, Condition: r.Long.Enter}
	where := replay.Where{Calendar: cal, Longer: longer}
	stepped, columns := replay.New(ta.Library{}, a, where), (&replay.Columns{Bars: bars}).Of(replay.New(ta.Library{}, a, where))
	var rises, holds []int
	for i := range bars.Len() {
		seen := bars.Slice(0, i+1)
		v := stepped.Last(&seen)
		if v.Rises {
			rises = append(rises, i)
		}
		if v.Holds {
			holds = append(holds, i)
		}
		if v.Holds != columns.Holds(i) || v.Rises != columns.Rises(i) {
			t.Fatalf("bar %d: %+v bar by bar, %v %v over columns", i, v, columns.Holds(i), columns.Rises(i))
		}
	}
	if len(rises) < 3 || len(holds) == bars.Len() {
		t.Fatalf("it rises at %d bars and holds at %d of %d", len(rises), len(holds), bars.Len())
	}
	first := rises[0] // the first firing needs no rise
	fired := streamed(t, a, bars, longer, cal)
	if fired = fired[slices.IndexFunc(fired, func(k int) bool { return k >= first }):]; !slices.Equal(fired, rises) {
		t.Errorf("the stream fires %d times, the replay %d", len(fired), len(rises))
	}
	same(t, "a back-test", r, bars, 1)
	run, err := backtest.Over(t.Context(), r, bars, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, trade := range run.Trades {
		if !slices.Contains(rises, trade.EntryBar-1) {
			t.Fatalf("a trade opened at bar %d, after none at which the condition rose", trade.EntryBar)
		}
	}
}

// TestLonger_NoBarIsSeenBeforeItsClose changes longer bars and holds that nothing changes before they close.
func TestLonger_NoBarIsSeenBeforeItsClose(t *testing.T) {
	t.Parallel()
	bars := hours(700)
	honest := longerBars(t, bars, market.Calendar{}, market.Hour4, market.Day1, market.Week1)
	for name, c := range compounds() {
		a := alert.Alert{Symbol: market.Symbol{Name: "X"}, Interval: market.Hour1, Condition: c}
		if err := a.Normalize(ta.Library{}); err != nil {
			t.Fatal(err)
		}
		for _, i := range a.Condition.Longer() {
			changed := longerBars(t, bars, market.Calendar{}, market.Hour4, market.Day1, market.Week1)
			k := changed[i].Len() * 2 / 3
			for at := k; at < changed[i].Len(); at++ {
				changed[i].C[at], changed[i].H[at] = 3*changed[i].C[at], 3*changed[i].H[at]
			}
			closes := market.Calendar{}.CloseOf(i, changed[i].T[k])
			was, is := replay.New(ta.Library{}, a, replay.Where{Longer: honest}), replay.New(ta.Library{}, a, replay.Where{Longer: changed})
			for n := range bars.Len() {
				seen := bars.Slice(0, n+1)
				x, y := was.Last(&seen), is.Last(&seen)
				if bars.T[n]+3600 < closes && (x.Holds != y.Holds || x.Rises != y.Rises || math.Float64bits(x.Value) != math.Float64bits(y.Value)) {
					t.Fatalf("%s: bar %d knows a %s bar that closes later", name, n, i)
				}
			}
		}
	}
}

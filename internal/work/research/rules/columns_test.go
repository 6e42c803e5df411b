package rules_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/testkit/longtest"
	"candela/internal/work/research/replay"
	"candela/internal/work/research/rules"
	"candela/internal/work/research/sweep"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
	"candela/lib/ta"
)

// walk is a random walk of so many bars, the same on every machine.
func walk(n int) *market.Bars { return walkOf(n, 1) }

func walkOf(n int, seed uint64) *market.Bars {
	bars := market.MakeBars(n, false)
	r, price := rand.New(rand.NewPCG(seed, 2)), 30000.0
	cents := func(x float64) float64 { return math.Round(x*100) / 100 }
	for i := range n {
		open := price
		price = cents(max(1000, open*(1+0.004*r.NormFloat64())))
		high, low := cents(max(open, price)*(1+0.001*r.ExpFloat64())), cents(min(open, price)*(1-0.001*r.ExpFloat64()))
		bars.Append(market.Bar{T: 1_600_000_000 + int64(i)*3600, O: open, H: high, L: low, C: price, V: 1 + r.Float64()})
	}
	return &bars
}

func account() simulate.Config {
	return simulate.Config{
		Capital: 10000, Tick: 0.01, Step: 1e-8, PointValue: 1, Sizing: simulate.PercentOfEquity, Size: 100, Charge: simulate.Percent, Commission: 0.1, SlipPercent: 0.05,
		MarginLong: 50, MarginShort: 50,
	}
}

// compare compares a value with another or a number.
func compare(left alert.Operand, op alert.Op, right alert.Operand) alert.Condition {
	return alert.Condition{Type: alert.Value, Left: left, Op: op, Right: right}
}

func line(name, params, label string) alert.Operand {
	return alert.Operand{Indicator: name, Params: params, Line: label}
}

func number(x int64) alert.Operand { return alert.Operand{Number: decimal.NewFromInt(x)} }

// checked returns rules that are ready to run.
func checked(tb testing.TB, long, short *rules.Side) *rules.Rules {
	tb.Helper()
	r := &rules.Rules{Long: long, Short: short, Symbol: market.Symbol{Name: "X"}, Interval: market.Hour1, Account: account()}
	if err := r.Check(); err != nil {
		tb.Fatal(err)
	}
	return r
}

// same runs rules bar by bar and over columns, and holds that nothing differs.
func same(t *testing.T, name string, r *rules.Rules, bars *market.Bars, from int) int {
	t.Helper()
	stepped, err := backtest.Over(t.Context(), r, bars, from)
	if err != nil {
		t.Fatal(name, err)
	}
	over := *r
	over.Columns = &replay.Columns{Bars: bars}
	columns, err := backtest.Over(t.Context(), &over, bars, from)
	if err != nil {
		t.Fatal(name, err)
	}
	if !slices.Equal(stepped.Trades, columns.Trades) || !slices.Equal(stepped.Equity, columns.Equity) || stepped.Totals != columns.Totals || !slices.Equal(stepped.Open, columns.Open) {
		t.Errorf("%s: %d trades bar by bar, %d over columns; equity %v and %v", name, len(stepped.Trades), len(columns.Trades), stepped.Equity[len(stepped.Equity)-1], columns.Equity[len(columns.Equity)-1])
	}
	return len(stepped.Trades)
}

// TestColumns_EqualStepsForEveryIndicator holds for every signal and every line of the catalogue
// that a run over columns is the run bar by bar, in bits.
func TestColumns_EqualStepsForEveryIndicator(t *testing.T) {
	t.Parallel()
	bars := walk(longtest.Pick(500, 3000))
	trades := 0
	for _, name := range ta.Names() {
		def, err := (ta.Library{}).Find(name)
		if err != nil || def.Name != name {
			continue // another name of one
		}
		var some []alert.Condition
		for _, s := range def.Signals {
			some = append(some, alert.Condition{Type: alert.IndicatorSignal, Indicator: def.Name, Signal: s.Label})
		}
		for _, l := range def.Lines {
			some = append(some, compare(line(def.Name, "", l), alert.Greater, alert.Operand{Price: "close"}))
		}
		for i, c := range some {
			r := &rules.Rules{Long: &rules.Side{Enter: c, MaxBars: 7}, Symbol: market.Symbol{Name: "X"}, Interval: market.Hour1, Account: account()}
			if i%2 == 1 {
				r.Long.MaxBars, r.Long.Stop, r.Long.Target = 0, 1, 2
			}
			if r.Check() != nil || r.CheckBars(bars.Len()) != nil {
				continue // some lines and signals are not for alerts
			}
			trades += same(t, fmt.Sprintf("%s %+v", def.Name, c), r, bars, 50)
		}
	}
	if trades < 1000 {
		t.Errorf("only %d trades", trades)
	}
}

// TestColumns_EqualStepsForEveryOperator does so for operators, compounds and both sides.
func TestColumns_EqualStepsForEveryOperator(t *testing.T) {
	t.Parallel()
	bars := walk(2000)
	rsi, closes, average := line("rsi", `{"length":7}`, "RSI"), alert.Operand{Price: "close"}, line("sma", `{"length":20}`, "SMA")
	var all []alert.Condition
	for op := alert.Less; op <= alert.CrossesBelow; op++ {
		all = append(all, compare(rsi, op, number(40)), compare(closes, op, average), compare(alert.Operand{Price: "hl2"}, op, closes))
	}
	for _, op := range []alert.Op{alert.Enters, alert.Leaves} {
		all = append(all, alert.Condition{Type: alert.Value, Left: rsi, Op: op, Low: decimal.NewFromInt(40), High: decimal.NewFromInt(60)})
	}
	all = append(all, alert.Condition{Type: alert.NewHigh, Bars: 10}, alert.Condition{Type: alert.NewLow, Bars: 10},
		alert.Condition{Type: alert.PercentChange, Bars: 5, Op: alert.Greater, Threshold: decimal.NewFromInt(1)})
	n := len(all)
	for i := range n {
		for _, kind := range []alert.Type{alert.All, alert.Any} {
			all = append(all, alert.Condition{Type: kind, Members: []alert.Condition{all[i], all[(i*7+3)%n]}})
		}
	}
	trades := 0
	for i := range all {
		c, other := all[i], all[(i*5+1)%len(all)]
		long, short := &rules.Side{Enter: c, Exit: &other, Stop: 2}, &rules.Side{Enter: other, Exit: &c}
		if i%3 == 0 {
			long.MaxBars = 9
		}
		trades += same(t, fmt.Sprintf("%d %+v", i, c), checked(t, long, short), bars, 100)
	}
	if trades < 5000 {
		t.Errorf("only %d trades", trades)
	}
}

// cross is long while the shorter average is above the longer one.
func cross(tb testing.TB, fast, slow int) *rules.Rules {
	tb.Helper()
	f, s := line("ema", fmt.Sprintf(`{"length":%d}`, fast), "EMA"), line("ema", fmt.Sprintf(`{"length":%d}`, slow), "EMA")
	exit := compare(f, alert.Less, s)
	return checked(tb, &rules.Side{Enter: compare(f, alert.Greater, s), Exit: &exit}, nil)
}

// crosses asks for pairs of averages.
func crosses(tb testing.TB, bars *market.Bars, fast, slow int) *sweep.Question {
	tb.Helper()
	columns := &replay.Columns{Bars: bars}
	grid := sweep.Grid{{Name: "fast"}, {Name: "slow"}}
	for i := range fast {
		grid[0].Values = append(grid[0].Values, float64(5+i))
	}
	for i := range slow {
		grid[1].Values = append(grid[1].Values, float64(40+i))
	}
	return &sweep.Question{Grid: grid, Bars: bars, Program: func(point []float64) (backtest.Program, error) {
		r := cross(tb, int(point[0]), int(point[1]))
		r.Columns = columns
		return r, nil
	}}
}

// TestBrief_EqualsMeasure holds that what trials are ranked by is what a summary shows.
func TestBrief_EqualsMeasure(t *testing.T) {
	t.Parallel()
	run, err := backtest.Over(t.Context(), cross(t, 12, 26), walk(5000), 0)
	if err != nil || len(run.Trades) == 0 {
		t.Fatal(err)
	}
	s := run.Summary(1)
	over := cross(t, 12, 26)
	over.Columns = &replay.Columns{Bars: run.Bars}
	for _, p := range []backtest.Program{cross(t, 12, 26), over} {
		brief, tally, err := backtest.Brief(t.Context(), nil, p, run.Bars, 0)
		if err != nil || brief.Net != run.Net || brief.Last != run.Last || brief.Totals != run.Totals {
			t.Fatal(err, brief, run)
		}
		if math.Abs(tally.Drawdown()-s.DrawdownPercent) > 1e-9 || math.Abs(tally.Sharpe()-s.Moments.Sharpe) > 1e-12 {
			t.Errorf("%v and %v, want %v and %v", tally.Drawdown(), tally.Sharpe(), s.DrawdownPercent, s.Moments.Sharpe)
		}
	}
}

// BenchmarkRules runs a cross of two averages as rules over 100,000 bars: bar by bar, over
// columns that are there, and 1,000 pairs of lengths with all of their columns. The figures are
// of processor time, which a busy machine disturbs less: the mean, and that of the best run.
func BenchmarkRules(b *testing.B) {
	const n = 100_000
	bars := walk(n)
	measure := func(name string, runs int, work func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			began, best := processorTime(), time.Duration(math.MaxInt64)
			for b.Loop() {
				since := processorTime()
				if err := work(); err != nil {
					b.Fatal(err)
				}
				best = min(best, processorTime()-since)
			}
			b.ReportMetric(float64(runs)*n/best.Seconds(), "bars/cpu-s-best")
			used := (processorTime() - began).Seconds() / float64(b.N)
			b.ReportMetric(used, "cpu-s/op")
			b.ReportMetric(float64(runs)*n/used, "bars/cpu-s")
		})
	}
	measure("stepped", 1, func() error {
		_, err := backtest.Over(b.Context(), cross(b, 12, 26), bars, 0)
		return err
	})
	over, equity := cross(b, 12, 26), make([]float64, 0, n)
	over.Columns = &replay.Columns{Bars: bars}
	if _, err := backtest.Over(b.Context(), over, bars, 0); err != nil { // computes the columns
		b.Fatal(err)
	}
	measure("columns", 1, func() error {
		run, err := backtest.Into(b.Context(), equity, over, over.Config(), bars, 0)
		equity = run.Equity
		return err
	})
	for _, fast := range []int{1, 5, 25} {
		measure(fmt.Sprintf("sweep-%d", 40*fast), 40*fast, func() error {
			_, err := crosses(b, bars, fast, 40).All(b.Context())
			return err
		})
	}
}

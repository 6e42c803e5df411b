package rules_test

import (
	"fmt"
	"slices"
	"testing"

	"candela/internal/alerting/alert"
	"candela/internal/testkit/longtest"
	"candela/internal/work/research/rules"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/pine/eval"
	"candela/lib/ta"
)

// strategies are stored strategies, and whether their exits fill within bars.
func strategies() map[string]struct {
	source string
	within bool
} {
	const head = "//@version=6\nstrategy(\"S\", initial_capital=1000000)\n"
	return map[string]struct {
		source string
		within bool
	}{
		"reverses": {head + "fast = ta.sma(close, 5)\nslow = ta.sma(close, 20)\nif ta.crossover(fast, slow)\n    strategy.entry(\"L\", strategy.long)\nif ta.crossunder(fast, slow)\n    strategy.entry(\"S\", strategy.short)\n", false},
		"closes":   {head + "r = ta.rsi(close, 7)\nif r < 30\n    strategy.entry(\"L\", strategy.long)\nif r > 60\n    strategy.close(\"L\")\n", false},
		"stops":    {head + "if ta.crossover(close, ta.sma(close, 10))\n    strategy.entry(\"L\", strategy.long)\nstrategy.exit(\"X\", \"L\", loss=20000, profit=30000)\n", true},
	}
}

// ordered returns the bars at which a stored strategy gives a signal.
func ordered(t *testing.T, source string, bars *market.Bars) map[string][]int {
	t.Helper()
	def, err := pine.Compile("plan", source, nil)
	if err != nil {
		t.Fatal(err)
	}
	def.Version = "0123456789ab"
	selection, err := (ta.Library{Scripts: stored{def}}).ResolveAlertRequest(ta.Request{Name: "plan"})
	if err != nil {
		t.Fatal(err)
	}
	stream, said := selection.Stream(ta.Env{Interval: market.Hour1, Facts: market.Facts{Tick: 0.01}}), map[string][]int{}
	for i := range bars.Len() {
		for _, s := range stream.Step(bars.At(i)).Signals {
			said[s.Label] = append(said[s.Label], i)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return said
}

// TestStrategySignals_AreTheOrdersOfTheBackTest holds that a stored strategy signals what its back-test trades: at the close before an
// order at market fills, and in the bar in which a stop or limit does.
func TestStrategySignals_AreTheOrdersOfTheBackTest(t *testing.T) {
	t.Parallel()
	bars := hours(longtest.Pick(1500, 20_000))
	for name, s := range strategies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, _ := pine.Check(s.source, nil)
			script := &backtest.Script{Program: program.Program, Tick: 0.01, Step: 1e-6, Env: eval.Env{Interval: market.Hour1, Limits: eval.BacktestLimits()}}
			run, err := backtest.Over(t.Context(), script, bars, 0)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string][]int{}
			side := func(s simulate.Side) string {
				if s == simulate.Long {
					return "long"
				}
				return "short"
			}
			for _, trade := range run.Trades {
				want["entry_"+side(trade.Side)] = append(want["entry_"+side(trade.Side)], trade.EntryBar-1)
				left := trade.ExitBar - 1
				if s.within {
					left = trade.ExitBar
				}
				want["exit_"+side(trade.Side)] = append(want["exit_"+side(trade.Side)], left)
			}
			for _, lot := range run.Open {
				want["entry_"+side(lot.Side)] = append(want["entry_"+side(lot.Side)], lot.Bar-1)
			}
			got := ordered(t, s.source, bars)
			for label, at := range got { // an order of the last bar is not filled
				got[label] = slices.DeleteFunc(at, func(i int) bool { return i == bars.Len()-1 })
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || len(run.Trades) < 20 {
				t.Errorf("%d trades\n got %v\nwant %v", len(run.Trades), got, want)
			}
		})
	}
}

// stored is a store of one script.
type stored struct{ def *ta.Def }

func (s stored) Script(name string) (*ta.Def, error) {
	if name == s.def.Name || name == s.def.Pinned() {
		return s.def, nil
	}
	return nil, nil
}

func (s stored) Inline(source string) (*ta.Def, error) { return pine.Compile("inline", source, nil) }
func (s stored) Stored() []*ta.Def                     { return []*ta.Def{s.def} }
func (s stored) Pin(*ta.Def) error                     { return nil }

// TestStrategySignals_AreConditions trades on the signals of a stored strategy, also on longer bars: bar by bar and over columns.
func TestStrategySignals_AreConditions(t *testing.T) {
	t.Parallel()
	bars := hours(longtest.Pick(3000, 12_000))
	def, err := pine.Compile("plan", strategies()["reverses"].source, nil)
	if err != nil {
		t.Fatal(err)
	}
	def.Version = "0123456789ab"
	enters := alert.Condition{Type: alert.IndicatorSignal, Indicator: "plan", Signal: "entry_long"}
	leaves := alert.Condition{Type: alert.IndicatorSignal, Indicator: "plan", Signal: "exit_long"}
	for name, side := range map[string]*rules.Side{
		"own bars":    {Enter: enters, Exit: &leaves},
		"longer bars": {Enter: allOf(on(market.Hour4, enters), compare(line("rsi", "", "RSI"), alert.Less, number(60))), MaxBars: 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &rules.Rules{
				Long: side, Symbol: market.Symbol{Name: "X"}, Interval: market.Hour1, Account: account(), Library: ta.Library{Scripts: stored{def}},
				Longer: longerBars(t, bars, market.Calendar{}, market.Hour4),
			}
			if err := r.Check(); err != nil {
				t.Fatal(err)
			}
			if n := same(t, name, r, bars, bars.Len()/2); n < 5 {
				t.Errorf("%d trades", n)
			}
		})
	}
}

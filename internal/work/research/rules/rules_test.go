package rules_test

import (
	"strings"
	"testing"

	"candela/internal/alerting/alert"
	"candela/internal/work/research/rules"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// quotes makes bars of open, high, low and close.
func quotes(rows ...[4]float64) *market.Bars {
	bars := market.MakeBars(len(rows), false)
	for i, r := range rows {
		bars.Append(market.Bar{T: 1_600_000_000 + int64(i)*3600, O: r[0], H: r[1], L: r[2], C: r[3], V: 1})
	}
	return &bars
}

// over is a price above which the close must be.
func over(limit int64) alert.Condition {
	return compare(alert.Operand{Price: "close"}, alert.Greater, number(limit))
}

func under(limit int64) alert.Condition {
	return compare(alert.Operand{Price: "close"}, alert.Less, number(limit))
}

// free trades one unit without costs.
func free() simulate.Config {
	return simulate.Config{Capital: 10000, Tick: 0.01, Step: 1e-8, PointValue: 1, Sizing: simulate.Fixed, Size: 1}
}

// TestRules_EndPositions holds by hand for each way in which a position ends.
func TestRules_EndPositions(t *testing.T) {
	t.Parallel()
	exit := under(100)
	// The condition becomes true at bar 1, so the entry is at the open of bar 2: 102.
	start := [][4]float64{{99, 100, 98, 99}, {100, 102, 99, 101}, {102, 103, 101, 102}}
	for name, test := range map[string]struct {
		side  rules.Side
		paper bool
		rest  [][4]float64
		bar   int
		price float64
		why   string
	}{
		"exit":         {side: rules.Side{Exit: &exit}, rest: [][4]float64{{101, 101, 98, 99}, {97, 99, 96, 98}}, bar: 4, price: 97, why: "exit"},
		"stop":         {side: rules.Side{Stop: 5}, rest: [][4]float64{{101, 101, 95, 96}, {97, 99, 96, 98}}, bar: 3, price: 96.9, why: "stop"},
		"target":       {side: rules.Side{Target: 5}, rest: [][4]float64{{101, 109, 101, 108}, {97, 99, 96, 98}}, bar: 3, price: 107.1, why: "target"},
		"max_bars":     {side: rules.Side{MaxBars: 2}, rest: [][4]float64{{101, 104, 101, 103}, {104, 105, 103, 104}}, bar: 4, price: 104, why: "max_bars"},
		"paper stop":   {paper: true, side: rules.Side{Stop: 5}, rest: [][4]float64{{101, 101, 95, 96}, {97, 99, 96, 98}}, bar: 3, price: 96.9, why: "stop"},
		"paper target": {paper: true, side: rules.Side{Target: 5}, rest: [][4]float64{{101, 107.1, 101, 107}, {107, 108, 106, 107}}, bar: 4, price: 107.1, why: "target"},
	} {
		side := test.side
		side.Enter = over(100)
		r := checked(t, &side, nil)
		r.Account = free()
		r.Account.Paper = test.paper
		bars := quotes(append(append([][4]float64{}, start...), test.rest...)...)
		run, err := backtest.Over(t.Context(), r, bars, 0)
		if err != nil || len(run.Trades) != 1 {
			t.Errorf("%s: %v, %d trades, %d open", name, err, len(run.Trades), len(run.Open))
			continue
		}
		got := run.Trades[0]
		if got.EntryBar != 2 || got.EntryPrice != 102 || got.ExitBar != test.bar || got.ExitPrice != test.price || got.ExitComment != test.why {
			t.Errorf("%s: in %d at %v, out %d at %v by %q; want out %d at %v", name, got.EntryBar, got.EntryPrice, got.ExitBar, got.ExitPrice, got.ExitComment, test.bar, test.price)
		}
		same(t, name, r, bars, 0)
	}
}

// TestRules_ShortReverses holds that the other side closes a position and opens its own.
func TestRules_ShortReverses(t *testing.T) {
	t.Parallel()
	r := checked(t, &rules.Side{Enter: over(100), MaxBars: 50}, &rules.Side{Enter: under(100), MaxBars: 50})
	r.Account = free()
	bars := quotes([4]float64{100, 100, 100, 100}, [4]float64{100, 102, 99, 101}, [4]float64{102, 103, 101, 102}, [4]float64{101, 101, 98, 99}, [4]float64{98, 99, 96, 97}, [4]float64{97, 98, 96, 97})
	run, err := backtest.Over(t.Context(), r, bars, 0)
	if err != nil || len(run.Trades) != 1 || len(run.Open) != 1 || run.Trades[0].ExitPrice != 98 || run.Open[0].Side != simulate.Short || run.Open[0].Price != 98 {
		t.Errorf("%v: %+v, open %+v", err, run.Trades, run.Open)
	}
}

func TestRules_Check(t *testing.T) {
	t.Parallel()
	wrong := alert.Condition{Type: alert.IndicatorSignal, Indicator: "rsl", Signal: "x"}
	for name, r := range map[string]*rules.Rules{
		"enter": {Long: &rules.Side{Enter: wrong}, Interval: market.Hour1},
		"exit":  {Short: &rules.Side{Enter: over(1), Exit: &wrong}, Interval: market.Hour1},
	} {
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), "rsl") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := checked(t, &rules.Side{Enter: compare(line("sma", `{"length":200}`, "SMA"), alert.Greater, number(1)), MaxBars: 3}, nil)
	if d := r.Depth(); d < 200 {
		t.Errorf("200 bars are %d deep", d)
	}
}

package eval_test

import (
	"math"
	"testing"

	"candela/lib/pine/eval"
)

// hoistCases are expressions at the top level and how many columns they take.
func hoistCases() map[string]int {
	return map[string]int{
		"plot(ta.ema(close, 9))":                                                               1,
		"plot(ta.ema(ta.ema(ta.ema(close, 9), 9), 9))":                                         1,
		"plot(ta.rma(hl2, 14) + ta.sma(hlc3, 10))":                                             1,
		"plot(ta.sma(ta.ema(close, 9), 5))":                                                    1,
		"plot(ta.sma(close[3], 5) - ta.sma(-close, 4))":                                        1,
		"n = input.int(7)\nplot(ta.sma(close, n * 2))":                                         1,
		"s = input.source(ohlc4)\nplot(ta.ema(s, 5))":                                          1,
		"plot(ta.vwma(hlcc4, 8))":                                                              1,
		"[a, b, c] = ta.macd(close, 5, 9, 4)\nplot(a + b * c)\nplot(ta.ema(b, 4))\nplot(a[2])": 4,
		"[a, b, c] = ta.bb(close, 20, 2.3)\nplot(a + b * c)":                                   1,
		"a = ta.ema(close, 5)\na := a + 1\nplot(a)\nplot(ta.ema(a, 5))":                        1,
		"plot(ta.stdev(close, 11) + ta.variance(low, 9, false))":                               1,
		"plot(ta.atr(14) + ta.tr(true) + ta.ema(ta.tr, 3))":                                    1,
		"plot(ta.rsi(close, 14) + ta.rsi(ta.change(close), 5))":                                1,
		"plot(ta.highest(20) - ta.lowest(7) + ta.highest(ta.change(close), 9))":                1,
		"plot(ta.change(close, 3) + ta.mom(high, 2) + ta.roc(low, 4) + ta.cum(volume))":        1,
		"x = ta.sma(close, 5)\ny = ta.sma(close, 9)\nplot(ta.cross(x, y) ? 1 : ta.crossover(close, y) ? 2 : 3)\nbgcolor(ta.crossunder(x, y) ? #ff0000 : na)": 3,
		"plot(ta.rma(math.max(ta.change(close), 0), 9) / ta.rma(math.abs(math.min(nz(ta.change(close)), 0)), 9))":                                            1,
		"x = high - low\ny = x * 2 / volume\nplot(ta.ema(y % 3, 4))":                                                                                         1,

		"n = math.max(3, input.int(7))\nm = nz(n, 2)\nplot(ta.sma(close, m) + ta.hma(close, n))": 1,

		"u = ta.crossover(close, ta.ema(close, 3))\nplot(u ? 1 : 0)\nplot(u ? high : low)": 2,
		"plot(ta.cross(close, ta.sma(close, 4)) ? ta.ema(close, 3) : 1)":                   1,
		"u = ta.cross(close, ta.sma(close, 4))\nu := not u\nplot(u ? 1 : 0)":               1,

		// Calls that do not run on every bar, run several times or depend on more than prices.
		"x = close > open ? ta.ema(close, 9) : 1\nplot(x)":                       0,
		"x = 0.0\nif close > open\n    x := ta.sma(close, 9)\nplot(x)":           0,
		"x = close > open and ta.crossover(close, open)\nplot(x ? 1 : 0)":        0,
		"var x = ta.ema(close, 1)\nplot(x)":                                      0,
		"f(x) => ta.ema(x, 3)\nplot(f(close))":                                   0,
		"x = 0.0\nfor i = 1 to 3\n    x += ta.ema(close, 3)\nplot(x)":            0,
		"n = 2 + bar_index % 4\nplot(ta.sma(close, n))":                          0,
		"plot(ta.ema(request.security(syminfo.tickerid, \"240\", close), 5))":    0,
		"plot(ta.sma(close > open ? close : na, 5))":                             0,
		"var t = 0.0\nt += close\nplot(ta.ema(t, 5))":                            0,
		"plot(ta.ema(barstate.islast ? 1.0 : 2.0, 5))":                           0,
		"x = ta.crossover(close, open)\nplot(ta.change(x) ? 1 : 0)":              1,
		"plot(ta.sma(ta.crossover(close, open) ? close : na, 5) + ta.ema(1, 3))": 2,
	}
}

func TestHoist_GivesTheBitsOfTheSteps(t *testing.T) {
	t.Parallel()
	bars := holed(walk(400, 11))
	for script, columns := range hoistCases() {
		source := "//@version=6\nindicator(\"x\")\n" + script + "\n"
		stepped, ahead := compile(t, source, hourly()), compile(t, source, announced(bars))
		if n := ahead.Hoisted(); n != columns {
			t.Errorf("%s\n%d columns, want %d", script, n, columns)
		}
		for i, b := range bars {
			want, got := record(t, stepped, b, nil), record(t, ahead, b, nil)
			for k := range want {
				if want[k] != got[k] {
					t.Fatalf("%s\nbar %d, output %d: stepped %v, hoisted %v", script, i, k, math.Float64frombits(want[k]), math.Float64frombits(got[k]))
				}
			}
		}
	}
}

func TestHoist_KeepsToItsMemory(t *testing.T) {
	t.Parallel()
	bars := walk(400, 11)
	env := announced(bars)
	env.Limits = eval.ChartLimits()
	env.Limits.Memory = 8 * 400 * 3
	m := compile(t, "//@version=6\nindicator(\"x\")\nplot(ta.ema(close, 3))\nplot(ta.ema(close, 4))\nplot(ta.ema(close, 5))\nplot(ta.ema(close, 6))\n", env)
	if n := m.Hoisted(); n != 3 {
		t.Errorf("%d columns, room for 3", n)
	}
	if record(t, m, bars[0], nil); m.Keep(bars[5]) == nil {
		t.Error("another bar than announced was taken")
	}
}

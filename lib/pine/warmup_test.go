package pine_test

import (
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

func TestWarmup_AddsLengthsAlongTheFlowOfData(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		"plot(close)":                                                             1500,
		"plot(ta.sma(close, 20))":                                                 1500,
		"plot(ta.ema(close, 200))":                                                3410,
		"plot(ta.ema(close, 100) + ta.ema(close, 150))":                           2560,
		"plot(ta.sma(ta.ema(close, 100), 2000))":                                  3720,
		"x = ta.ema(close, 80)\ny = ta.ema(x, 80)\nplot(y[300])":                  3040,
		"plot(ta.rsi(close, 100))":                                                3610,
		"n = input.int(150, \"N\")\nplot(ta.ema(close, n * 2 - 100))":             3410,
		"f(x) => ta.ema(x, 90)\nplot(f(f(close)))":                                3080,
		"float y = na\ny := na(y[1]) ? close : 0.5 * y[1] + 0.5 * close\nplot(y)": 5000,
		"var x = 0.0\nx += close\nplot(x)":                                        5000,
		"plot(ta.barssince(close > open))":                                        1500,
		"x = close\nif close > open\n    x := ta.ema(close, 200)\nplot(x)":        3410,
		"[a, b, c] = ta.macd(close, 12, 26, 9)\nplot(ta.highest(a, 1500))":        3138,
		"plot(request.security(syminfo.tickerid, \"D\", close))":                  5000,
	} {
		s := compiled(t, "//@version=6\nindicator(\"x\")\n"+body+"\n", "")
		if _, got := s.Warmup(ta.Env{Interval: market.Hour1}); got != want {
			t.Errorf("%s\n%d bars, want %d", body, got, want)
		}
	}
	s := compiled(t, "//@version=6\nindicator(\"x\")\nn = input.int(9, \"N\")\nplot(ta.ema(close, n))\n", `{"n":250}`)
	if _, got := s.Warmup(ta.Env{}); got != 4260 {
		t.Errorf("with an input of 250: %d bars", got)
	}
}

package eval_test

import (
	"math"
	"strconv"
	"testing"

	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// compile checks a script and makes its machine.
func compile(tb testing.TB, source string, env eval.Env) *eval.Machine {
	tb.Helper()
	p, found := check.Check(source, check.Options{})
	if p == nil {
		tb.Fatalf("%v\n%s", found, source)
	}
	m, err := eval.New(p, env)
	if err != nil {
		tb.Fatalf("%v\n%s", err, source)
	}
	return m
}

// hourly is the environment of most tests.
func hourly() eval.Env {
	return eval.Env{Interval: market.Hour1, Symbol: eval.Symbol{Ticker: "BTCUSDT", Prefix: "BINANCE", Type: "crypto", Currency: "USDT", Base: "BTC", Tick: 0.01, Step: 0.001}}
}

// ramp returns n bars of an hour, whose close is 100 plus the index.
func ramp(n int) []market.Bar {
	bars := make([]market.Bar, n)
	for i := range bars {
		x := 100 + float64(i)
		bars[i] = market.Bar{T: 1_700_000_000/14_400*14_400 + int64(i)*3600, O: x - 0.5, H: x + 1, L: x - 1, C: x, V: 10 + float64(i%3), TakerBuy: math.NaN()}
	}
	return bars
}

// column runs a script over bars and returns the values of its first plot.
func column(tb testing.TB, source string, bars []market.Bar) []float64 {
	tb.Helper()
	m := compile(tb, source, hourly())
	out := make([]float64, len(bars))
	for i, b := range bars {
		if err := m.Keep(b); err != nil {
			tb.Errorf("%v\n%s", err, source)
			return out
		}
		out[i] = m.Outputs()[0].Values[0]
	}
	return out
}

// wanted reads numbers separated by spaces; na is NaN, and _ matches anything.
func wanted(tb testing.TB, text string) []float64 {
	tb.Helper()
	var out []float64
	word := ""
	for _, r := range text + " " {
		if r != ' ' {
			word += string(r)
			continue
		}
		switch word {
		case "":
			continue
		case "na":
			out = append(out, math.NaN())
		case "_":
			out = append(out, math.Inf(1))
		default:
			x, err := strconv.ParseFloat(word, 64)
			if err != nil {
				tb.Fatal(err)
			}
			out = append(out, x)
		}
		word = ""
	}
	return out
}

// agree reports whether two values are equal to a part in a thousand million, na included.
func agree(got, want float64) bool {
	if math.IsNaN(got) || math.IsNaN(want) {
		return math.IsNaN(got) == math.IsNaN(want)
	}
	return math.Abs(got-want) <= 1e-9*max(math.Abs(want), 1e-3)
}

// A table that is made again on every bar leaves nothing behind, long before the usual sweep.
func TestKeep_SweepsLargeTables(t *testing.T) {
	t.Parallel()
	env := hourly()
	env.Limits = eval.ChartLimits()
	m := compile(t, "//@version=6\nindicator(\"t\")\nt = table.new(position.top_left, 10, 200)\nplot(close)\n", env)
	for _, b := range ramp(250) {
		if err := m.Keep(b); err != nil {
			t.Fatal(err)
		}
	}
}

package eval_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// beside is an environment with bars of ETHUSDT, which closes at 1000 plus twice the hour,
// and with bars of the chart's symbol of 15 minutes, which close at a quarter of an hour's
// step. Hour 2 of ETHUSDT is missing.
func beside(n int) eval.Env {
	env := hourly()
	env.Outside = func(f eval.Frame) (*eval.Outside, error) {
		if f.Symbol != "" && f.Symbol != "BINANCE:ETHUSDT" {
			return nil, errors.New("no such symbol")
		}
		all := market.MakeBars(0, false)
		step := int64(3600)
		if f.Interval != market.Hour1 {
			step = f.Interval.Seconds()
		}
		for i := range int64(n) * 3600 / step {
			t := ramp(1)[0].T + i*step
			x := 1000 + 2*float64(i)
			if f.Symbol == "" {
				x = 100 + float64(i)*float64(step)/3600
			}
			if f.Symbol == "" || i != 2 {
				all.Append(market.Bar{T: t, O: x, H: x + 1, L: x - 1, C: x, V: 1, TakerBuy: math.NaN()})
			}
		}
		return &eval.Outside{Bars: &all}, nil
	}
	return env
}

// TestOutside has requests of another symbol and of a shorter interval, by hand.
func TestOutside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"another symbol":           {`plot(request.security("BINANCE:ETHUSDT", "60", close))`, "1000 1002 1002 1006 1008"},
		"its own history":          {`plot(request.security("BINANCE:ETHUSDT", "", close[1]))`, "na 1000 1000 1002 1006"},
		"with gaps":                {`plot(request.security("BINANCE:ETHUSDT", "", close, gaps = barmerge.gaps_on))`, "1000 1002 na 1006 1008"},
		"of a longer interval":     {`plot(request.security("BINANCE:ETHUSDT", "240", close))`, "na na na 1006 1006 1006 1006 1014"},
		"its highest price":        {`plot(request.security("BINANCE:ETHUSDT", "240", high))`, "na na na 1007 1007 1007 1007 1015"},
		"without looking ahead":    {`plot(request.security("BINANCE:ETHUSDT", "240", close[1], lookahead = barmerge.lookahead_on))`, "na na na na 1006 1006 1006 1006 1014"},
		"its name":                 {`plot(request.security("BINANCE:ETHUSDT", "", syminfo.ticker == "ETHUSDT" ? 1 : 0))`, "1 1"},
		"its average":              {`plot(request.security("BINANCE:ETHUSDT", "", ta.sma(close, 2)))`, "na 1001 1001 1004"},
		"two values":               {"[a, b] = request.security(\"BINANCE:ETHUSDT\", \"\", [close, high])\nplot(a + b)", "2001 2005"},
		"an unknown symbol is na":  {`plot(request.security("X:Y", "", close, ignore_invalid_symbol = true))`, "na na"},
		"the bars inside":          {`plot(request.security_lower_tf(syminfo.tickerid, "15", close).size())`, "4 4"},
		"the last one inside":      {`plot(request.security_lower_tf(syminfo.tickerid, "15", close).last())`, "100.75 101.75"},
		"the sum inside":           {`plot(request.security_lower_tf("", "15", close - open + 1).sum())`, "4 4"},
		"history inside":           {`plot(request.security_lower_tf("", "15", close[1]).first())`, "na 100.75"},
		"two lists inside":         {"[a, b] = request.security_lower_tf(\"\", \"15\", [close, high])\nplot(b.get(0) - a.get(3))", "0.25 0.25"},
		"another symbol inside":    {`plot(request.security_lower_tf("BINANCE:ETHUSDT", "30", close).last())`, "1002 1006"},
		"security of a shorter":    {`plot(request.security("", "15", close))`, "100.75 101.75"},
		"the first of the shorter": {`plot(request.security("", "15", close, lookahead = barmerge.lookahead_on))`, "100 101"},
		"an interval apart":        {`plot(request.security("", "150", close))`, "na na 100 102.5 102.5 102.5"},
		"without looking at it":    {`plot(request.security("", "150", close, lookahead = barmerge.lookahead_on))`, "na na 100 102.5 102.5 102.5"},
		"another symbol apart":     {`plot(request.security("BINANCE:ETHUSDT", "150", close))`, "na na 1000 1002 1002 1002"},
		"objects inside":           {"type bar\n    float h = high\n    string s = str.tostring(close)\nx = request.security_lower_tf(\"\", \"15\", bar.new())\nplot(x.first().h + str.tonumber(x.last().s) + x.size())", "205.75 207.75"},
		"an object of a longer":    {"type bar\n    float h = high\nx = request.security(\"BINANCE:ETHUSDT\", \"240\", bar.new())\nplot(na(x) ? na : x.h)", "na na na 1007 1007"},
		"an array of a shorter":    {`plot(request.security("", "15", array.from(close)).get(0))`, "100.75 101.75"},
		"a request in a request":   {`plot(request.security("", "240", request.security("BINANCE:ETHUSDT", "240", close)) - request.security("BINANCE:ETHUSDT", "240", close))`, "na na na 0 0"},
		"inside a longer one":      {`plot(request.security("", "240", request.security_lower_tf("", "30", close).size()))`, "na na na 8 8"},
		"what depends on itself":   {"x = 0.0\nv = request.security_lower_tf(\"\", \"15\", close + x)\nx := v.size()\nplot(v.sum())", "401.5 405.5"},
		"Heikin-Ashi of a shorter": {`plot(request.security(ticker.heikinashi(syminfo.tickerid), "15", open))`, "100.3125 101.25390625"},
		"strings inside":           {`plot(str.length(request.security_lower_tf("", "15", str.tostring(close)).join("")))`, "20 20"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := wanted(t, c.want)
			m := compile(t, "//@version=6\nindicator(\"t\")\n"+c.source+"\n", beside(len(want)))
			for i, b := range ramp(len(want)) {
				// A try of the same bar leaves no trace.
				if err := errors.Join(m.Try(b, true, false), m.Try(b, true, true), m.Keep(b)); err != nil {
					t.Fatal(err)
				}
				if got := m.Outputs()[0].Values[0]; !agree(got, want[i]) {
					t.Errorf("bar %d: got %v, want %v", i, got, want[i])
				}
			}
		})
	}
}

// TestOutside_IsRefusedByName says what is missing: the bars, or a way to have them.
func TestOutside_IsRefusedByName(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`plot(request.security("X:Y", "60", close))`:                    "request.security X:Y: no such symbol",
		`plot(request.security(close > open ? "A" : "B", "60", close))`: "request.security A: no such symbol",
		`plot(request.security_lower_tf("", "61S", close).size())`:      "no bars of",
	} {
		p, found := check.Check("//@version=6\nindicator(\"t\")\n"+source+"\n", check.Options{})
		if p == nil {
			t.Errorf("%v\n%s", found, source)
			continue
		}
		if _, err := eval.New(p, beside(2)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q\n%s", err, want, source)
		}
	}
	m := compile(t, "//@version=6\nindicator(\"t\")\nplot(request.security(syminfo.tickerid, close > 101 ? str.tostring(bar_index * 120) : str.tostring(60), close))\n", hourly())
	bars := ramp(3)
	if err := errors.Join(m.Keep(bars[0]), m.Keep(bars[1])); err != nil {
		t.Error(err)
	}
	if err := m.Keep(bars[2]); err == nil || !strings.Contains(err.Error(), `changes from "60" to "240"`) {
		t.Errorf("got %v", err)
	}
	p, _ := check.Check("//@version=6\nindicator(\"t\")\nplot(request.security(\"A:B\", \"60\", close))\n", check.Options{})
	if _, err := eval.New(p, hourly()); err == nil || !strings.Contains(err.Error(), "another symbol cannot be had here") {
		t.Errorf("got %v", err)
	}
}

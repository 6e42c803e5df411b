package ta

import (
	"math"
	"slices"
	"strings"
	"testing"

	"candela/lib/market"
)

// gathered builds bars of k bars each, as a venue has them for a longer interval.
func gathered(b *market.Bars, k int) *market.Bars {
	out := market.MakeBars(b.Len()/k+1, false)
	for i := 0; i < b.Len(); i += k {
		bar := b.At(i)
		for j := i + 1; j < min(i+k, b.Len()); j++ {
			bar.H, bar.L, bar.C, bar.V = max(bar.H, b.H[j]), min(bar.L, b.L[j]), b.C[j], bar.V+b.V[j]
		}
		out.Append(bar)
	}
	return &out
}

// TestHigher_SeesClosedBarsOnly computes each bar's value from the longer bars that have
// closed by then, and holds that later bars change nothing.
func TestHigher_SeesClosedBarsOnly(t *testing.T) {
	t.Parallel()
	base := walk(1_500, 31)
	for _, text := range []string{`ema {"length":5,"interval":"4h"}`, `rsi {"timeframe":"4H"}`, `bbands {"interval":"240"}`, `macd {"interval":"4h"}`} {
		s, err := Resolve(request(t, text))
		if err != nil {
			t.Fatal(err)
		}
		compute := func(n int) *Result {
			part := base.Slice(0, n)
			longer := gathered(&part, 4)
			other := &Other{Bars: longer, Forming: n%4 != 0}
			return s.Compute(Input{Env: Env{Interval: market.Hour1}, Bars: &part, Others: map[Want]*Other{{Interval: market.Hour4}: other}})
		}
		whole := compute(base.Len())
		plain := s.AtOwnInterval().Compute(Input{Env: Env{Interval: market.Hour4}, Bars: gathered(base, 4)})
		for c := range whole.Lines {
			for i, x := range whole.Lines[c].Values {
				want := math.NaN()
				if k := (i+1)/4 - 1; k >= 0 {
					want = plain.Lines[c].Values[k]
				}
				if !same(x, want) {
					t.Fatalf("%s line %d bar %d: %v, want %v", text, c, i, x, want)
				}
			}
		}
		for i, signal := range plain.Signals {
			if got := whole.Signals[i]; got.Label != signal.Label || got.Confirmed != 4*signal.Confirmed+3 || got.Y != signal.Y {
				t.Fatalf("%s: signal %+v of the chart, %+v of the longer bars", text, got, signal)
			}
		}
		if whole.Label != plain.Label+" 4h" {
			t.Errorf("%s: label %q", text, whole.Label)
		}
		for n := 700; n < 720; n++ {
			part := compute(n)
			for c := range part.Lines {
				if !slices.EqualFunc(part.Lines[c].Values, whole.Lines[c].Values[:n], same) {
					t.Fatalf("%s: with %d bars line %d has other values", text, n, c)
				}
			}
		}
	}
}

func TestHigher_IsRefusedWhereItMeansNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`ema {"interval":"1h"}`:            "no interval, because it is that of the bars",
		`sma50 {"interval":"15m"}`:         "an interval longer than that of the bars, 1h",
		`volume_profile {"interval":"1d"}`: "only an indicator with a value at each bar",
		`rsi {"interval":"7x"}`:            "rsi.interval",
		`rsi {"interval":4}`:               "rsi.interval",
	} {
		s, err := Resolve(request(t, text))
		if err == nil {
			err = s.CheckInterval(market.Hour1)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	stack, err := Resolve(request(t, `ema {"interval":"1d"}`))
	if err != nil || stack.Def.Name != "ema_stack" || stack.Key() != "ema_stack() 1d" || len(stack.Wants(0)) != 1 || stack.AtOwnInterval().Key() != "ema_stack()" {
		t.Errorf("%v %v", stack, err)
	}
}

// TestPaired_SecondDerivation compares correlation and beta with their definitions over
// raw sums, with bars of the other symbol missing.
func TestPaired_SecondDerivation(t *testing.T) {
	t.Parallel()
	base, full := walk(400, 41), walk(400, 42)
	other := market.MakeBars(400, false)
	for i := range full.Len() {
		if i%7 != 3 || i == 0 {
			other.Append(full.At(i))
		}
	}
	symbol := market.Symbol{Name: "ETHUSDT"}
	in := Input{Env: Env{Interval: market.Hour1}, Bars: base, Others: map[Want]*Other{{Symbol: symbol}: {Bars: &other}}}
	paired := make([]float64, base.Len())
	for i := range paired {
		paired[i] = full.C[i]
		if i%7 == 3 {
			paired[i] = full.C[i-1]
		}
	}
	check := func(text string, first int, want func(i int) float64) {
		s, err := Resolve(request(t, text))
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range s.Compute(in).Lines[0].Values {
			if i < first != math.IsNaN(x) || i >= first && math.Abs(x-want(i)) > 1e-8*max(1, math.Abs(x)) {
				t.Fatalf("%s at %d: %v, want %v", text, i, x, want(i))
			}
		}
		in := in
		in.Others = nil
		if r := s.Compute(in); len(r.Lines) != 0 || !strings.Contains(r.Label, "no data") {
			t.Errorf("%s without the other symbol: %+v", text, r)
		}
	}
	sums := func(n, i int, x, y func(k int) float64) (sx, sy, sxx, syy, sxy float64) {
		for k := i - n + 1; k <= i; k++ {
			a, b := x(k), y(k)
			sx, sy, sxx, syy, sxy = sx+a, sy+b, sxx+a*a, syy+b*b, sxy+a*b
		}
		return sx, sy, sxx, syy, sxy
	}
	check(`correlation {"symbol":"ethusdt"}`, 19, func(i int) float64 {
		const n = 20
		sx, sy, sxx, syy, sxy := sums(n, i, func(k int) float64 { return base.C[k] }, func(k int) float64 { return paired[k] })
		return (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy))
	})
	check(`beta {"symbol":"ethusdt","period":30}`, 30, func(i int) float64 {
		const n = 30
		sx, sy, _, syy, sxy := sums(n, i, func(k int) float64 { return base.C[k]/base.C[k-1] - 1 }, func(k int) float64 { return paired[k]/paired[k-1] - 1 })
		return (n*sxy - sx*sy) / (n*syy - sy*sy)
	})
}
